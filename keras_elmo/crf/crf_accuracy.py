import keras
from keras import ops

from keras_elmo.crf import linear_chain
from keras_elmo.crf.clique_scores import unpack_scores
from keras_elmo.crf.tag_checks import check_tag_shape
from keras_elmo.ops.private_keras import more_is_better


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
        _, mask = unpack_scores(y_pred)
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
