"""A frozen biLM's layers of all sentences, computed once.

Training on them gives what training with the biLM gives: it is frozen, and how
its layers are mixed is learned from the layers themselves.
"""

import hashlib
import os

import numpy as np

import keras_elmo
from keras_elmo.formats.atomic import write_atomically


def compute_layers(bilm, sentences, folder=None):
    """Runs the biLM over sentences.

    Args:
        bilm: An `ElmoLayer`.
        sentences: List of lists of words.
        folder: Path of a folder to keep the result in, and to take it from if
            it is there. Processes that use it at a time share the memory.

    Returns:
        A list of float32 arrays `(layers, words, width)`, one a sentence.
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
    """Tells biLMs, and sentences, from one another."""
    digest = hashlib.sha256()
    for weight in bilm.get_weights():
        digest.update(np.ascontiguousarray(weight))
    digest.update(repr(bilm.encoder.get_config()).encode())
    for words in sentences:
        digest.update("\0".join(words).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()[:24]
