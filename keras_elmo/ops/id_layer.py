from keras_elmo.ops.freezable_layer import FreezableLayer
from keras_elmo.ops.ids import as_ids


class IdLayer(FreezableLayer):
    """Base class of layers of ids, of any dtype that represents them exactly.

    Subclasses define `num_ids`; ids range from 0 to `num_ids - 1`.
    """

    @property
    def num_ids(self):
        """Integer, or `None` to leave the inputs unchanged."""
        raise NotImplementedError

    def __call__(self, inputs, *args, **kwargs):
        # Before Keras casts floats to the compute dtype: bfloat16 rounds 257 to
        # 256.
        return super().__call__(self.as_ids(inputs), *args, **kwargs)

    def as_ids(self, inputs):
        """Returns `inputs` as int32 or int64, or raises `ValueError`."""
        if self.num_ids is None:
            return inputs
        return as_ids(inputs, self.num_ids, self.name)
