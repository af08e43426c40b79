"""The sentences to measure, and the minimum work that they require."""

import json
import os
import pathlib
import random

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# Bytes per weight.
BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}


def read_sentences(path):
    """Reads a CoNLL-U file, or a file with one sentence per line."""
    from keras_elmo.text import read_corpus  # Imports Keras.

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


class Synthetic:
    """Sentences of words drawn from a text; the same in every run."""

    def __init__(self, sentences):
        self._words = [word for sentence in sentences for word in sentence]
        self._lengths = [len(sentence) for sentence in sentences]
        self.num_distinct = len(set(self._words))

    def of_length(self, length, num_tokens):
        """Sentences of one length, with the word frequencies of the text."""
        count = num_tokens // length
        words = random.Random(0).choices(self._words, k=count * length)
        return _cut(words, [length] * count)

    def like_text(self, num_tokens):
        """Sentences with the lengths and word frequencies of the text."""
        generator = random.Random(0)
        words = generator.choices(self._words, k=num_tokens)
        return self._cut_like_text(words, generator)

    def of_distinct_words(self, num_distinct, num_tokens):
        """Sentences with the lengths of the text, of `num_distinct` words."""
        generator = random.Random(0)
        distinct = generator.sample(sorted(set(self._words)), num_distinct)
        more = generator.choices(distinct, k=num_tokens - num_distinct)
        words = distinct + more
        generator.shuffle(words)
        return self._cut_like_text(words, generator)

    def _cut_like_text(self, words, generator):
        lengths = generator.choices(self._lengths, k=len(words))
        return _cut(words, lengths)


def _cut(words, lengths):
    sentences = []
    for length in lengths:
        if not words:
            break
        sentences.append(words[:length])
        words = words[length:]
    return sentences


class Model:
    """The sizes of a biLM, and the minimum work that it requires."""

    def __init__(self, folder):
        path = pathlib.Path(folder, "options.json")
        options = json.loads(path.read_text(encoding="utf-8"))
        lstm, char_cnn = options["lstm"], options["char_cnn"]
        self.units = lstm["dim"]
        self.projection_dim = lstm["projection_dim"]
        self.num_cells = 2 * lstm["n_layers"]  # Two directions.
        self.char_dim = char_cnn["embedding"]["dim"]
        self.filters = char_cnn["filters"]
        self.num_highways = char_cnn.get("n_highway", 0)
        self.num_characters = char_cnn["max_characters_per_token"]

    def flops_of_token(self):
        """FLOPs of the biLM for each token of a sentence and each boundary."""
        gates = 2 * self.projection_dim * 4 * self.units
        projection = 2 * self.units * self.projection_dim
        return self.num_cells * (2 * gates + projection)

    def flops_of_word(self):
        """FLOPs of the token encoder for each distinct token."""
        convolutions = sum(
            2 * width * self.char_dim * n * (self.num_characters - width + 1)
            for width, n in self.filters
        )
        total = sum(n for _, n in self.filters)
        highways = self.num_highways * 4 * total**2
        projection = 2 * total * self.projection_dim
        return convolutions + highways + projection

    def flops(self, sentences):
        """FLOPs if each distinct token is encoded once, without padding."""
        distinct = {word for sentence in sentences for word in sentence}
        num_words = len(distinct | {"<S>", "</S>"})
        num_tokens = count_tokens(sentences) + 2 * len(sentences)
        return (
            num_words * self.flops_of_word()
            + num_tokens * self.flops_of_token()
        )

    def bytes_read(self, sentence, precision):
        """Bytes of the biLM's weights that one sentence must read.

        The recurrent and projection kernels are read at each step, the input
        kernels once.
        """
        kernel = self.projection_dim * 4 * self.units
        at_each_step = kernel + self.units * self.projection_dim
        num_weights = kernel + (len(sentence) + 2) * at_each_step
        return self.num_cells * num_weights * BYTES[precision]

    def describe(self):
        return {
            "units": self.units,
            "projection_dim": self.projection_dim,
            "num_layers": self.num_cells // 2,
            "num_highways": self.num_highways,
            "flops_of_token": self.flops_of_token(),
            "flops_of_word": self.flops_of_word(),
        }
