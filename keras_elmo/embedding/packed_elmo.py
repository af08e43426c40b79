"""All layers of ELMo for the words of many sentences, at the speed of a corpus.

Sentences are laid end to end in the rows of a batch, so that no padding is
computed, and each distinct word of a batch is encoded once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from keras_elmo.checks import check_choice
from keras_elmo.checks import needs_packages
from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.embedding.packing import pack_rows
from keras_elmo.layers.bilm_encoder import run_directions
from keras_elmo.layers.word_vectorization import vectorization_of
from keras_elmo.ops.backends import backend
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.compiled import call_with_arrays
from keras_elmo.ops.padding import vectors_at
from keras_elmo.text.word_lists import sentence_words

# Rows of a packed batch: enough to run recurrent steps at full speed.
MAX_ROWS = 192
# Words encoded at a time: enough to run matrix multiplies at full speed.
MAX_WORDS = 512


class PackedElmo:
    """Computes the layers of an `ElmoLayer` for the words of sentences.

    Args:
        elmo: A built `ElmoLayer` that adds the sentence boundaries.
        quantize: As for `ElmoEmbedder`.
    """

    def __init__(self, elmo, quantize=None):
        check_choice("quantize", quantize, QUANTIZATIONS)
        self.elmo = elmo
        self._indexer = vectorization_of(elmo.token_encoder).indexer
        self._token_function = Compiled(self._encode_ids, elmo, [(32,)])
        self._run_layers: Callable[..., Any]
        if quantize is None:
            sizes = [(32,), (32, 1), (32, 1), (32, 1), (32,)]
            self._run_layers = Compiled(self._encode_packed, elmo, sizes)
        else:
            with needs_packages('`quantize="int8"`', "onnx onnxruntime"):
                from keras_elmo.onnx.quantized_stacks import QuantizedStacks

            self._run_layers = QuantizedStacks(elmo.encoder)

    def batches(self, sentences, batch_tokens):
        """Yields batches of sentences, in order, with their layers.

        Args:
            sentences: Iterable of sentences, each a list of words. It is read
                one batch ahead.
            batch_tokens: As for `ElmoEmbedder`.

        Yields:
            The list of the sentences' lengths, and what a call returns.
        """
        batch: list[list[bytes]] = []
        num_tokens = 0
        for i, sentence in enumerate(sentences):
            words = sentence_words(sentence, i)
            if batch and num_tokens + len(words) + 2 > batch_tokens:
                yield list(map(len, batch)), self(batch)
                batch, num_tokens = [], 0
            batch.append(words)
            num_tokens += len(words) + 2
        if batch:
            yield list(map(len, batch)), self(batch)

    def __call__(self, sentences):
        """Runs ELMo on one batch.

        Args:
            sentences: List of lists of words.

        Returns:
            The list of `h_0`, ..., `h_L`: float32 tensors or arrays `(words,
            width)`, of the words of all sentences, one sentence after the
            other, and perhaps some rows after these.
        """
        lengths = np.array([len(sentence) for sentence in sentences])
        words = [word for sentence in sentences for word in sentence]
        table, indices = self._encode_words(words)
        begin, end, *words = indices
        packing = pack_rows(lengths + 1, MAX_ROWS)
        # The forward stack needs <S> and the words, the backward stack </S> and
        # the reversed words: no vector depends on the last boundary read.
        first = (packing.starts, packing.rows)
        starts, rows = (np.repeat(x, lengths) for x in first)
        position = _ranges(lengths)  # of each word in its sentence
        steps = [position + 1, np.repeat(lengths, lengths) - position]
        places = np.stack([words, *(starts + x for x in steps), rows], axis=1)

        shape = (packing.num_slots, packing.num_rows)
        slots = np.zeros((2, *shape), "int32")
        for x, step, boundary in zip(slots, steps, (begin, end)):
            x[first] = boundary
            x[starts + step, rows] = words
        carries_on = np.ones((*shape, 1), dtype="bool")
        carries_on[first] = False
        places = places.astype("int32")  # (words, 4)
        with backend().inference():
            return self._run_layers(table, *slots, carries_on, places)

    def _encode_words(self, words):
        """Encodes distinct words.

        Returns:
            The token encoder's vectors of distinct words, `(distinct, dim)`,
            and the index of `<S>`, of `</S>`, and of each word in these.
        """
        words = [*self._indexer.boundary_words, *map(self._indexer.crop, words)]
        # Words of similar length together, as the longest determines the work.
        distinct = sorted(dict.fromkeys(words), key=len)
        encoded = []
        for start in range(0, len(distinct), MAX_WORDS):
            part = distinct[start : start + MAX_WORDS]
            ids = self._indexer.ids_of_words(part)
            vectors = call_with_arrays(self._token_function, ids)
            encoded.append(vectors[: len(part)])
        index_of = dict(zip(distinct, range(len(distinct))))
        return np.concatenate(encoded), [*map(index_of.get, words)]

    def _encode_ids(self, ids):
        """Maps ids (words, *token_shape) to vectors (words, projection)."""
        return ops.cast(self.elmo.token_encoder(ids), "float32")

    def _encode_packed(self, table, forward, backward, carries_on, places):
        """Returns the layers of words; see `QuantizedStacks`."""
        encoder = self.elmo.encoder
        dtype = encoder.compute_dtype
        table = ops.cast(table, dtype)
        inputs = [ops.take(table, x, axis=0) for x in (forward, backward)]
        state = encoder.get_initial_state(ops.shape(forward)[1])
        stacks, _ = run_directions(encoder, inputs, state, carries_on)
        word, *steps, row = (places[:, i] for i in range(4))
        layers = [[ops.take(table, word, axis=0)] * 2]  # each (words, dim)
        layers += [
            [vectors_at(x, step, row) for x, step in zip(both, steps)]
            for both in stacks
        ]
        return [
            ops.cast(ops.concatenate(both, axis=-1), "float32")
            for both in layers
        ]  # each (words, width)


def mix_of(mix, layers):
    """Returns the mix of layers of words, `(words, width)`.

    Args:
        mix: A `ScalarMix` without `layer_norm`. Its weights are read now.
        layers: List of tensors or arrays `(words, width)`.
    """
    weights, gamma = mix.mix_weights
    factors = (gamma * weights).tolist()
    if sorted(factors) == [*[0] * (len(layers) - 1), 1]:  # One of the layers.
        return layers[factors.index(1)]
    return sum(factor * layer for factor, layer in zip(factors, layers))


def _ranges(lengths):
    """Returns 0, 1, ..., length - 1 for each length, concatenated."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
