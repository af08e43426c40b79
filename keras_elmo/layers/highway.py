from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_elmo.ops.freezable_layer import FreezableLayer
from keras_elmo.ops.initializers import fan_in_normal
from keras_elmo.ops.initializers import for_large_matrix
from keras_elmo.ops.initializers import with_own_values
from keras_elmo.ops.weights import read_weight


@keras.saving.register_keras_serializable(package="keras_elmo")
class Highway(FreezableLayer):
    """Highway layer: a gate mixes a transformed and the unchanged input.

    ```
    carry = sigmoid(x @ carry_kernel + carry_bias)
    y = carry * activation(x @ transform_kernel + transform_bias)
        + (1 - carry) * x
    ```

    The gate is called `carry`, as in biLM weight files, although it lets the
    *transformed* input through.

    Args:
        activation: Activation of the transformed input. Defaults to `"relu"`.
        kernel_initializer: Initializer of both kernels. Defaults to a normal
            distribution with standard deviation `1 / sqrt(dim)`.
        carry_bias_initializer: Initializer of the gate's bias. Defaults to -2,
            so that an untrained layer passes on most of its input.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(..., dim)`.

    Output shape:
        Same as the input's.

    Masking:
        Positions are independent of one another; a mask passes through.

    Example:

    >>> x = np.random.rand(2, 3, 16).astype("float32")
    >>> tuple(Highway()(x).shape)
    (2, 3, 16)

    Reference:

    - [Srivastava et al., 2015](https://arxiv.org/abs/1505.00387)
    """

    def __init__(
        self,
        activation: str | Callable[..., Any] = "relu",
        kernel_initializer: str | keras.initializers.Initializer | None = None,
        carry_bias_initializer: str
        | keras.initializers.Initializer
        | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(
            kernel_initializer or fan_in_normal()
        )
        self.carry_bias_initializer = keras.initializers.get(
            carry_bias_initializer or keras.initializers.Constant(-2.0)
        )
        self.supports_masking = True

    def build(self, input_shape):
        dim = input_shape[-1]
        for part, bias_initializer in (
            ("carry", self.carry_bias_initializer),
            ("transform", "zeros"),
        ):
            kernel = self.add_weight(
                shape=(dim, dim),
                initializer=for_large_matrix(
                    with_own_values(self.kernel_initializer)
                ),
                autocast=False,
                name=f"{part}_kernel",
            )
            bias = self.add_weight(
                shape=(dim,),
                initializer=bias_initializer,
                autocast=False,
                name=f"{part}_bias",
            )
            setattr(self, f"{part}_kernel", kernel)
            setattr(self, f"{part}_bias", bias)
        self.input_spec = keras.InputSpec(min_ndim=2, axes={-1: dim})

    def call(self, inputs):
        carry, transform = (
            [read_weight(weight, self.compute_dtype) for weight in pair]
            for pair in (
                (self.carry_kernel, self.carry_bias),
                (self.transform_kernel, self.transform_bias),
            )
        )
        return highway(inputs, carry, transform, self.activation)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "activation": keras.activations.serialize(self.activation),
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "carry_bias_initializer": keras.initializers.serialize(
                self.carry_bias_initializer
            ),
        }


def highway(x, carry, transform, activation):
    """Applies one highway to `x` (..., dim); the pairs are (kernel, bias)."""
    carry_kernel, carry_bias = carry
    transform_kernel, transform_bias = transform
    gate = ops.sigmoid(ops.matmul(x, carry_kernel) + carry_bias)
    new = activation(ops.matmul(x, transform_kernel) + transform_bias)
    return gate * (new - x) + x  # (..., dim)
