"""Batches of sentences of similar length, and precomputed layers for them."""

import hashlib
import os

import numpy as np
import tensorflow as tf

import keras_elmo
from keras_elmo.files.atomic import write_atomically

# Sentences are sorted by length within this many batches.
_POOL = 50


class Batches:
    """Makes padded batches of sentences, the same ones for the same seed.

    Args:
        sentences: List of lists of words.
        vectorization: A layer that maps words to the model's ids, such as
            `keras_elmo.WordVectorization()`.
        batch_size: Integer, sentences per batch.
        layers: List of arrays `(layers, words, width)`, one per sentence: the
            precomputed layers of the biLM; or `None`.
        tags: List of lists of tag indices, or `None`.
        seed: Integer, for the order of the sentences.
    """

    def __init__(
        self,
        sentences,
        vectorization,
        batch_size=32,
        layers=None,
        tags=None,
        seed=0,
    ):
        self.sentences = sentences
        self.batch_size = batch_size
        self._vectorization = vectorization
        self._layers = layers
        self._tags = tags
        self._lengths = np.array([len(words) for words in sentences])
        self._generator = np.random.default_rng(seed)

    def __len__(self):
        return -(-len(self.sentences) // self.batch_size)

    def in_order(self):
        """Yields sentence indices and model inputs, sorted by length."""
        order = np.argsort(self._lengths, kind="stable")
        for numbers in self._cut(order):
            yield numbers, self._inputs(numbers)

    def dataset(self):
        """Returns an endless, shuffled `tf.data.Dataset` of (inputs, tags)."""
        first = next(self._shuffled())
        signature = tf.nest.map_structure(_any_size, first)
        # Not prefetched: that thread may wait for the GIL while Python waits
        # for the thread to end.
        return tf.data.Dataset.from_generator(
            self._shuffled, output_signature=signature
        )

    def _shuffled(self):
        while True:
            order = self._generator.permutation(len(self.sentences))
            pool = _POOL * self.batch_size
            batches = []
            for start in range(0, len(order), pool):
                some = order[start : start + pool]
                some = some[np.argsort(self._lengths[some], kind="stable")]
                batches.extend(self._cut(some))
            self._generator.shuffle(batches)
            for numbers in batches:
                tags = [self._tags[i] for i in numbers]
                yield self._inputs(numbers), _padded(tags)

    def _cut(self, order):
        size = self.batch_size
        return [order[i : i + size] for i in range(0, len(order), size)]

    def _inputs(self, numbers):
        words = [self.sentences[i] for i in numbers]
        ids = self._vectorization.batch_to_ids(words)  # (batch, time, chars)
        if self._layers is None:
            return ids
        chosen = [self._layers[i] for i in numbers]
        num_layers, _, size = chosen[0].shape
        layers = np.zeros((num_layers, *ids.shape[:2], size), "float32")
        for i, vectors in enumerate(chosen):
            layers[:, i, : vectors.shape[1]] = vectors
        return (ids, *layers)


def _padded(tags):
    """Returns tags (batch, time), -1 at padding."""
    time = max(len(row) for row in tags)
    padded = np.full((len(tags), time), -1, "int32")
    for row, values in zip(padded, tags):
        row[: len(values)] = values
    return padded


def _any_size(array):
    """Returns the spec of an array with variable batch and time."""
    return tf.TensorSpec((None, None, *array.shape[2:]), array.dtype)


def predict_tags(tagger, batches):
    """Returns the tag indices of each sentence, in the order of the sentences.

    Args:
        tagger: Model from the inputs in the batches to tags `(batch, time)`.
        batches: A `Batches`.
    """
    found = [None] * len(batches.sentences)
    for numbers, inputs in batches.in_order():
        tags = np.asarray(tagger.predict_on_batch(inputs))
        for i, row in zip(numbers, tags):
            found[i] = row[: len(batches.sentences[i])].tolist()
    return found


def compute_layers(bilm, sentences, folder=None):
    """Runs a frozen biLM over sentences once.

    Training on the result is equivalent to training with the biLM, because the
    weights of the mix are learned from the layers.

    Args:
        bilm: An `ElmoLayer`.
        sentences: List of lists of words.
        folder: Path of a folder to store the result in. An existing result is
            reused. Processes that use it at the same time share the memory.

    Returns:
        A list of float32 arrays `(layers, words, width)`, one per sentence.
    """
    embedder = keras_elmo.ElmoEmbedder(bilm)
    if folder is None:
        return embedder.embed_batch(sentences)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{_fingerprint(bilm, sentences)}.npy")
    if not os.path.exists(path):
        layers = np.concatenate(embedder.embed_batch(sentences), axis=1)
        write_atomically(path, lambda temporary: _save(temporary, layers))
    layers = np.load(path, mmap_mode="r")  # (layers, all words, width)
    ends = np.cumsum([len(words) for words in sentences])
    return np.split(layers, ends[:-1], axis=1)


def _save(path, array):
    with open(path, "wb") as file:
        np.save(file, array)


def _fingerprint(bilm, sentences):
    """Returns a hash that identifies the biLM and the sentences."""
    digest = hashlib.sha256()
    for weight in bilm.get_weights():
        digest.update(np.ascontiguousarray(weight))
    digest.update(repr(bilm.encoder.get_config()).encode())
    for words in sentences:
        digest.update("\0".join(words).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()[:24]
