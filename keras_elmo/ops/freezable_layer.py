import keras

from keras_elmo.ops.initializers import for_large_matrix
from keras_elmo.ops.private_keras import sublayers


class FreezableLayer(keras.layers.Layer):
    """Base class of the layers; frozen parts stay frozen when copied.

    Keras stores one `trainable` flag per layer and does not pass it to the
    sublayers of a layer it recreates. Here, if a sublayer's flag differs, the
    config also has the flags of all sublayers, so that `.keras` files,
    `clone_model`, `from_config` and `deepcopy` keep what was frozen.

    Subclasses create their sublayers in `__init__` and then call
    `self._pass_on_trainable()`.
    """

    def __setattr__(self, name, value):
        if name == "trainable":
            # On TensorFlow, setting an attribute to its current value does
            # nothing: `elmo.trainable = True` would not reach frozen parts.
            keras.layers.Layer.trainable.fset(self, value)
        elif name == "dtype_policy":
            keras.layers.Layer.dtype_policy.fset(self, value)
            for part in sublayers(self, recursive=False):
                part.dtype_policy = value
        else:
            super().__setattr__(name, value)

    def new_weight(self, name, shape, initializer="zeros", **kwargs):
        """Creates a weight for `read_weight`, which Keras does not cast."""
        if len(shape) == 2:
            initializer = for_large_matrix(initializer)
        return self.add_weight(
            shape, initializer, autocast=False, name=name, **kwargs
        )

    def _pass_on_trainable(self):
        if not self.trainable:
            self.trainable = False

    def quantize(self, mode=None, **kwargs):
        """Raises `NotImplementedError`, which names what takes its place."""
        raise NotImplementedError(
            f"Layer '{self.name}' is a part of ELMo, which Keras' `quantize` "
            "leaves as it is. 8-bit LSTMs are in "
            '`keras_elmo.ElmoEmbedder(elmo, quantize="int8")` and in '
            '`keras_elmo.export_onnx(..., quantize="int8")`.'
        )

    def get_config(self):
        config = super().get_config()
        flags = [part.trainable for part in _parts(self)]
        if any(flag != self.trainable for flag in flags):
            config["trainable_parts"] = flags
        return config

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        flags = config.pop("trainable_parts", None)
        layer = super().from_config(config)
        if flags is not None:
            for part, flag in zip(_parts(layer), flags, strict=True):
                part.trainable = flag
        return layer


def _parts(layer):
    """Yields the sublayers, each before the sublayers inside it.

    Flags must be set in this order, because setting a flag also sets the flags
    of the sublayers inside.
    """
    for part in sublayers(layer, recursive=False):
        yield part
        yield from _parts(part)
