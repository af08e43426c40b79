"""Tagged sentences, the layers of a biLM for them, and batches of both."""

import collections
import hashlib
import os
from typing import NamedTuple

import numpy as np
import tensorflow as tf

import keras_elmo
from keras_elmo.text import read_conll

CHARACTERS = 20
PADDING_CHARACTER = 261
# Sentences are sorted by length within this many batches.
_POOL = 50


class Sentence(NamedTuple):
    """A tagged sentence."""

    words: list[str]
    tags: list[str]


def read_tagged(path):
    """Reads a file of tagged sentences, as `read_conll` does."""
    return [Sentence(*pair) for pair in zip(*read_conll(path))]


def compute_layers(preset, sentences, folder):
    """Runs a frozen biLM over sentences once.

    Training on the result is equivalent to training with the biLM, because the
    weights of the mix are learned from the layers.

    Args:
        preset: Name or folder of a preset.
        sentences: List of `Sentence`.
        folder: Path of a folder to store the result in. An existing result is
            reused. Processes that use it at the same time share the memory.

    Returns:
        A list of float32 arrays `(layers, words, width)`, one per sentence.
    """
    elmo = keras_elmo.ElmoLayer.from_preset(preset)
    digest = hashlib.sha256()
    for weight in elmo.get_weights():
        digest.update(np.ascontiguousarray(weight))
    for sentence in sentences:
        digest.update("\0".join([*sentence.words, "\n"]).encode())
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/{digest.hexdigest()[:24]}.npy"
    if not os.path.exists(path):
        embedder = keras_elmo.ElmoEmbedder(elmo)
        layers = embedder.embed_batch([s.words for s in sentences])
        np.save(f"{path}.{os.getpid()}.npy", np.concatenate(layers, axis=1))
        os.replace(f"{path}.{os.getpid()}.npy", path)
    layers = np.load(path, mmap_mode="r")  # (layers, all words, width)
    ends = np.cumsum([len(sentence.words) for sentence in sentences])
    return np.split(layers, ends[:-1], axis=1)


def frequent_words(sentences, min_count=2):
    """Returns the numbers of lower-cased words, from 2.

    Rarer words share the number 1, and so the vector of unknown words, which is
    trained on them. 0 is padding.
    """
    counts = collections.Counter(w.lower() for s in sentences for w in s.words)
    words = [word for word, n in counts.most_common() if n >= min_count]
    return {word: number for number, word in enumerate(words, start=2)}


class Batches:
    """Makes padded batches of sentences, the same ones for the same seed.

    The inputs are `words`, numbers `(batch, time)`; `characters`, the ids of
    the distinct words `(distinct, 20)`; `places`, the rows of `characters` that
    are the words `(batch, time)`; and `layer_0` etc. `(batch, time, width)`.

    Args:
        sentences: List of `Sentence`.
        layers: List of arrays as from `compute_layers`, or `None`.
        numbers: The result of `frequent_words`.
        tag_names: List of strings, the tags.
        batch_size: Integer, sentences per batch.
        seed: Integer, for the order of the sentences.
    """

    def __init__(self, sentences, layers, numbers, tag_names, batch_size, seed):
        self.sentences = sentences
        self._layers = layers
        self._numbers = numbers
        self._tag_names = tag_names
        self._size = batch_size
        self._lengths = np.array([len(s.words) for s in sentences])
        self._generator = np.random.default_rng(seed)

    def __len__(self):
        return -(-len(self.sentences) // self._size)

    def in_order(self):
        """Yields sentence indices and model inputs, sorted by length."""
        for chosen in self._cut(np.argsort(self._lengths, kind="stable")):
            yield chosen, self._inputs(chosen)

    def dataset(self):
        """Returns an endless, shuffled `tf.data.Dataset` of (inputs, tags)."""
        signature = tf.nest.map_structure(
            lambda x: tf.TensorSpec((None, None, *x.shape[2:]), x.dtype),
            next(self._shuffled()),
        )
        # Not prefetched: that thread may wait for the GIL while Python waits
        # for the thread to end.
        return tf.data.Dataset.from_generator(
            self._shuffled, output_signature=signature
        )

    def _shuffled(self):
        while True:
            order = self._generator.permutation(len(self.sentences))
            pool = _POOL * self._size
            batches = []
            for start in range(0, len(order), pool):
                some = order[start : start + pool]
                some = some[np.argsort(self._lengths[some], kind="stable")]
                batches.extend(self._cut(some))
            self._generator.shuffle(batches)
            for chosen in batches:
                tags = [
                    [self._tag_names.index(tag) for tag in s.tags]
                    for s in self._of(chosen)
                ]
                yield self._inputs(chosen), _padded(tags, -1)

    def _cut(self, order):
        size = self._size
        return [order[i : i + size] for i in range(0, len(order), size)]

    def _of(self, chosen):
        return [self.sentences[i] for i in chosen]

    def _inputs(self, chosen):
        words = [sentence.words for sentence in self._of(chosen)]
        known = self._numbers
        numbers = [[known.get(w.lower(), 1) for w in row] for row in words]
        every = dict.fromkeys(word for row in words for word in row)
        distinct = {word: i for i, word in enumerate(every)}
        ids = keras_elmo.batch_to_ids([[*distinct]])[0][:, :CHARACTERS]
        inputs = {
            "words": _padded(numbers),
            "characters": np.where(ids == PADDING_CHARACTER, 0, ids),
            "places": _padded([[distinct[w] for w in row] for row in words]),
        }
        if self._layers is not None:
            arrays = [self._layers[i] for i in chosen]
            layers = np.zeros(
                (len(arrays[0]), *inputs["words"].shape, arrays[0].shape[-1]),
                "float32",
            )
            for i, vectors in enumerate(arrays):
                layers[:, i, : vectors.shape[1]] = vectors
            inputs |= {f"layer_{k}": layer for k, layer in enumerate(layers)}
        return inputs


def _padded(rows, padding=0):
    """Returns rows of integers as an array `(rows, time)`."""
    padded = np.full((len(rows), max(map(len, rows))), padding, "int32")
    for array, values in zip(padded, rows):
        array[: len(values)] = values
    return padded
