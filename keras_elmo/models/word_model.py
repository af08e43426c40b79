"""A Keras model of the ids of words, as a tagger and its exports read it: what
it takes, and what its outputs and their tags are called."""

from collections.abc import Iterable
from collections.abc import Mapping

import keras
import numpy as np

from keras_elmo.checks import check_built
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.layers.word_vectorization import WordVectorization
from keras_elmo.ops.private_keras import call_of
from keras_elmo.ops.private_keras import layer_of
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.text.byte_indexer import ByteIndexer

# The argument of that name, which `tag_names_of` reads.
TagNames = Mapping[str, Iterable[str | bytes]] | Iterable[str | bytes]


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
            if hasattr(x, "keep_sentence_boundaries")  # An `ElmoLayer`.
        }
        if len(found) > 1:
            self._fail("layers that treat sentence boundaries differently")
        # Whether ELMo adds and keeps sentence boundaries. With ELMo's default,
        # as without ELMo, outputs have the positions of their words.
        self.boundaries = found.pop() if found else (True, False)
        self.vectorization = self._vectorization_of_ids(tuple(shape[2:]))
        self.outputs = named_outputs(model)
        self.tag_names = tag_names_of(self.outputs, tag_names)

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


def after_elmo(model, elmo, word_vectors=None):
    """Returns a model of vectors and their mask, with ELMo in front.

    Args:
        model: The Keras model, whose layers the new one shares.
        elmo: The `ElmoLayer`.
        word_vectors: A layer whose vectors of the same ids follow those of
            ELMo, or `None`.

    The vectors of a word are those of all mixes of ELMo, side by side.
    """
    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    vectors = keras.tree.flatten(elmo(ids))
    if word_vectors is not None:
        vectors.append(word_vectors(ids))
    if len(vectors) > 1:
        vectors = [keras.layers.Concatenate(name="vectors")(vectors)]
    vectors += keras.tree.flatten(elmo.compute_mask(ids))[:1]
    # `model(vectors)` would be a single layer, and hide its own layers.
    calls = keras.Function(model.inputs, model.output)
    return keras.Model(ids, calls.call(vectors))


def with_separate_layers(elmo):
    """Returns an `ElmoLayer` that returns a list of its layers, unmixed."""
    number = elmo.encoder.num_layers + 1
    mixes = [
        ScalarMix(fixed_weights=row, name=f"layer_{i}", dtype=elmo.dtype_policy)
        for i, row in enumerate(np.eye(number))
    ]
    return type(elmo)(
        elmo.token_encoder,
        elmo.encoder,
        scalar_mix=mixes,
        num_representations=number,
        add_sentence_boundaries=elmo.add_sentence_boundaries,
        dtype=elmo.dtype_policy,
        name="elmo",
    )


def named_outputs(model, outputs=None):
    """The outputs of a model, named after their layers.

    A `CRFDecoder` says what follows its name in those of its outputs. Equal
    names are numbered, and so are outputs whose layers are unknown, as in a
    subclassed model.

    Args:
        model: A Keras model.
        outputs: What the model returned. Defaults to its symbolic outputs.
    """
    symbolic = getattr(model, "outputs", ())  # Subclassed models have none.
    if outputs is None:
        # A Sequential model's `output` is that in the first model around it.
        has_own = not isinstance(model, keras.Sequential)
        outputs = getattr(model, "output", symbolic) if has_own else symbolic
    if isinstance(outputs, dict):
        return dict(sorted(outputs.items()))
    outputs = keras.tree.flatten(outputs)
    names = [_name_of(x) for x in symbolic]
    counts = [names[:i].count(name) for i, name in enumerate(names)]
    names = [f"{name}_{i}" if i else name for name, i in zip(names, counts)]
    if len(set(names)) < len(outputs):
        names = [f"output_{i}" for i in range(len(outputs))]
    return dict(zip(names, outputs))


def _name_of(x):
    layer, *_, outputs = call_of(x)
    if not hasattr(layer, "_output_suffixes"):
        return layer.name
    place = [y is x for y in outputs].index(True)
    return layer.name + layer._output_suffixes[place]


def named_elmo_outputs(tokens, layers, mixes):
    """The outputs of an `ElmoLayer`, named as in TF-Hub's `google/elmo/3`.

    Args:
        tokens: The token encoder's vectors.
        layers: List of the biLM's layers, starting with the first LSTM.
        mixes: List of their mixes.
    """
    outputs = {"word_emb": tokens}
    for k, layer in enumerate(layers, start=1):
        outputs[f"lstm_outputs{k}"] = layer
    for k, mix in enumerate(mixes):
        outputs[f"elmo_{k}" if k else "elmo"] = mix
    return outputs


def tag_names_of(outputs, tag_names):
    """The labels that a model returns, by the output's name.

    Args:
        outputs: Dictionary from names to symbolic outputs.
        tag_names: Dictionary from names of outputs to lists of strings or
            bytes; such a list, if there is one output; or `None`. A
            `CRFDecoder` has its own.

    Returns:
        Dictionary from names of outputs to lists.

    Raises:
        ValueError: If `tag_names` is not as described.
    """
    names = {
        name: getattr(layer_of(x), "tag_names", None)
        for name, x in outputs.items()
        # A decoder's further outputs are no tags.
        if len(x.shape) == 2
        and x.dtype.startswith("int")
        and call_of(x)[-1][0] is x
    }
    names = {name: found for name, found in names.items() if found}
    if tag_names is None:
        return names
    if not isinstance(tag_names, Mapping):
        if len(outputs) != 1:
            raise ValueError(
                "`tag_names` must be a dictionary from an output's name to a "
                "list of names, because the model does not have one output: "
                f"its outputs are {sorted(outputs)}. "
                f"Received: tag_names={tag_names!r}"
            )
        tag_names = dict.fromkeys(outputs, tag_names)
    for name, given in tag_names.items():
        is_list = isinstance(given, Iterable) and type(given) is not str
        found = list(given) if is_list else []
        if not found or not all(isinstance(x, (str, bytes)) for x in found):
            raise ValueError(
                "`tag_names` must be lists of names, each a string. "
                f"Received for output '{name}': {given!r}"
            )
        names[name] = found
    return names


def check_tagged_outputs(tag_names, outputs):
    """Raises `ValueError` if an output cannot have these tags.

    Args:
        tag_names: As `tag_names_of` returns them.
        outputs: Dictionary from names to tensors, symbolic or not.
    """
    unknown = set(tag_names) - set(outputs)
    if unknown:
        raise ValueError(
            "The keys of `tag_names` must be outputs of the "
            f"model, which are {sorted(outputs)}. Received: {sorted(unknown)}"
        )
    for name, names in tag_names.items():
        x = outputs[name]
        dtype = keras.backend.standardize_dtype(x.dtype)
        is_scores = "float" in dtype
        rank = len(x.shape) - is_scores
        fits = rank in (1, 2) and (is_scores or "int" in dtype)
        if not fits or (is_scores and x.shape[-1] != len(names)):
            raise ValueError(
                f"To have `tag_names`, output '{name}' must be integers of "
                "shape (batch, time) or (batch,), or floats with one more "
                f"axis, of size {len(names)}, the number of names. Received: "
                f"an output of shape={tuple(x.shape)}, dtype={dtype}"
            )


def refuse_tag_names(tag_names):
    """Raises `ValueError` if an `ElmoLayer` is exported with `tag_names`."""
    if tag_names:
        raise ValueError(
            "`tag_names` can only be used with a model that "
            f"returns tags, not with an `ElmoLayer`. Received: {tag_names!r}"
        )
