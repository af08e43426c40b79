"""A corpus, an embedder without a model, and checks of its output."""

import json
import pathlib
import zlib

import h5py
import numpy as np

from keras_elmo.embedding.corpus_job import embed_corpus
from keras_elmo.text.corpora import Sentence

SETTINGS = {"model": "small", "layers": [0, 2]}


def make_sentences(number=40):
    texts = [" ".join(f"w{i}.{j}" for j in range(i % 6)) for i in range(number)]
    return [Sentence(f" {text}", text.split()) for text in texts]


def vectors_of(tokens):
    """Returns (2, tokens, 4) vectors that depend on all tokens."""
    start = zlib.crc32(json.dumps(tokens).encode()) % 1000
    values = np.arange(start, start + 8 * len(tokens), dtype="float32")
    return values.reshape(2, len(tokens), 4)


class Embedder:
    """Reads a few sentences ahead, and counts them."""

    def __init__(self, ahead=3):
        self.ahead = ahead
        self.num_read = 0

    def __call__(self, sentences):
        batch = []
        for tokens in sentences:
            self.num_read += 1
            batch.append(tokens)
            if len(batch) == self.ahead:
                yield from map(vectors_of, batch)
                batch.clear()
        yield from map(vectors_of, batch)


def run(output, sentences=None, embed=None, **kwargs):
    """Embeds the corpus, and saves what is done every few sentences."""
    return embed_corpus(
        make_sentences() if sentences is None else sentences,
        embed or Embedder(),
        output,
        **{"settings": SETTINGS, "save_tokens": 14, **kwargs},
    )


def read(path):
    """Returns the arrays in the order of their keys, and all text."""
    is_npz = path.suffix == ".npz"
    with np.load(path) if is_npz else h5py.File(path) as file:
        if is_npz:
            texts = json.loads(file["sentences"].tobytes())
        else:
            texts = json.loads(file["sentence_to_index"][0])
        arrays = [file[str(i)][...] for i in range(len(file) - 1)]
        return arrays, texts


def check(path, sentences=None):
    """Asserts that a file is complete and correct."""
    sentences = make_sentences() if sentences is None else sentences
    arrays, texts = read(path)
    assert len(arrays) == len(sentences)
    for array, sentence in zip(arrays, sentences):
        np.testing.assert_array_equal(array, vectors_of(sentence.tokens))
    expected = [sentence.text for sentence in sentences]
    if path.suffix == ".hdf5":
        expected = {text: str(i) for i, text in enumerate(expected)}
    assert texts == expected


def num_finished(output):
    """Returns the number of sentences that an unfinished job keeps."""
    path = pathlib.Path(f"{output}.parts/job.json")
    return json.loads(path.read_text())["finished"][0] if path.exists() else 0
