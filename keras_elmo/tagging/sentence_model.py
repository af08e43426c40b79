"""A Keras model, run on any number of sentences."""

import keras
import numpy as np
from keras import ops

from keras_elmo.embedding.packed_elmo import PackedElmo
from keras_elmo.embedding.packed_elmo import mix_of
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.compiled import call_with_arrays
from keras_elmo.ops.private_keras import calls_above
from keras_elmo.progress_bars import shows_bars

# Tokens of a batch of ELMo, and of a batch of what follows it: fewer, so that
# its arrays stay in the processor's caches.
ELMO_TOKENS, HEAD_TOKENS = 8192, 4096
# The scores of a `CRF` for one batch, which are about as many as tokens times
# the square of the number of labels: 64 MB.
HEAD_SCORES = 2**24
# For so few words, running the whole model is faster.
FEW_WORDS = 1024
# Sentences per batch of a whole model.
SENTENCES = 32
# For so many sentences, there is a progress bar by default.
MANY = 1600


class SentenceModel:
    """Runs parts of a Keras model on any number of sentences.

    If the model calls one `ElmoLayer`, once, on its input, the vectors of many
    words are computed as `ElmoEmbedder` computes them, and only what follows,
    the head, runs on padded batches. Otherwise, the whole model does: for
    instance if an `ElmoLayer` is called twice, with a mask or a state, or adds
    no sentence boundaries, or if a mix has `layer_norm`.

    Args:
        model: The Keras model, with one input.
        tags: Symbolic tensor, its output with the tags.
        to_ids: Function from a list of sentences, lists of words, to their ids.
        num_tags: Integer, the number of labels.
        quantize: As for `ElmoEmbedder`.

    Raises:
        ValueError: If `quantize` is set, and ELMo's vectors cannot be computed
            apart.
        ImportError: If `quantize` needs a package that is not installed.
    """

    def __init__(self, model, tags, to_ids, num_tags, quantize=None):
        self._model, self._to_ids, self._quantize = model, to_ids, quantize
        self._most_tokens = min(HEAD_TOKENS, HEAD_SCORES // num_tags**2)
        self._elmo, self._mixes = find_elmo(model.inputs[0], tags)
        if self._elmo is not None:
            self._packed = PackedElmo(self._elmo, quantize)
        elif quantize is not None:
            raise ValueError(
                "For `quantize`, the model must call one `ElmoLayer`, once, on "
                "its input: without a mask, a state or `layer_norm`, and with "
                "`add_sentence_boundaries=True`, the default. Received: "
                f"quantize={quantize!r}, and a model without such a call"
            )

    def compile(self, outputs, function=None):
        """Returns what `run` calls: functions of the whole model and the head.

        Args:
            outputs: Symbolic tensor or list, what to compute of the model.
            function: Function of these outputs, to be returned instead.
        """
        outputs, ids = keras.tree.flatten(outputs), self._model.inputs[0]
        # A Keras model could not begin with tensors inside of another.
        whole = keras.Function([ids], outputs)
        head = self._mixes and keras.Function([ids, *self._mixes], outputs)

        def finish(found):
            return found if function is None else function(*found)

        def call_whole(ids):
            return finish(whole([ids]))

        def call_head(ids, numbers, *vectors):
            return finish(head([ids, *at_words(numbers, vectors)]))

        sizes = [(32, 8), (32, 8), *[(32,)] * len(self._mixes)]
        return (
            Compiled(call_whole, self._model, sizes[:1]),
            Compiled(call_head, self._model, sizes),
        )

    def run(self, functions, sentences, batch_size=None, verbose=None):
        """Runs the model on sentences of similar length together.

        Args:
            functions: What `compile` returns.
            sentences: List of lists of words. Empty ones are left out.
            batch_size: As for `Tagger.predict`, like `verbose`.

        Yields:
            A list of indices of `sentences`, and what the functions return for
            them, as arrays.
        """
        order = [i for i, sentence in enumerate(sentences) if sentence]
        order.sort(key=lambda i: len(sentences[i]))
        ordered = [sentences[i] for i in order]
        verbose = len(order) >= MANY if verbose is None else verbose
        verbose = int(verbose and shows_bars())
        bar = keras.utils.Progbar(
            len(order), verbose=verbose, unit_name="sentence"
        )
        whole, head = functions
        many = sum(map(len, ordered)) > FEW_WORDS
        if self._elmo is not None and (many or self._quantize):
            function, batches = head, self._head_batches(ordered, batch_size)
        else:
            function, batches = (
                whole,
                self._parts(list(map(len, ordered)), batch_size or SENTENCES),
            )
            batches = ((part, ()) for part in batches)
        for part, inputs in batches:
            ids = self._to_ids(ordered[part])
            yield order[part], call_with_arrays(function, ids, *inputs)
            bar.add(len(order[part]))

    def _head_batches(self, sentences, batch_size):
        """Yields slices of sentences, and the inputs of the head after ids."""
        done = 0
        for lengths, layers in self._packed.batches(sentences, ELMO_TOKENS):
            vectors = [mix_of(mix, layers) for mix in self._elmo.scalar_mixes]
            # Once, instead of for each batch of the head.
            vectors = [ops.convert_to_tensor(x) for x in vectors]
            starts = np.cumsum([1, *lengths[:-1]])
            for part in self._parts(lengths, batch_size):
                numbers = word_numbers(starts[part], lengths[part])
                batch = slice(done + part.start, done + part.stop)
                yield batch, (numbers, *vectors)
            done += len(lengths)

    def _parts(self, lengths, batch_size):
        """Yields slices of sentences for one batch.

        Args:
            lengths: List of the sentences' lengths, from the shortest.
            batch_size: The most sentences of a batch, or `None`.
        """
        start = 0
        for stop, length in enumerate(lengths):
            number = stop - start + 1
            fits = number <= (batch_size or number)
            if number > 1 and not (
                fits and number * length <= self._most_tokens
            ):
                yield slice(start, stop)
                start = stop
        if lengths:
            yield slice(start, len(lengths))


def find_elmo(ids, tags):
    """Finds the call of an `ElmoLayer` whose outputs can be computed apart.

    Args:
        ids: Symbolic tensor, the input of a model.
        tags: Symbolic tensor, its output.

    Returns:
        The layer, and the list of the symbolic tensors that it returned; or
        `None` and an empty list.
    """
    calls = {
        id(outputs[0]): (layer, given, outputs)
        for _, layer, given, _, outputs in calls_above(tags)
        if isinstance(layer, ElmoLayer)
    }
    if len(calls) != 1:
        return None, []
    ((elmo, given, outputs),) = calls.values()
    first, *others = given.values()
    can_be_apart = (
        first is ids
        and all(x is None or x is False for x in others)
        and type(elmo) is ElmoLayer
        and elmo.add_sentence_boundaries
        and not elmo.keep_sentence_boundaries
        and not elmo.return_all_layers
        and not any(mix.layer_norm for mix in elmo.scalar_mixes)
    )
    return (elmo, outputs) if can_be_apart else (None, [])


def word_numbers(starts, lengths):
    """Returns the number of each word of a batch, 0 at padding.

    Args:
        starts: Integer array, the number of the first word of each sentence.
        lengths: List of their lengths.

    Returns:
        int32 array `(batch, time)`.
    """
    steps = np.arange(max(lengths))
    is_word = steps < np.array(lengths)[:, None]  # (batch, time)
    return np.where(is_word, starts[:, None] + steps, 0).astype("int32")


def at_words(numbers, vectors):
    """Returns the vectors of words, at the places of the words.

    Args:
        numbers: Integer tensor `(batch, time)`, which vector the word has,
            counted from 1; 0 at padding.
        vectors: Tensors `(words, width)`.

    Returns:
        List of tensors `(batch, time, width)`, zero at padding.
    """
    is_word = ops.expand_dims(numbers > 0, -1)  # (batch, time, 1)
    rows = ops.maximum(numbers - 1, 0)
    return [ops.where(is_word, ops.take(x, rows, axis=0), 0.0) for x in vectors]
