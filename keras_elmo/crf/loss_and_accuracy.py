"""What a model that ends in a `CRF` is compiled with."""

import keras
from keras import ops

from keras_elmo.crf import linear_chain
from keras_elmo.crf.tags import check_tag_shape
from keras_elmo.crf.tags import checked_log_likelihood
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.ops.private_keras import more_is_better


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
        sample_weight: Tensor of shape `(batch, 1)`, one weight per sentence.
            The shape `(batch,)` is an error, because Keras makes such weights
            from `class_weight` of `fit`: it would take the position of a
            sentence's largest tag as the sentence's class.

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
    >>> history = model.fit(x, y, sample_weight=np.ones((4, 1)), verbose=0)
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
        # A step that TensorFlow compiles for weights of two ranks knows none.
        unknown = getattr(shape, "rank", 0) is None
        if unknown or (len(shape) > 0 and tuple(shape)[1:] != (1,)):
            raise ValueError(
                "`sample_weight` must have one number per sentence, of shape "
                "(batch, 1), such as `weights[:, None]`. `class_weight` cannot "
                "be used: Keras turns it into weights of shape (batch,), by "
                "the position of each sentence's largest tag. "
                f"Received: shape={shape}"
            )
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        return -checked_log_likelihood(y_pred, y_true)  # (batch,)


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRFAccuracy(keras.metrics.Mean):
    """Accuracy per token of the best tag sequence, without padding.

    ```
    accuracy = sum_t [y_t == y*_t] / number of real tokens
    ```

    Args:
        name: String, the metric's name, as in `val_crf_accuracy`.
        dtype: Dtype of the sums.

    Call arguments:
        y_true: Tensor of shape `(batch, time)`, the tags' indices, of any
            dtype. Values at padding are ignored.
        y_pred: Tensor of shape `(batch, time, num_tags + 1, num_tags)`, the
            output of a `CRF` layer.
        sample_weight: Tensor of shape `(batch,)`, one weight per sentence, or
            `(batch, time)`, one per token.

    Masking:
        The scores contain the mask. Padding does not count.

    Raises:
        ValueError: If a shape is wrong.

    Example:

    >>> accuracy = CRFAccuracy()
    >>> potentials = keras.ops.one_hot(np.array([[0, 1, 1]]), 2) * 9
    >>> scores = CRF(2)(potentials, mask=np.array([[True, True, False]]))
    >>> accuracy.update_state(np.array([[0, 0, 0]]), scores)
    >>> float(accuracy.result())
    0.5
    """

    def __init__(
        self, name: str = "crf_accuracy", dtype: str | None = None
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        more_is_better(self)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.convert_to_tensor(y_pred)
        y_true = ops.convert_to_tensor(y_true)
        check_tag_shape(y_true, y_pred)
        _, mask = linear_chain.unpack_scores(y_pred)
        right = ops.cast(y_true, "int32") == linear_chain.best_tags(y_pred)
        weight = ops.cast(mask, self.dtype)  # (batch, time)
        if sample_weight is not None:
            sample_weight = ops.cast(sample_weight, self.dtype)
            if len(sample_weight.shape) == 1:
                sample_weight = sample_weight[:, None]
            weight = weight * sample_weight
        # In one row, so that the mean is over tokens, not over sentences.
        right = ops.cast(right, self.dtype)
        return super().update_state(
            ops.reshape(right, (-1,)), ops.reshape(weight, (-1,))
        )
