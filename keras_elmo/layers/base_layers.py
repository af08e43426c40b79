"""Base classes of the layers, and how they create and apply weights."""

import contextlib
import contextvars

import keras
from keras import ops

from keras_elmo.layers.word_vectorization import WordVectorization
from keras_elmo.ops.backends import backend
from keras_elmo.ops.inputs import as_array
from keras_elmo.ops.inputs import leading_shape
from keras_elmo.ops.private_keras import refuse_h5
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.text.token_indexer import TokenIndexer

# The initializer of large matrices, whatever a layer asks for.
_of_large_matrices = contextvars.ContextVar("of_large_matrices", default=None)


@contextlib.contextmanager
def leave_out_random_values():
    """Builds large matrices without initial values, to be read from a file.

    Drawing the random values of a large model takes longer than reading its
    weights.
    """
    token = _of_large_matrices.set(backend().any_values)
    try:
        yield
    finally:
        _of_large_matrices.reset(token)


def for_large_matrix(initializer):
    """Returns `initializer`, or one of arbitrary values to save time."""
    backend()  # An error in a fork, where drawing them would not end.
    return _of_large_matrices.get() or initializer


def new_weight(layer, name, shape, initializer=None, **kwargs):
    """Adds a weight to a layer; the layer casts it, not Keras.

    By default, it starts as in biLMs: a vector with zeros, a matrix or a kernel
    of convolutions with a normal distribution of deviation `1 / sqrt(fan-in)`.
    """
    if len(shape) > 1:
        initializer = initializer or keras.initializers.VarianceScaling(
            1.0, "fan_in", "untruncated_normal"
        )
    if len(shape) == 2:
        initializer = for_large_matrix(initializer)
    return layer.add_weight(
        shape, initializer or "zeros", autocast=False, name=name, **kwargs
    )


def read_weight(weight, dtype):
    """Returns the value of a weight, as a constant if it is frozen.

    Keras does not update frozen weights, but TensorFlow and PyTorch would
    compute their gradients, or store what these need.
    """
    value = weight.value
    value = value if weight.trainable else ops.stop_gradient(value)
    return ops.cast(value, dtype)


def affine(x, kernel, bias):
    """Returns `x @ kernel + bias`, in the dtype of `x`."""
    x = ops.matmul(x, read_weight(kernel, x.dtype))
    return x + read_weight(bias, x.dtype)


class TracksLists:
    """Base class of layers that have weights or layers in lists.

    TensorFlow's own checkpoints, `tf.train.Checkpoint`, contain what Keras'
    layers have as attributes, but not what is in a list.
    """

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        if save_type == "checkpoint":
            children |= {
                f"{name}.{i}": part
                for name, parts in vars(self).items()
                # The others are Keras' own lists of the same.
                if isinstance(parts, list) and not name.startswith("_")
                for i, part in enumerate(parts)
                if isinstance(part, (keras.Variable, keras.layers.Layer))
            }
        return children


class BaseLayer(TracksLists, keras.layers.Layer):
    """Base class of the layers."""

    def quantize(self, *args, **kwargs):
        """Raises `NotImplementedError`, with what runs ELMo in 8 bits."""
        raise NotImplementedError(
            f"Keras does not quantize layer '{self.name}'. To run ELMo in 8 "
            'bits, use `ElmoEmbedder(elmo, quantize="int8")`, or export the '
            'model with `export_onnx(model, path, quantize="int8")`.'
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
            f"Make layer '{self.name}' outside of the `keras.RematScope`: for "
            "ELMo it works only on PyTorch. To use less memory in training, "
            "pass smaller batches, or freeze a part, for example with "
            "`elmo.encoder.trainable = False`."
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
        flags = [part.trainable for part in _all_sublayers(self)]
        if any(flag != self.trainable for flag in flags):
            config["trainable_parts"] = flags
        return config

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        flags = config.pop("trainable_parts", None)
        layer = super().from_config(config)
        if flags is not None:
            for part, flag in zip(_all_sublayers(layer), flags, strict=True):
                part.trainable = flag
        return layer


def _all_sublayers(layer):
    """Yields the sublayers, each before the sublayers inside it.

    Flags must be set in this order, because setting a flag also sets the flags
    of the sublayers inside.
    """
    for part in sublayers(layer, recursive=False):
        yield part
        yield from _all_sublayers(part)


class IdLayer(FreezableLayer):
    """Base class of layers of ids."""

    def __call__(self, inputs, **kwargs):
        # Before Keras makes a tensor of an array, which on JAX is int32.
        return super().__call__(as_array(inputs, self.name), **kwargs)

    def get_config(self):
        refuse_h5(self)
        return super().get_config()


class TokenEncoder(IdLayer):
    """Base class of layers that encode a token's ids as a vector.

    The shape and range of the ids follow from the `indexer`, which defines how
    words become ids. Subclasses set it and `projection_dim`, the size of a
    vector.
    """

    indexer: TokenIndexer

    def __init__(self, **kwargs):
        # No autocast, because half precision rounds ids.
        super().__init__(autocast=False, **kwargs)

    @property
    def token_shape(self):
        """Shape of one token's ids."""
        return self.indexer.token_shape

    @property
    def num_ids(self):
        """Integer; ids range from 0 to `num_ids - 1`. Or an array of integers,
        one for each of a token's ids."""
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

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is not None:
            return previous_mask
        return ops.any(ops.not_equal(inputs, 0), axis=-1)

    def compute_output_shape(self, input_shape):
        shape = leading_shape(input_shape, self.token_shape, self.name)
        return (*shape, self.projection_dim)
