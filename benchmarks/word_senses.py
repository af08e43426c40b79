"""Tells word senses apart by nearest neighbour, with each layer of ELMo.

    python benchmarks/word_senses.py --semcor DIR --tests DIR \\
        --sense-index FILE --output word_senses.json

As in section 5.3 of Peters et al. (2018), https://arxiv.org/abs/1802.05365: a
frozen layer's vectors are averaged for each sense in SemCor, and a word of the
test sets gets the sense of its lemma and part of speech whose average is
nearest (cosine). Lemmas that SemCor lacks get their first sense in WordNet.
"Look up" and the like have the mean of their words' vectors.

The controls are WordNet's first sense, SemCor's most frequent one, and layer 0,
which knows no context. As each word gets one sense, F1 is right / words. In the
results, only[a][b] counts the words that a gets right and b does not.

The data are not in this package:

- SemCor 3.0: the folder data/semcor3.0 of
  https://github.com/marcverhagen/semcor, under Princeton's WordNet licence.
- Five test sets, unified by Raganato et al. (https://aclanthology.org/E17-1010):
  the folder Evaluation_Datasets of https://github.com/HSLCY/GlossBERT, which is
  under the MIT licence. The sets name no other; their authors ask to be cited.
- index.sense: Debian's package wordnet-sense-index, WordNet licence.
"""

import collections
import pathlib
import re
from xml.etree import ElementTree

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import numpy as np
from program import begin_results
from program import make_parser
from program import write_results

import keras_elmo

