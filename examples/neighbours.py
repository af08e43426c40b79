"""Shows which words each layer of a biLM places close to each other.

    python examples/neighbours.py --model MODEL --text TEXT

Layer 0 sees only a word's characters: every "play" in a text has the same
vector there, and its nearest neighbours are words with a similar spelling, even
if the word was never seen in training. The higher layers also see the sentence:
a play in a theatre has other neighbours than children who play, as in table 4
of the ELMo paper (Peters et al., 2018). A small model relies on grammar and the
adjacent words; the paper's model also relies on the topic.

Each source sentence contains a word in one of its senses. The program shows the
words in context nearest to it, at most one per sentence. They may be any words,
as in the paper. This is the strictest test, because the same word in the same
sense should come before all others. With --same-word, only other occurrences of
the word are shown.
"""

import argparse
import collections
import heapq
import random
import sys
import textwrap

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import numpy as np
from keras import ops

import keras_elmo
from keras_elmo.text import read_corpus

# The adjacent words show the sense in these, which a small model needs.
SOURCES = [
    "The children like to play in the garden .",
    "In the evening we went to the play .",
    "They sat on the bank of the river .",
    "She has a savings bank account .",
    "It was a warm day in the spring .",
    "They spring to their feet .",
]
INVENTED = ["unfriendliest", "Brexiteers", "McDonaldsburg", "re-spellable"]
MOST_SPELLINGS = 30_000


def main():
    arguments, sources = parse_arguments()
    print("Reading the text", flush=True)
    sentences, counts = choose_sentences(arguments)
    print(f"Chose {len(sentences):,} sentences of {counts.total():,} words")
    for word in arguments.words:
        if not any(word in sentence for sentence in sentences):
            sys.exit(f"None of the sentences has the word '{word}'.")
    elmo = keras_elmo.ElmoLayer.from_preset(arguments.model)

    print("\n== Layer 0, the characters: nearest words of the text")
    words = [*arguments.words, *arguments.invented]
    for word, nearest in zip(words, nearest_spellings(elmo, words, counts)):
        shown = [f"{other} {x:.2f}" for x, other in nearest[: arguments.top]]
        print(f"{word} ({counts[word]:,} times): {', '.join(shown)}")

    print("\n== The layers above: nearest words in context", flush=True)
    search = Search(elmo, sources, sentences, arguments.same_word)
    for i, source in enumerate(sources):
        print("\n{} [{}] {}".format(*cut(*source, 60)))
        for layer in range(1, search.num_layers):
            for x, *found in search.nearest(layer, i, arguments.top):
                left, word, right = cut(*found, 34)
                print(f"  {layer}  {x:.3f}  {left:>34} [{word}] {right}")


def parse_arguments():
    """Returns the arguments, and the sources: (sentence, index of the word)."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--model", default="english_mini", help="preset or folder")
    add("--text", nargs="+", required=True, help="files with one tokenised "
        "sentence per line")  # fmt: skip
    add("--words", nargs="+", default=["play", "bank", "spring"])
    add("--source", action="append", help="sentence with a word; repeatable")
    add("--invented", nargs="*", default=INVENTED, help="words for layer 0")
    add("--sentences", type=int, default=3000, help="how many to embed")
    add("--same-word", action="store_true", help="show only the word itself")
    add("--top", type=int, default=5, help="neighbours to show")
    arguments = parser.parse_args()
    split = [sentence.split() for sentence in arguments.source or SOURCES]
    sources = []
    for word in arguments.words:
        of_word = [(s, s.index(word)) for s in split if word in s]
        if not of_word:
            parser.error(f"'{word}' is in no --source sentence")
        sources += of_word
    return arguments, sources


def choose_sentences(arguments):
    """Samples sentences at random, preferring those with the given words.

    Returns them without duplicates, and the count of each word of the text.
    """
    words = set(arguments.words)
    draws = random.Random(0)
    counts = collections.Counter()

    def read():
        for path in arguments.text:
            for sentence in read_corpus(path):
                counts.update(sentence.tokens)
                yield tuple(sentence.tokens)

    chosen = heapq.nlargest(
        arguments.sentences,
        read(),
        key=lambda sentence: (not words.isdisjoint(sentence), draws.random()),
    )
    return [list(s) for s in dict.fromkeys(chosen) if s], counts


def nearest_spellings(elmo, words, counts):
    """Yields (cosine, other word) pairs for each word, nearest first."""

    def encode(words):
        encoder = elmo.token_encoder
        ids = keras_elmo.batch_to_ids([words], encoder.max_characters_per_token)
        return unit(ops.convert_to_numpy(encoder(ids))[0])

    known = [word for word, _ in counts.most_common(MOST_SPELLINGS)]
    vectors = np.concatenate(
        [encode(known[i : i + 1000]) for i in range(0, len(known), 1000)]
    )
    for word, cosines in zip(words, encode(words) @ vectors.T):
        order = np.argsort(-cosines)[:1000]
        yield [(cosines[i], known[i]) for i in order if known[i] != word]


class Search:
    """Finds the words in context that are nearest to those of the sources.

    `vectors` are those of the sources, (layers, sources, width).
    """

    def __init__(self, elmo, sources, sentences, same_word):
        self.sources, self.sentences = sources, sentences
        embedder = keras_elmo.ElmoEmbedder(elmo, batch_tokens=4096)
        embedded = [embedder.embed_sentence(s)[:, k] for s, k in sources]
        self.vectors = unit(np.stack(embedded, axis=1))
        self.num_layers = len(self.vectors)
        self.best = []  # (layers, sources) for each sentence
        self.places = []
        for vectors in embedder.embed_sentences(sentences):
            if len(self.best) % 500 == 0:
                print(f"  {len(self.best):,} of {len(sentences):,}", flush=True)
            self.compare(sentences[len(self.best)], unit(vectors), same_word)

    def compare(self, sentence, vectors, same_word):
        cosines = vectors @ self.vectors.swapaxes(1, 2)
        words = np.array(sentence)
        for i, (source, k) in enumerate(self.sources):
            if sentence == source:
                cosines[:, :, i] = -np.inf
            elif same_word:
                cosines[:, words != source[k], i] = -np.inf
        self.best.append(cosines.max(1))
        self.places.append(cosines.argmax(1))

    def nearest(self, layer, i, top):
        """Returns (cosine, sentence, index) of a source's neighbours."""
        cosines = np.array([best[layer, i] for best in self.best])
        return [
            (cosines[n], self.sentences[n], self.places[n][layer, i])
            for n in np.argsort(-cosines)[:top]
            if np.isfinite(cosines[n])
        ]


def unit(vectors):
    """Scales vectors to length 1: their dot products are cosines."""
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cut(sentence, place, room):
    """Returns the text left of a word, the word, and the text right of it."""
    left = " ".join(sentence[:place])[::-1]
    right = " ".join(sentence[place + 1 :])
    left = textwrap.shorten(left, room, placeholder=" …")[::-1]
    right = textwrap.shorten(right, room, placeholder=" …")
    return left, sentence[place], right


if __name__ == "__main__":
    main()
