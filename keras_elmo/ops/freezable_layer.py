import keras

from keras_elmo.ops.private_keras import sublayers


class FreezableLayer(keras.layers.Layer):
    """A layer whose frozen parts stay frozen when it is copied.

    Keras stores one `trainable` flag a layer and does not pass it to the
    sublayers of a layer it recreates. Here the config also holds the flag of
    every sublayer that differs, so that `.keras` files, `clone_model`,
    `from_config` and `deepcopy` all give back what was frozen.

    Subclasses create their sublayers in `__init__` and then call
    `self._pass_on_trainable()`.
    """

    def __setattr__(self, name, value):
        if name == "trainable":
            # On TensorFlow, setting an attribute to what it is already does
            # nothing: `elmo.trainable = True` would not reach frozen parts.
            keras.layers.Layer.trainable.fset(self, value)
        else:
            super().__setattr__(name, value)

    def _pass_on_trainable(self):
        if not self.trainable:
            self.trainable = False

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
    """Yields the sublayers, each before those inside it.

    Setting a flag also sets those inside, so that this is the order to set
    them in.
    """
    for part in sublayers(layer, recursive=False):
        yield part
        yield from _parts(part)
