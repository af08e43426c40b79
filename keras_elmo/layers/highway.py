from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_elmo.layers.base_layers import BaseLayer
from keras_elmo.layers.base_layers import affine
from keras_elmo.layers.base_layers import new_weight


@keras.saving.register_keras_serializable(package="keras_elmo")
class Highway(BaseLayer):
    """Highway layer: a gate mixes a transformed and the unchanged input.

    ```
    carry = sigmoid(x @ carry_kernel + carry_bias)
    y = carry * activation(x @ transform_kernel + transform_bias)
        + (1 - carry) * x
    ```

    The gate is called `carry`, as in biLM weight files, although it lets the
    *transformed* input through. Its bias starts at -2, so that an untrained
    layer passes on most of its input.

    Args:
        activation: Activation of the transformed input. Defaults to `"relu"`.
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.activation = keras.activations.get(activation)
        self.supports_masking = True

    def build(self, input_shape):
        dim = input_shape[-1]
        self.carry_kernel = new_weight(self, "carry_kernel", (dim, dim))
        self.carry_bias = new_weight(
            self, "carry_bias", (dim,), keras.initializers.Constant(-2)
        )
        self.transform_kernel = new_weight(self, "transform_kernel", (dim, dim))
        self.transform_bias = new_weight(self, "transform_bias", (dim,))
        self.input_spec = keras.InputSpec(min_ndim=2, axes={-1: dim})

    def call(self, inputs):
        inputs = ops.cast(inputs, self.compute_dtype)  # It may be of integers.
        carry = affine(inputs, self.carry_kernel, self.carry_bias)
        new = affine(inputs, self.transform_kernel, self.transform_bias)
        new = self.activation(new)
        return ops.sigmoid(carry) * (new - inputs) + inputs  # (..., dim)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "activation": keras.activations.serialize(self.activation),
        }
