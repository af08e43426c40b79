"""The outputs of a model that takes the ids of words."""

import keras
from keras import ops

from keras_elmo.models.word_model import WordModel
from keras_elmo.models.word_model import check_tagged_outputs
from keras_elmo.models.word_model import named_outputs
from keras_elmo.ops.padding import output_mask


class ModelOutputs(WordModel):
    """Function from character ids to the named outputs of a Keras model.

    Its arguments are those of `WordModel`.
    """

    returns_tokens = True
    """Whether sentences are returned with their words, as `tokens`"""

    def __call__(self, ids):
        """Returns a dictionary of the model's outputs and predicted names.

        Args:
            ids: int32 tensor `(batch, time, *token_shape)`.
        """
        # Some layers, such as Keras' LSTM, cannot run on zero columns, so add
        # columns of padding. ELMo may remove two of them as boundaries.
        least = 3 if self.boundaries == (False, False) else 1
        num_added = ops.maximum(least - ops.shape(ids)[1], 0)
        others = [(0, 0)] * (len(ids.shape) - 2)
        inputs = ops.pad(ids, [(0, 0), (0, num_added), *others])
        inputs = ops.cast(inputs, self.dtype)
        structure = getattr(self.model, "input", None)
        if structure is not None:  # It may be a list or a dictionary.
            inputs = keras.tree.pack_sequence_as(structure, [inputs])
        outputs = named_outputs(self.model, self.model(inputs))
        outputs = {name: _served(x, num_added) for name, x in outputs.items()}
        check_tagged_outputs(self.tag_names, outputs)
        mask = ops.any(ids != 0, axis=list(range(2, len(ids.shape))))
        mask = output_mask(mask, *self.boundaries)  # (batch, output time)
        labels = {
            f"{name}_labels": _look_up(names, outputs[name], mask)
            for name, names in self.tag_names.items()
        }
        taken = outputs.keys() & {"tokens", *labels}
        if taken:
            raise ValueError(
                "An output of the model has the name of an output that the "
                f"export adds: rename it. Received: outputs {sorted(taken)}"
            )
        return outputs | labels


def _served(x, num_added):
    """Returns an output; of `(batch, time, ...)`, without the added columns."""
    # Clients and JSON do not support bfloat16.
    if keras.backend.is_float_dtype(x.dtype):
        x = ops.cast(x, "float32")
    if len(x.shape) < 2 or x.shape[1] is not None:
        return x
    return x[:, : ops.maximum(ops.shape(x)[1] - num_added, 0)]


def _look_up(names, output, mask):
    """The labels in an output: strings, "" where `mask` is not."""
    import tensorflow as tf

    index = tf.argmax(output, axis=-1) if output.dtype.is_floating else output
    if len(index.shape) == 1:
        return tf.gather(names, index)  # (batch,)
    # The values at padding need not be valid tags.
    found = tf.gather(names, tf.where(mask, index, 0))
    return tf.where(mask, found, "")  # (batch, time)
