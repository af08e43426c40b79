from keras_elmo.ops.as_ids import as_ids
from keras_elmo.ops.freezable_layer import FreezableLayer


class IdLayer(FreezableLayer):
    """A layer of ids, which takes whole numbers of any type that holds them.

    Subclasses have `num_ids`; their ids lie from 0 to `num_ids - 1`.
    """

    @property
    def num_ids(self):
        """Integer, or `None` if the inputs are taken as they are."""
        raise NotImplementedError

    def __call__(self, inputs, *args, **kwargs):
        # Before Keras casts floats to the compute dtype: bfloat16 makes 256 of
        # 257.
        return super().__call__(self.as_ids(inputs), *args, **kwargs)

    def as_ids(self, inputs):
        """Returns `inputs` as int32 or int64, or raises `ValueError`."""
        if self.num_ids is None:
            return inputs
        return as_ids(inputs, self.num_ids, self.name)
