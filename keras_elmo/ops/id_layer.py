from keras_elmo.ops.freezable_layer import FreezableLayer


class IdLayer(FreezableLayer):
    """Base class of layers of ids, of any dtype that represents them exactly.

    Subclasses define `read_ids`, which checks and converts them.
    """

    def read_ids(self, ids):
        """Returns ids as int32 or int64, or raises `ValueError`."""
        raise NotImplementedError

    def __call__(self, inputs, *args, **kwargs):
        # Before Keras casts floats to the compute dtype: bfloat16 rounds 257 to
        # 256.
        return super().__call__(self.read_ids(inputs), *args, **kwargs)

    def embed(self, ids):
        """Calls the layer with ids that `read_ids` has returned."""
        return super().__call__(ids)
