"""The sentences to measure, and the minimum work that they require."""

import json
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# Bytes per weight.
BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}


def read_sentences(path):
    """Reads a CoNLL-U file, or a file with one sentence per line."""
    from keras_elmo.text import read_corpus

    return [s.tokens for s in read_corpus(path) if s.tokens]


def sentence_of(num_words, sentences):
    """Returns the first sentence of `num_words`, or the first `num_words`."""
    for sentence in sentences:
        if len(sentence) == num_words:
            return sentence
    return [word for sentence in sentences for word in sentence][:num_words]


def split_batches(sentences, batch_size):
    """Returns batches in file order; only one if `batch_size` is `None`."""
    step = batch_size or len(sentences)
    return [sentences[i : i + step] for i in range(0, len(sentences), step)]


def count_tokens(sentences):
    return sum(map(len, sentences))


class Work:
    """The minimum work that a biLM requires.

    Args:
        folder: Path of the folder with its `options.json`.
    """

    def __init__(self, folder):
        path = pathlib.Path(folder, "options.json")
        options = json.loads(path.read_text(encoding="utf-8"))
        lstm, self._cnn = options["lstm"], options["char_cnn"]
        self.units = lstm["dim"]
        self.projection_dim = lstm["projection_dim"]
        self._cells = 2 * lstm["n_layers"]  # Two directions.

    def flops(self, sentences):
        """FLOPs if each distinct token is encoded once, without padding."""
        distinct = {word for sentence in sentences for word in sentence}
        num_words = len(distinct | {"<S>", "</S>"})
        num_tokens = count_tokens(sentences) + 2 * len(sentences)
        gates = 2 * self.projection_dim * 4 * self.units
        projection = 2 * self.units * self.projection_dim
        of_token = self._cells * (2 * gates + projection)
        return num_words * self._flops_of_word() + num_tokens * of_token

    def _flops_of_word(self):
        dim = self._cnn["embedding"]["dim"]
        characters = self._cnn["max_characters_per_token"]
        filters = self._cnn["filters"]
        convolutions = sum(
            2 * width * dim * number * (characters - width + 1)
            for width, number in filters
        )
        total = sum(number for _, number in filters)
        highways = self._cnn.get("n_highway", 0) * 4 * total**2
        return convolutions + highways + 2 * total * self.projection_dim

    def bytes_read(self, sentence, precision):
        """Bytes of the biLM's weights that one sentence must read.

        The recurrent and projection kernels are read at each step, the input
        kernels once.
        """
        kernel = self.projection_dim * 4 * self.units
        at_each_step = kernel + self.units * self.projection_dim
        num_weights = kernel + (len(sentence) + 2) * at_each_step
        return self._cells * num_weights * BYTES[precision]
