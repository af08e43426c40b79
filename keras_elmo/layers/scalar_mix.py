from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import check_built
from keras_elmo.layers.base_layers import BaseLayer
from keras_elmo.layers.base_layers import new_weight
from keras_elmo.layers.base_layers import read_weight
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.ops.inputs import shapes_agree


class MixWeights(NamedTuple):
    """The learned weights of a `ScalarMix`."""

    weights: np.ndarray
    """float32 array `(num_layers,)`, the weight of each layer; they sum to 1,
    except with `fixed_weights`."""
    gamma: np.ndarray
    """float32 array `()`, the scale of the mix."""


@keras.saving.register_keras_serializable(package="keras_elmo")
class ScalarMix(BaseLayer):
    """Mixes layers: their learned weighted mean, times a learned scale.

    ```
    y = gamma * sum_j softmax(scalars)_j * layer_j
    ```

    Args:
        layer_norm: Boolean, whether to first normalise each layer by a single
            mean and variance over all its unmasked entries, across batch and
            time. With this option, a sentence's output depends on the rest of
            the batch.
        regularizer: Regularizer of `scalars`, the logits of the layers'
            weights: a name, a `keras.regularizers.Regularizer`, or `None`.
            `keras.regularizers.L2(x)` adds `x * sum(scalars ** 2)` to the loss,
            as bilm-tf's `l2_coef` does, which pulls the weights together.
        fixed_weights: Numbers to use instead of `softmax(scalars)`, one for
            each layer. They are not trained, but `gamma` is. For three layers,
            `[0, 0, 1]` selects the top layer and `[1/3, 1/3, 1/3]` their
            average. AllenNLP's `scalar_mix_parameters` are logits: pass their
            softmax.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: List of tensors, all of the same shape `(..., dim)`.
        mask: Boolean tensor `(...)`, or a list of masks, of which the first
            that is not `None` is used.

    Output shape:
        That of one input.

    Masking:
        With `layer_norm`, masked entries are excluded from the mean and
        variance, even if they are NaN, and become zero. Otherwise the mask has
        no effect. It passes through.

    Raises:
        ValueError: When the layer is built, if the input is not a list of
            tensors of the same shape, or its length is not that of
            `fixed_weights`.

    Example:

    >>> layers = [np.random.rand(2, 5, 16).astype("float32") for _ in range(3)]
    >>> mix = ScalarMix()
    >>> tuple(mix(layers).shape)
    (2, 5, 16)
    >>> mix.mix_weights.weights.round(2)
    array([0.33, 0.33, 0.33], dtype=float32)

    Reference:

    - [Peters et al., 2018](https://arxiv.org/abs/1802.05365), equation 1
    """

    def __init__(
        self,
        *,
        layer_norm: bool = False,
        regularizer: str | dict | keras.regularizers.Regularizer | None = None,
        fixed_weights: Iterable[float] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.layer_norm = layer_norm
        self.regularizer = keras.regularizers.get(regularizer)
        self.fixed_weights = None
        if fixed_weights is not None:
            self.fixed_weights = [float(w) for w in fixed_weights]
            if not all(abs(w) < 3e38 for w in self.fixed_weights):
                raise ValueError(
                    "`fixed_weights` must be finite numbers of float32. "
                    f"Received: fixed_weights={self.fixed_weights}"
                )
            if regularizer is not None:
                raise ValueError(
                    "`fixed_weights` are not learned, so they take no "
                    f"`regularizer`. Received: {regularizer=}, {fixed_weights=}"
                )
        self.supports_masking = True

    def build(self, input_shape):
        is_list = input_shape and isinstance(input_shape[0], (list, tuple))
        if not is_list or not all(
            shapes_agree(input_shape[0], shape) for shape in input_shape
        ):
            raise ValueError(
                f"Layer '{self.name}' takes a list of tensors of the same "
                f"shape, one per layer. Received: shapes={input_shape}"
            )
        num_layers = len(input_shape)
        if self.fixed_weights is None:
            self.scalars = new_weight(
                self, "scalars", (num_layers,), regularizer=self.regularizer
            )
        elif len(self.fixed_weights) != num_layers:
            raise ValueError(
                "`fixed_weights` must have one number per layer, here "
                f"{num_layers}. Received: fixed_weights={self.fixed_weights}"
            )
        self.gamma = new_weight(self, "gamma", (), "ones")
        self.input_spec = num_layers * [keras.InputSpec()]

    def _weights(self):
        if self.fixed_weights is None:
            return ops.softmax(read_weight(self.scalars, self.variable_dtype))
        return ops.convert_to_tensor(self.fixed_weights, self.variable_dtype)

    def call(self, inputs, *, mask=None):
        # They may be of integers.
        inputs = [ops.cast(x, self.compute_dtype) for x in inputs]
        if self.layer_norm:
            mask = self.compute_mask(inputs, mask)
            inputs = [normalize_layer(x, mask) for x in inputs]
        gamma = read_weight(self.gamma, self.variable_dtype)
        return mix_layers(inputs, self._weights(), gamma)

    @property
    def mix_weights(self) -> MixWeights:
        """The layers' `weights`, and `gamma`: a named tuple of NumPy arrays."""
        check_built(self)
        return MixWeights(
            ops.convert_to_numpy(ops.cast(self._weights(), "float32")),
            ops.convert_to_numpy(ops.cast(self.gamma, "float32")),
        )

    def compute_mask(self, inputs, mask=None):
        if isinstance(mask, (list, tuple)):
            return next((m for m in mask if m is not None), None)
        return mask

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[0])

    def get_config(self):
        return {
            **super().get_config(),
            "layer_norm": self.layer_norm,
            "regularizer": keras.regularizers.serialize(self.regularizer),
            "fixed_weights": self.fixed_weights,
        }


