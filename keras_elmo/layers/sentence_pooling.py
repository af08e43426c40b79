from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_choice
from keras_elmo.layers.base_layers import BaseLayer
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.ops.inputs import as_mask


@keras.saving.register_keras_serializable(package="keras_elmo")
class SentencePooling(BaseLayer):
    """Pools the words of a sentence: their mean, or their maximum.

    ```
    y = sum_t mask_t * x_t / max(1, sum_t mask_t)              (mode="mean")
    y = max_{t: mask_t} x_t                                    (mode="max")
    ```

    A sentence without words, such as an empty text, gives zeros. Keras'
    `GlobalAveragePooling1D` divides zero by zero there, and one such sentence
    in a batch makes the loss and all trained weights NaN.

    Args:
        mode: `"mean"` or `"max"`.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, time, dim)` or, for documents of
            sentences, `(batch, sentences, time, dim)`, or of any higher rank.
            The axis before the last is pooled.
        mask: Boolean tensor of the shape of `inputs` without the last axis,
            `False` at padding. Defaults to the Keras mask of the inputs, or to
            all words.

    Output shape:
        That of the input without the axis before the last: `(batch, dim)`, or
        for documents `(batch, sentences, dim)`.

    Masking:
        Masked words have no effect, even if they are NaN. For documents, the
        output carries a mask `(batch, sentences)`, `False` where a sentence
        has no words. The output `(batch, dim)` carries no mask, because Keras
        would leave masked rows out of the loss.

    Raises:
        ValueError: If `mode` is something else, the input has fewer than three
            axes, or the mask has the wrong shape.

    Example:

    >>> words = np.array([[[1.0, 4.0], [3.0, 0.0]], [[7.0, 7.0], [0.0, 0.0]]])
    >>> mask = np.array([[True, True], [False, False]])
    >>> SentencePooling()(words, mask=mask).numpy().tolist()
    [[2.0, 2.0], [0.0, 0.0]]
    >>> SentencePooling("max")(words, mask=mask).numpy().tolist()
    [[3.0, 4.0], [0.0, 0.0]]

    Reference:

    - [allenai/allennlp#1765](https://github.com/allenai/allennlp/issues/1765),
      where ELMo's authors advise the mean over the words
    """

    def __init__(self, mode: str = "mean", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_choice("mode", mode, ("mean", "max"))
        self.mode = mode
        self.input_spec = keras.InputSpec(min_ndim=3)
        self.supports_masking = True

    def call(self, inputs, *, mask=None):
        if mask is not None:
            mask = as_mask(mask, inputs.shape[:-1], self.name)
        inputs = ops.cast(inputs, self.compute_dtype)  # It may be of integers.
        return pool_words(inputs, mask, self.mode)

    def compute_mask(self, inputs, mask=None):
        if mask is None or len(inputs.shape) == 3:
            return None
        mask = as_mask(mask, inputs.shape[:-1], self.name)
        return ops.any(mask, axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], input_shape[-1])

    def get_config(self):
        return {**super().get_config(), "mode": self.mode}


def pool_words(x, mask, mode="mean"):
    """Returns the mean or the maximum of the words, or zeros if there are none.

    Args:
        x: Tensor `(..., time, dim)`.
        mask: Boolean tensor `(..., time)`, `False` at padding; or `None`.
        mode: `"mean"` or `"max"`.

    Returns:
        Tensor `(..., dim)`.
    """
    if mask is None:
        mask = ops.ones_like(x[..., 0], dtype="bool")
    counted = ops.expand_dims(mask, -1)  # (..., time, 1)
    if mode == "max" and 0 not in x.shape:  # PyTorch has no maximum of nothing.
        lowest = -float("inf")
        x = ops.max(ops.where(counted, x, lowest), axis=-2, initial=lowest)
        return ops.where(ops.any(counted, axis=-2), x, 0)
    dtype = x.dtype
    x = ops.cast(ops.where(counted, x, 0), wide_dtype(dtype))
    number = ops.sum(ops.cast(counted, x.dtype), axis=-2)
    return ops.cast(ops.sum(x, axis=-2) / ops.maximum(number, 1), dtype)
