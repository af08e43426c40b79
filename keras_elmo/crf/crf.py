from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.crf import linear_chain
from keras_elmo.crf.linear_chain import constrain
from keras_elmo.crf.linear_chain import pack_scores
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import check_tag_names
from keras_elmo.crf.tags import checked_log_likelihood
from keras_elmo.ops.backends import wide_dtype
from keras_elmo.ops.inputs import as_mask
from keras_elmo.ops.inputs import shapes_agree
from keras_elmo.ops.private_keras import masks_above
from keras_elmo.ops.private_keras import refuse_h5


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRF(keras.layers.Layer):
    """Linear-chain conditional random field (CRF), which scores tag sequences.

    ```
    score(y | x) = start_transitions[y_1] + end_transitions[y_n]
        + sum_t potentials[t, y_t] + sum_t transitions[y_t, y_(t+1)]
    p(y | x) = exp(score(y | x)) / sum_y' exp(score(y' | x))
    ```

    A call returns scores, as a `Dense` layer returns logits: train on them with
    `CRFLoss`, measure accuracy with `CRFAccuracy`, and turn them into tags with
    `CRFDecoder`, which has no weights. All three need only the scores.

    ```
    potentials = keras.layers.Dense(num_tags)(x)
    scores = keras_elmo.CRF(num_tags)(potentials, mask=mask)
    model = keras.Model(inputs, scores)
    model.compile(
        "adam",
        loss=keras_elmo.CRFLoss(),
        metrics=[keras_elmo.CRFAccuracy()],
    )
    tagger = keras.Model(inputs, keras_elmo.CRFDecoder()(scores))
    ```

    Args:
        num_tags: Integer, the number of tags.
        tag_names: List of strings, the labels in order. Required with a
            `scheme`.
        scheme: `"BIO"`, `"BIOES"`, `"BIOUL"` (AllenNLP's letters for BIOES) or
            `None`. With a scheme, tag sequences that it forbids have
            probability zero in training and in decoding: `I-PER` after any tag
            other than `B-PER` and `I-PER`, or, except with `"BIO"`, a sentence
            that ends inside a span. The training tags must follow the scheme.
            To constrain only the decoding, pass the scheme to `CRFDecoder`
            instead.
        transitions_initializer: Initializer of `transitions`.
        boundary_initializer: Initializer of `start_transitions` and
            `end_transitions`.
        transitions_regularizer: Regularizer of `transitions`.
        **kwargs: Base layer keyword arguments, such as `name` and `dtype`.

    Call arguments:
        inputs: Tensor of shape `(batch, time, num_tags)`, the potentials: the
            score of each tag for each token, in nats; -inf forbids the tag
            there. Any float dtype; sums are computed in float32 or wider.
        mask: Boolean tensor of shape `(batch, time)`, true at real tokens.
            Defaults to the Keras mask of the inputs, or to all tokens. In a
            Functional model, it must be passed if a layer further up makes a
            mask that a layer in between does not pass on.

    Output shape:
        `(batch, time, num_tags + 1, num_tags)`, float32 even in half precision:
        for each token, the score of each tag (column) after each tag (row); the
        last row is 1 at real tokens and 0 at padding. This takes
        `4 * num_tags * (num_tags + 1)` bytes per token; a training step takes
        seven to twelve times as much on TensorFlow, depending on the processor,
        and less than eleven times as much on JAX and PyTorch.

    Masking:
        Padding may be anywhere and has no effect: its potentials get no
        gradient, and a sentence that is all padding has a log likelihood of
        zero. The scores contain the mask; no Keras mask is passed on.

    Raises:
        ValueError: If the input has the wrong shape, if a mask was made for it
            in a Functional model and did not arrive, or if the model is saved
            as .h5, because Keras cannot load masks from such a file.

    Example:

    >>> potentials = np.random.rand(2, 5, 3).astype("float32")
    >>> mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=bool)
    >>> crf = CRF(num_tags=3, tag_names=["O", "B-PER", "I-PER"], scheme="BIO")
    >>> tuple(crf(potentials, mask=mask).shape)
    (2, 5, 4, 3)
    >>> tuple(crf.decode(potentials, mask).shape)
    (2, 5)
    >>> tuple(crf.marginals(potentials, mask).shape)
    (2, 5, 3)
    >>> tags = np.array([[0, 1, 2, 2, 0], [1, 2, 0, 0, 0]])
    >>> tuple(crf.log_likelihood(potentials, tags, mask).shape)
    (2,)

    Reference:

    - [Lafferty et al., 2001](https://dl.acm.org/doi/10.5555/645530.655813)
    - [Lample et al., 2016](https://arxiv.org/abs/1603.01360)
    """

    def __init__(
        self,
        num_tags: int,
        tag_names: Sequence[str] | None = None,
        scheme: str | None = None,
        *,
        transitions_initializer: str
        | keras.initializers.Initializer = "glorot_uniform",
        boundary_initializer: str | keras.initializers.Initializer = "zeros",
        transitions_regularizer: str
        | keras.regularizers.Regularizer
        | None = None,
        **kwargs: Any,
    ) -> None:
        # The sums need more than half precision.
        super().__init__(autocast=False, **kwargs)
        check_integer("num_tags", num_tags, 1)
        self.num_tags = int(num_tags)
        self.tag_names = check_tag_names(tag_names, num_tags)
        self.scheme = scheme
        self._allowed = allowed_tags(self.tag_names, scheme)
        self.transitions_initializer = keras.initializers.get(
            transitions_initializer
        )
        self.boundary_initializer = keras.initializers.get(boundary_initializer)
        self.transitions_regularizer = keras.regularizers.get(
            transitions_regularizer
        )
        self.supports_masking = True

    @property
    def _scores_dtype(self):
        """Dtype of the scores and of all sums."""
        return wide_dtype(self.compute_dtype)

    def build(self, input_shape):
        self._check_shape(input_shape)
        self.transitions = self.add_weight(
            shape=(self.num_tags, self.num_tags),
            initializer=self.transitions_initializer,
            regularizer=self.transitions_regularizer,
            autocast=False,
            name="transitions",
        )
        boundary = self.boundary_initializer
        self.start_transitions, self.end_transitions = (
            self.add_weight(
                shape=(self.num_tags,),
                # Keras' initializers return the same values at each call. A
                # clone draws others, without a seed; a function has none.
                initializer=getattr(boundary, "clone", lambda: boundary)(),
                autocast=False,
                name=name,
            )
            for name in ("start_transitions", "end_transitions")
        )

    def call(self, inputs, *, mask=None):
        self._check_shape(inputs.shape)
        if mask is None:
            mask = ops.ones(ops.shape(inputs)[:2], "bool")
        mask = as_mask(mask, inputs.shape[:2], self.name)
        weights = self.transitions, self.start_transitions, self.end_transitions
        potentials, *weights = (
            ops.cast(x, self._scores_dtype) for x in (inputs, *weights)
        )
        scores = pack_scores(potentials, mask, *weights)
        if self._allowed is not None:
            scores = constrain(scores, *self._allowed)
        return scores  # (batch, time, num_tags + 1, num_tags)

    def log_likelihood(
        self, potentials: Any, tags: Any, mask: Any = None
    ) -> Any:
        """Returns the log-probability of tag sequences, in nats.

        It has a gradient, but no second derivative.

        Args:
            potentials: Tensor `(batch, time, num_tags)`.
            tags: Tensor `(batch, time)`, the tags' indices. Values at padding
                are ignored.
            mask: Boolean tensor `(batch, time)`, true at real tokens.

        Returns:
            Tensor `(batch,)`, float32.

        Raises:
            ValueError: If a shape is wrong, if a real token's tag is out of
                range, or if the `scheme` or -inf forbid a sentence's tags.
        """
        return checked_log_likelihood(self._scores(potentials, mask), tags)

    def decode(self, potentials: Any, mask: Any = None) -> Any:
        """Returns the best tag sequences (Viterbi).

        Args:
            potentials: Tensor `(batch, time, num_tags)`.
            mask: Boolean tensor `(batch, time)`, true at real tokens.

        Returns:
            int32 tensor `(batch, time)`, 0 at padding.
        """
        return linear_chain.best_tags(self._scores(potentials, mask))

    def marginals(self, potentials: Any, mask: Any = None) -> Any:
        """Returns each token's tag probabilities, given the whole sentence.

        Args:
            potentials: Tensor `(batch, time, num_tags)`.
            mask: Boolean tensor `(batch, time)`, true at real tokens.

        Returns:
            Tensor `(batch, time, num_tags)`, float32; zeros at padding.
        """
        return linear_chain.marginals(self._scores(potentials, mask))

    def _scores(self, potentials, mask):
        if isinstance(potentials, keras.KerasTensor):
            raise ValueError(
                "The methods take values, not symbolic inputs. In a Functional "
                f"model, call layer '{self.name}' and pass its scores to "
                f"`CRFLoss` or `CRFDecoder`. Received: {potentials}"
            )
        return self(potentials, mask=mask)

    def _check_shape(self, shape):
        if len(shape) != 3 or shape[-1] != self.num_tags:
            raise ValueError(
                f"Layer '{self.name}' takes potentials of shape (batch, time, "
                f"{self.num_tags}): put `keras.layers.Dense({self.num_tags})` "
                f"before it. Received: shape={tuple(shape)}"
            )

    def compute_mask(self, inputs, mask=None):
        # Keras would use it as a mask of the per-sentence losses.
        return None

    def compute_output_spec(self, inputs, mask=None):
        self._check_shape(inputs.shape)
        if mask is not None:
            as_mask(mask, inputs.shape[:2], self.name)
        else:
            self._check_that_no_mask_is_lost(inputs)
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, self._scores_dtype)

    def _check_that_no_mask_is_lost(self, inputs):
        # Keras drops a mask at each layer that does not pass one on: `Conv1D`,
        # and from Keras 3.16 on also `LSTM` and `Bidirectional`.
        for mask, name in masks_above(inputs):
            if shapes_agree(getattr(mask, "shape", ()), inputs.shape[:2]):
                raise ValueError(
                    f"Layer '{self.name}' received no mask, although layer "
                    f"'{name}' has one: a layer in between does not pass it "
                    "on, and padding would count as words. Pass it, as in "
                    "`crf(potentials, mask=elmo.compute_mask(ids))`. "
                    "Received: mask=None"
                )

    def compute_output_shape(self, input_shape):
        return (*input_shape[:2], self.num_tags + 1, self.num_tags)

    def get_config(self):
        refuse_h5(self)
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "num_tags": self.num_tags,
            "tag_names": self.tag_names,
            "scheme": self.scheme,
            "transitions_initializer": serialize(self.transitions_initializer),
            "boundary_initializer": serialize(self.boundary_initializer),
            "transitions_regularizer": serialize(self.transitions_regularizer),
        }