# The parts of speech in a sense key, such as "bank%1:14:00::".
PARTS_OF_SPEECH = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}
# The models read quotation marks as in the English Web Treebank.
QUOTES = {"``": '"', "''": '"'}
# `spans` has (start, stop, meaning) for words[start:stop].
Sentence = collections.namedtuple("Sentence", "words spans")


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--semcor", required=True, help="folder with brown1, brown2, brownv")
    add("--tests", required=True, help="folder with ALL")
    add("--sense-index", required=True, help="WordNet's index.sense")
    add("--models", nargs="+", default=["english_mini"])
    add("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    semcor = read_semcor(arguments.semcor)
    tests, gold = read_tests(arguments.tests)
    first = read_first_senses(arguments.sense_index)
    counts = count_senses(semcor)
    lemmas = dict(meaning for s in tests for *_, meaning in s.spans)
    first_senses = {word: first[lemma] for word, lemma in lemmas.items()}
    frequent = {
        word: max(counts[lemma], key=counts[lemma].get)
        for word, lemma in lemmas.items()
        if lemma in counts
    }
    answers = {
        "first sense": first_senses,
        "most frequent sense": {**first_senses, **frequent},
    }
    for model in arguments.models:
        embedder = keras_elmo.ElmoEmbedder.from_preset(model)
        for layer, keys in answer(embedder, semcor, tests, first).items():
            answers[f"{model}, {layer}"] = keys
    right = {
        name: {word for word in gold if keys[word] in gold[word]}
        for name, keys in answers.items()
    }
    results = begin_results(
        tagged=sum(counter.total() for counter in counts.values()),
        senses=sum(map(len, counts.values())),
        words=count_by_set(gold),
        words_in_semcor=count_by_set(frequent),
        right={name: count_by_set(found) for name, found in right.items()},
        only={a: {b: len(right[a] - right[b]) for b in right} for a in right},
    )
    write_results(arguments.output, results)


def lemma_of(key):
    """Returns the lemma and the part of speech of a sense key."""
    lemma, numbers = key.split("%")
    return lemma, PARTS_OF_SPEECH[numbers[0]]


def read_semcor(folder):
    """Returns sentences; a span's meaning is a list of sense keys."""
    sentences = []
    for path in sorted(pathlib.Path(folder).glob("brown*/tagfiles/*")):
        for text in path.read_text("utf-8").split("<s ")[1:]:
            sentences.append(Sentence([], []))
            for tag, word in re.findall(r"<(?:wf|punc)(.*?)>(.*)</", text):
                found = dict(re.findall(r"(\w+)=(\S+)", tag))
                # Sense 0 is not in WordNet 3.0, nor are marks such as "(a)".
                numbers = found.get("wnsn", "0").split(";")
                senses = re.sub(r"\(\w+\)", "", found.get("lexsn", ""))
                keys = [
                    f"{found['lemma']}%{sense}"
                    for number, sense in zip(numbers, senses.split(";"))
                    if number != "0"
                ]
                extend(sentences[-1], word.split("_"), keys)
    return sentences


def read_tests(folder):
    """Returns sentences, and {id: the right sense keys}.

    A span's meaning is its id, and its lemma with the part of speech.
    """
    path = pathlib.Path(folder, "ALL")
    sentences = []
    for element in ElementTree.parse(path / "ALL.data.xml").iter("sentence"):
        sentences.append(Sentence([], []))
        for word in element:
            lemma = (word.get("lemma"), word.get("pos"))
            meaning = "id" in word.attrib and (word.get("id"), lemma)
            extend(sentences[-1], word.text.split(), meaning)
    lines = (path / "ALL.gold.key.txt").read_text("utf-8").splitlines()
    return sentences, {word: keys for word, *keys in map(str.split, lines)}


def extend(sentence, words, meaning):
    """Adds words to a sentence, and their span if they have a meaning."""
    start = len(sentence.words)
    sentence.words.extend(QUOTES.get(word, word) for word in words if word)
    if meaning:
        sentence.spans.append((start, len(sentence.words), meaning))


def read_first_senses(path):
    """Returns {lemma and part of speech: the key of WordNet's sense 1}."""
    lines = map(str.split, pathlib.Path(path).read_text("utf-8").splitlines())
    return {lemma_of(key): key for key, _, number, _ in lines if number == "1"}


def count_senses(semcor):
    """Returns {lemma and part of speech: Counter of its sense keys}."""
    counts = collections.defaultdict(collections.Counter)
    for key in (k for s in semcor for *_, keys in s.spans for k in keys):
        counts[lemma_of(key)][key] += 1
    return counts


def embed_spans(embedder, sentences):
    """Yields meanings and vectors of all layers and, last, their average."""
    vectors = embedder.embed_sentences(s.words for s in sentences)
    for sentence, layers in zip(sentences, vectors):
        for start, stop, meaning in sentence.spans:
            span = layers[:, start:stop].mean(1)
            yield meaning, np.concatenate([span, span.mean(0, keepdims=True)])


def sum_by_sense(embedder, semcor):
    """Returns {lemma and part of speech: {sense key: sum of its vectors}}."""
    sums = collections.defaultdict(dict)
    for keys, vectors in embed_spans(embedder, semcor):
        for key in keys:
            senses = sums[lemma_of(key)]
            senses[key] = senses.get(key, 0) + vectors
    return sums


def answer(embedder, semcor, tests, first):
    """Returns {layer: {id: sense key}}."""
    sums = sum_by_sense(embedder, semcor)
    answers = collections.defaultdict(dict)
    for (word, lemma), vectors in embed_spans(embedder, tests):
        senses = sums.get(lemma, {first[lemma]: vectors})
        directions = np.stack(list(senses.values()))
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        cosines = np.einsum("slw,lw->ls", directions, vectors)
        names = [f"layer {i}" for i in range(len(vectors) - 1)]
        for name, row in zip([*names, "average"], cosines):
            answers[name][word] = list(senses)[row.argmax()]
    return answers


def count_by_set(words):
    """Returns {test set: how many of the words are in it}, with ALL."""
    sets = sorted(word.split(".")[0] for word in words)
    return {**collections.Counter(sets), "ALL": len(words)}


if __name__ == "__main__":
    main()
