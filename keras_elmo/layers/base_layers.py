"""Base classes of the layers."""

import keras
from keras import ops

from keras_elmo.ops.backends import backend
from keras_elmo.ops.inputs import as_ids
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.text.token_indexer import TokenIndexer
from keras_elmo.text.word_vectorization import WordVectorization


class BaseLayer(keras.layers.Layer):
    """Base class of the layers."""

    def quantize(self, mode=None, **kwargs):
        """Raises `NotImplementedError`, which names what takes its place."""
        raise NotImplementedError(
            f"Layer '{self.name}' is a part of ELMo, which Keras' `quantize` "
            "leaves as it is. 8-bit LSTMs are in "
            '`keras_elmo.ElmoEmbedder(elmo, quantize="int8")` and in '
            '`keras_elmo.export_onnx(..., quantize="int8")`.'
        )

    def rematerialized_call(self, layer_call, *args, **kwargs):
        """Raises `NotImplementedError` where `keras.RematScope` would fail.

        Keras passes flags such as `training` on by keyword, which TensorFlow's
        custom gradients refuse, and of which JAX makes tensors.
        """
        call = super().rematerialized_call(layer_call, *args, **kwargs)
        if call is layer_call or backend().supports_remat:
            return call
        raise NotImplementedError(
            f"Layer '{self.name}' was made in a `keras.RematScope`, which "
            "works only on PyTorch: on TensorFlow and JAX, Keras cannot "
            "recompute layers that are called with flags such as `training`. "
            "Make the layer outside of the scope. To use less memory in "
            "training, pass smaller batches, or freeze a part, for example "
            "with `elmo.encoder.trainable = False`."
        )


class FreezableLayer(BaseLayer):
    """Base class of layers with parts; frozen parts stay frozen when copied.

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
    """Yields the sublayers, each before the sublayers inside it.

    Flags must be set in this order, because setting a flag also sets the flags
    of the sublayers inside.
    """
    for part in sublayers(layer, recursive=False):
        yield part
        yield from _parts(part)


class IdLayer(FreezableLayer):
    """Base class of layers of ids, of any dtype that represents them exactly.

    Subclasses define `read_ids(ids)`, which returns them as int32 or int64, or
    raises `ValueError`.
    """

    def __call__(self, inputs, *args, **kwargs):
        # Before Keras casts floats to the compute dtype: bfloat16 rounds 257 to
        # 256.
        return super().__call__(self.read_ids(inputs), *args, **kwargs)

    def embed(self, ids):
        """Calls the layer with ids that `read_ids` has returned."""
        return super().__call__(ids)


class TokenEncoder(IdLayer):
    """Base class of layers that encode a token's ids as a vector.

    The shape and range of the ids follow from the `indexer`, which defines how
    words become ids. Subclasses set it and `projection_dim`, the size of a
    vector.
    """

    indexer: TokenIndexer

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        return self.indexer.token_shape

    @property
    def num_ids(self):
        """Integer; ids range from 0 to `num_ids - 1`."""
        return self.indexer.num_ids

    @property
    def boundary_ids(self):
        """The ids of the sentence boundaries, an array `(2, *token_shape)`."""
        return self.indexer.boundary_ids

    def make_vectorization(self, split: str | None = None) -> WordVectorization:
        """Returns the layer that turns words into ids for this layer.

        Args:
            split: As for `WordVectorization`; `"whitespace"` for sentences.
        """
        return WordVectorization(self.indexer, split)

    def read_ids(self, ids):
        return as_ids(ids, self.num_ids, self.name, self.token_shape)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is not None:
            return previous_mask
        return ops.any(ops.not_equal(inputs, 0), axis=-1)

    def compute_output_shape(self, input_shape):
        rank = len(input_shape) - len(self.token_shape)
        return (*input_shape[:rank], self.projection_dim)