def mix_layers(layers, weights, gamma):
    """`gamma * sum_j weights_j * layers_j`; each layer (..., dim)."""
    weights = ops.cast(gamma * weights, layers[0].dtype)
    weights = ops.unstack(weights, num=len(layers))
    mix = weights[0] * layers[0]
    for weight, layer in zip(weights[1:], layers[1:]):
        mix = mix + weight * layer
    return mix  # (..., dim)


def normalize_layer(x, mask):
    """Normalises by the mean and deviation of all unmasked entries.

    Args:
        x: Tensor `(..., dim)`.
        mask: Boolean tensor `(...)`, or `None`.

    Returns:
        Tensor `(..., dim)`, zero where it is masked.
    """
    dtype = x.dtype
    x = ops.cast(x, wide_dtype(dtype))
    counted = ops.ones_like(x)
    if mask is not None:
        is_real = ops.expand_dims(mask, -1)
        x, counted = (ops.where(is_real, y, 0.0) for y in (x, counted))
    number = ops.maximum(ops.sum(counted), 1.0)
    mean = ops.sum(x) / number
    variance = ops.sum(ops.square(x - mean) * counted) / number
    x = (x - mean) * ops.rsqrt(variance + 1e-12)
    return ops.cast(x * counted, dtype)


def make_mixes(scalar_mix, number, dtype):
    """Returns the mixes of an `ElmoLayer`.

    Args:
        scalar_mix: `None`, a `ScalarMix`, or a list of `number` of them.
        number: Integer, how many.
        dtype: Dtype policy of a mix that is created here.

    Returns:
        A list of `number` layers with different names: the given ones, or the
        given one and untrained copies of it.
    """
    if scalar_mix is None:
        scalar_mix = ScalarMix(dtype=dtype, name="scalar_mix_0")
    if isinstance(scalar_mix, ScalarMix):
        mixes = [scalar_mix]
        for i in range(1, number):
            name = f"{scalar_mix.name.removesuffix('_0')}_{i}"
            config = scalar_mix.get_config() | {"name": name}
            mixes.append(type(scalar_mix).from_config(config))
        return mixes
    good = isinstance(scalar_mix, (list, tuple)) and len(scalar_mix) == number
    good = good and all(isinstance(mix, ScalarMix) for mix in scalar_mix)
    if not good or len({mix.name for mix in scalar_mix}) < number:
        raise ValueError(
            "`scalar_mix` must be a ScalarMix, or a list of "
            f"`num_representations`={number} of them with different names. "
            f"Received: scalar_mix={scalar_mix}"
        )
    return list(scalar_mix)
