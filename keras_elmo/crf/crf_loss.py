import keras

from keras_elmo.crf.tag_checks import checked_log_likelihood
from keras_elmo.ops.private_keras import class_weight_of_training


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRFLoss(keras.losses.Loss):
    """Negative log likelihood of sentences of tags, in nats.

    ```
    loss = -log p(y_true | x)                            one a sentence
    ```

    Args:
        reduction: As of every Keras loss. The default is the mean over
            sentences.
        name: String, the loss's name.

    Call arguments:
        y_true: Tensor of shape `(batch, time)`, numbers of tags, of any dtype.
            Those at padding may be anything, such as -1.
        y_pred: Tensor of shape `(batch, time, num_tags + 1, num_tags)`, what a
            `CRF` layer returned.
        sample_weight: Tensor of shape `(batch,)`, one weight a sentence.

    Masking:
        The scores hold the mask. A sentence that is all padding has a loss of
        zero, and counts in the mean.

    Raises:
        ValueError: If a shape is another, if `fit` is given `class_weight`, if
            a real token's tag is out of range, or if tags have probability
            zero, by the `scheme` of the `CRF` or by -inf in its inputs. In a
            compiled function TensorFlow raises `InvalidArgumentError` for the
            last two; where values cannot be looked at (JAX, XLA), the loss is
            NaN or 1e30. NaN in the inputs raises nothing: the loss is NaN, as
            `keras.callbacks.TerminateOnNaN` expects.

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
    ) -> None:
        # Scores do not fit into half precision.
        dtype = keras.backend.result_type(keras.config.floatx(), "float32")
        super().__init__(name=name, reduction=reduction, dtype=dtype)

    def __call__(self, y_true, y_pred, sample_weight=None):
        shape = getattr(sample_weight, "shape", ())
        if len(shape) > 1 and shape[-1] != 1:
            raise ValueError(
                "`sample_weight` must be one number a sentence, of shape "
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
            "`class_weight` does not go with `CRFLoss`: a sentence has no "
            "single class, and Keras would weigh it by the place of its "
            "largest tag. Pass `sample_weight`, one number a sentence. "
            f"Received: class_weight of {len(weights)} classes"
        )
