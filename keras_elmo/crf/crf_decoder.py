from collections.abc import Sequence
from typing import Any

import keras

from keras_elmo.crf import linear_chain
from keras_elmo.crf.linear_chain import constrain
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import check_packed_shape
from keras_elmo.crf.tags import check_tag_names
from keras_elmo.crf.tags import decoding_scheme
from keras_elmo.crf.tags import entity_tags


@keras.saving.register_keras_serializable(package="keras_elmo")
class CRFDecoder(keras.layers.Layer):
    """Decodes the best tag sequence from the scores of a `CRF` layer (Viterbi).

    ```
    y* = argmax_y score(y | x)
    ```

    It has no weights: a model that ends in it shares the weights of the model
    that was trained on the scores.

    Args:
        return_marginals: Boolean, whether to return each token's probability of
            each tag, too.
        return_entities: Boolean, whether to return the entities that the tags
            mark, too, with their exact probabilities.
        tag_names: List of strings, the labels in order. Required with a
            `scheme` and with `return_entities`.
        scheme: `"BIO"`, `"BIOES"`, `"BIOUL"` or `None`. With a scheme, tag
            sequences that it forbids are never decoded, even if the CRF was
            trained without it. Defaults to the scheme of `tag_names`, if they
            are of one. To decode labels in IOB1, in which `I-PER` may begin an
            entity, pass no `tag_names`.
        **kwargs: Base layer keyword arguments, such as `name`.

    Call arguments:
        inputs: Tensor of shape `(batch, time, num_tags + 1, num_tags)`, the
            output of a `CRF` layer.

    Output shape:
        `(batch, time)`, int32. With `return_marginals=True` or
        `return_entities=True`, a list of this and what follows:

        - with `return_marginals`, the probabilities of each token's tags,
          `(batch, time, num_tags)`, float32;
        - with `return_entities`, the probability of the entity that begins at
          each token, float32, and the number of its tokens, int32, both
          `(batch, time)` and 0 where none begins. Its type is in the tag. The
          probability is that of all tag sequences of the scheme that mark
          exactly this entity; it is not the product of its tags' marginals.

        `export_saved_model` and `export_onnx` name them `{name}`,
        `{name}_marginals`, `{name}_entity_probabilities` and
        `{name}_entity_lengths`, with the name of the layer.

    Masking:
        The scores contain the mask. Padding gets tag 0 and probabilities of
        zero.

    Raises:
        ValueError: If the input has the wrong shape, or if `return_entities` is
            set and the labels are not of BIO, BIOES or BIOUL.

    Example:

    >>> potentials = np.array([[[0, 5], [0, 0], [0, 0]]], dtype="float32")
    >>> crf = CRF(2, transitions_initializer="identity")
    >>> decoder = CRFDecoder(tag_names=["O", "NAME"])
    >>> tags = keras.ops.convert_to_numpy(decoder(crf(potentials)))
    >>> [[decoder.tag_names[tag] for tag in row] for row in tags]
    [['NAME', 'NAME', 'NAME']]

    Reference:

    - [Viterbi, 1967](https://doi.org/10.1109/TIT.1967.1054010)
    """

    def __init__(
        self,
        *,
        return_marginals: bool = False,
        return_entities: bool = False,
        tag_names: Sequence[str] | None = None,
        scheme: str | None = None,
        **kwargs: Any,
    ) -> None:
        # The scores need more than half precision.
        super().__init__(autocast=False, **kwargs)
        self.return_marginals = bool(return_marginals)
        self.return_entities = bool(return_entities)
        self.tag_names = check_tag_names(tag_names)
        if scheme is None and self.tag_names:
            scheme = decoding_scheme(self.tag_names)
        if return_entities and not scheme:
            raise ValueError(
                "`return_entities` needs `tag_names` that mark entities in BIO,"
                " BIOES or BIOUL, such as O, B-PER and I-PER. In IO and IOB1, "
                "where I-PER may begin an entity, several tag sequences mark "
                "the same: convert the tags before you train on them. "
                f"Received: tag_names={tag_names!r}"
            )
        self.scheme = scheme
        self._allowed = allowed_tags(self.tag_names, scheme)
        if return_entities:
            self._entity_tags = entity_tags(self.tag_names)

    @property
    def _output_suffixes(self):
        """What follows the layer's name in the names of its outputs."""
        marginals = ["_marginals"] * self.return_marginals
        entities = ["_entity_probabilities", "_entity_lengths"]
        return ["", *marginals, *entities * self.return_entities]

    def build(self, input_shape):
        self._check_shape(input_shape)

    def call(self, inputs):
        self._check_shape(inputs.shape)
        if self._allowed is not None:
            inputs = constrain(inputs, *self._allowed)
        results = [linear_chain.best_tags(inputs)]
        if self.return_marginals:
            results.append(linear_chain.marginals(inputs))
        if self.return_entities:
            results += linear_chain.entity_probabilities(
                inputs, results[0], self._entity_tags
            )
        return results if len(results) > 1 else results[0]

    def _check_shape(self, shape):
        check_packed_shape(shape, f" as the input of layer '{self.name}'")
        check_tag_names(self.tag_names, shape[-1])

    def compute_output_spec(self, inputs):
        self._check_shape(inputs.shape)
        batch, time, _, num_tags = inputs.shape
        tags = (batch, time), "int32"
        specs = [tags]
        if self.return_marginals:
            specs.append(((batch, time, num_tags), inputs.dtype))
        if self.return_entities:
            specs += [((batch, time), inputs.dtype), tags]
        results = [keras.KerasTensor(*spec) for spec in specs]
        return results if len(results) > 1 else results[0]

    def compute_output_shape(self, input_shape):
        spec = self.compute_output_spec(keras.KerasTensor(input_shape))
        return keras.tree.map_structure(lambda x: x.shape, spec)

    def get_config(self):
        return {
            **super().get_config(),
            "return_marginals": self.return_marginals,
            "return_entities": self.return_entities,
            "tag_names": self.tag_names,
            "scheme": self.scheme,
        }
