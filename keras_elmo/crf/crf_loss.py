import keras

from keras_elmo.crf.tag_checks import checked_log_likelihood
from keras_elmo.ops.private_keras import class_weight_of_training
from keras_elmo.ops.wide_dtype import wide_dtype


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRFLoss(keras.losses.Loss):
    """Negative log likelihood of tag sequences, in nats.

    ```
    loss = -log p(y_true | x)                          one per sentence
    ```

    Args:
        reduction: As for every Keras loss. The default is the mean over
            sentences.
        name: String, the loss's name.
        dtype: The dtype of the computation, float32 or float64. Defaults to
            Keras' float type, or to float32 where that is narrower.

    Call arguments:
        y_true: Tensor of shape `(batch, time)`, the tags' indices, of any
            dtype. Values at padding are ignored, for example -1.
        y_pred: Tensor of shape `(batch, time, num_tags + 1, num_tags)`, the
            output of a `CRF` layer.
        sample_weight: Tensor of shape `(batch,)`, one weight per sentence.

    Masking:
        The scores contain the mask. A sentence that is all padding has a loss
        of zero and counts in the mean.

    Raises:
        ValueError: If a shape is wrong, if `class_weight` is passed to `fit`,
            if a real token's tag is out of range, or if a sentence's tags have
            probability zero because of the `scheme` of the `CRF` or -inf in its
            inputs. In a compiled function, TensorFlow raises
            `InvalidArgumentError` for the last two; where values cannot be
            checked (JAX, XLA), the loss is NaN or 1e30. NaN in the inputs is
            not an error: the loss is NaN, as `keras.callbacks.TerminateOnNaN`
            expects.

    Example:

    >>> inputs = keras.Input((None, 8))
    >>> scores = CRF(num_tags=3)(keras.layers.Dense(3)(inputs))
    >>> model = keras.Model(inputs, scores)
    >>> model.compile("adam", loss=CRFLoss(), metrics=[CRFAccuracy()])
    >>> x = np.random.rand(4, 5, 8).astype("float32")
    >>> y = np.random.randint(0, 3, size=(4, 5))
    >>> history = model.fit(x, y, sample_weight=np.ones(4), verbose=0)
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str = "crf_loss",
        dtype: str | None = None,
    ) -> None:
        if dtype is None:  # Scores need more than half precision.
            dtype = wide_dtype(keras.config.floatx())
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def __call__(self, y_true, y_pred, sample_weight=None):
        shape = getattr(sample_weight, "shape", ())
        if len(shape) > 1 and shape[-1] != 1:
            raise ValueError(
                "`sample_weight` must have one number per sentence, of shape "
                f"(batch,). Received: shape={tuple(shape)}"
            )
        if sample_weight is not None:
            _check_class_weight()
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        return -checked_log_likelihood(y_pred, y_true)  # (batch,)


def _check_class_weight():
    weights = class_weight_of_training()
    if weights is not None:
        raise ValueError(
            "`class_weight` cannot be used with `CRFLoss`: a sentence has no "
            "single class, and Keras would weight it by the position of its "
            "largest tag. Pass `sample_weight`, one number per sentence. "
            f"Received: class_weight of {len(weights)} classes"
        )
