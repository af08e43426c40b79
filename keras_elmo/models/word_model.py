"""A Keras model of the ids of words, as a tagger and its exports read it."""

from keras_elmo.checks import check_built
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.word_vectorization import WordVectorization
from keras_elmo.models.output_names import named_outputs
from keras_elmo.models.output_names import tag_names_of
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.text.byte_indexer import ByteIndexer


class WordModel:
    """What a Keras model takes and returns.

    Args:
        model: A Keras model with one input, character ids `(batch, time,
            chars)` or those of another token encoder, `(batch, time,
            *token_shape)`.
        tag_names: As for `export_saved_model`.

    Raises:
        ValueError: If the model takes anything else, or is not built.
    """

    def __init__(self, model, tag_names=None):
        self.model = model
        check_built(model)
        inputs = getattr(model, "inputs", None)
        if inputs is None:  # A subclassed model has no known shapes.
            shape, dtype = (None, None, ...), "int32"
        elif len(inputs) == 1:
            shape, dtype = inputs[0].shape, inputs[0].dtype
        else:
            self._fail(f"{len(inputs)} inputs")
        if len(shape) not in (2, 3) or dtype not in ("int32", "int64"):
            self._fail(f"an input of shape={tuple(shape)}, dtype={dtype}")
        if shape[1] is not None:
            raise ValueError(
                "The model must allow any number of words: create it with an "
                "input of shape (None, chars). "
                f"Received: an input of shape={tuple(shape)}"
            )
        self.dtype = dtype
        found = {
            (x.add_sentence_boundaries, x.keep_sentence_boundaries)
            for x in sublayers(model)
            if isinstance(x, ElmoLayer)
        }
        if len(found) > 1:
            self._fail("layers that treat sentence boundaries differently")
        # Whether ELMo adds and keeps sentence boundaries. With ELMo's default,
        # as without ELMo, outputs have the positions of their words.
        self.boundaries = found.pop() if found else (True, False)
        self.vectorization = self._vectorization_of_ids(tuple(shape[2:]))
        # By the name of their output.
        self.tag_names = tag_names_of(named_outputs(model), tag_names)

    def _vectorization_of_ids(self, token_shape):
        """The vectorization of the token encoders that take this shape of ids.

        Sizes may be unknown (`None`), and so may the shape, `(...,)`: then all
        token encoders must take the same ids.
        """
        readers = [
            x for x in sublayers(self.model) if hasattr(x, "make_vectorization")
        ]
        parts = {id(part) for x in readers for part in sublayers(x)}
        found = [x.make_vectorization() for x in readers if id(x) not in parts]
        if not {None, ...}.intersection(token_shape):
            found = [v for v in found if v.indexer.token_shape == token_shape]
            if not found and len(token_shape) == 1:
                return WordVectorization(ByteIndexer(*token_shape))
        if not found:
            self._fail(
                f"an input of shape={(None, None, *token_shape)}, "
                f"dtype={self.dtype}, and no token encoder that defines the "
                "words of these ids"
            )
        indexers = [(type(v.indexer), v.indexer.get_config()) for v in found]
        if any(indexer != indexers[0] for indexer in indexers):
            self._fail("token encoders with different ids for words")
        return found[0]

    def _fail(self, received):
        raise ValueError(
            "The model must have one input, character ids of shape (batch, "
            'time, chars), such as `keras.Input((None, 50), dtype="int32")`, '
            "or the ids of another token encoder. "
            f"Received: model '{self.model.name}' with {received}"
        )
