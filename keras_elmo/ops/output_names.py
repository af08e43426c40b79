"""What the outputs of a model are called."""

import collections

from keras_elmo.ops.private_keras import layer_of


def output_names(outputs):
    """Keras' names of symbolic outputs, numbered where a layer made several."""
    counts: collections.Counter[str] = collections.Counter()
    names = []
    for name in (layer_of(x).name for x in outputs):
        names.append(f"{name}_{counts[name]}" if counts[name] else name)
        counts[name] += 1
    return names
