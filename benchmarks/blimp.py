"""Tests a language model's grammar on BLiMP, 67,000 pairs of sentences.

    git clone https://github.com/alexwarstadt/blimp
    python benchmarks/blimp.py --data blimp/data --output blimp.json

BLiMP (Warstadt et al., 2020, https://arxiv.org/abs/1912.00582, CC BY 4.0) has
67 paradigms of 1,000 pairs. In each pair, one sentence is grammatical and the
other is not. A pair is right if the model finds the grammatical one more
probable. The results have these percentages for each paradigm, and their means
over the paradigms of a phenomenon and over all:

- forward: by the probability of the forward direction. Compare this with other
  models that read from left to right.
- sum: by the sum of both directions' log probabilities.
- known: the pairs in which every word is in the model's vocabulary. A word
  outside it counts as <UNK>, so some of the other pairs cannot be told apart.
- forward_known, sum_known: of these pairs. Null if there are none.

unknown_words is the percentage of all words outside the vocabulary.
"""

import json
import pathlib
import re
from statistics import mean

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import numpy as np
from program import begin_results
from program import make_parser
from program import write_results

import keras_elmo

MODELS = ["english_mini", "tests/english_tiny"]


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--data", required=True, help="folder with BLiMP's .jsonl files")
    add("--models", nargs="+", default=MODELS, help="presets or folders")
    add("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    paradigms = read_paradigms(arguments.data)
    load = keras_elmo.BidirectionalLanguageModel.from_preset
    models = {
        name: evaluate(load(name), paradigms) for name in arguments.models
    }
    write_results(arguments.output, begin_results(models=models))


def read_paradigms(folder):
    """Returns {paradigm: (phenomenon, sentences)}, right and wrong in turns."""
    paradigms = {}
    for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
        pairs = list(map(json.loads, path.read_text("utf-8").splitlines()))
        sentences = [
            tokenized(pair[key])
            for pair in pairs
            for key in ("sentence_good", "sentence_bad")
        ]
        paradigms[path.stem] = pairs[0]["linguistics_term"], sentences
    found = sum(len(sentences) for _, sentences in paradigms.values()) // 2
    if found != 67_000:
        raise SystemExit(f"{folder}: expected 67,000 pairs, not {found:,}")
    return paradigms


def tokenized(sentence):
    """Returns the words, split as in the models' training text."""
    return re.sub(r"(?<=\w)(n't|'s|'(?= )|[.?])", r" \1", sentence).split()


def evaluate(model, paradigms):
    """Returns a model's results, and prints them as they come."""
    vocabulary = set(model.words)
    found, unknown = {}, []
    for name, (phenomenon, sentences) in paradigms.items():
        is_unknown = [[w not in vocabulary for w in s] for s in sentences]
        unknown += (x for words in is_unknown for x in words)
        logs = model.log_probabilities(sentences)
        known = np.reshape([not any(x) for x in is_unknown], (-1, 2)).all(1)
        result = {"phenomenon": phenomenon, "known": percentage(known)}
        for score, values in (("forward", logs[:, 0]), ("sum", logs.sum(1))):
            is_right = values[0::2] > values[1::2]
            result[score] = percentage(is_right)
            result[f"{score}_known"] = percentage(is_right[known])
        found[name] = result
        print(f"{name}: {result['forward']:.1f}, {result['sum']:.1f}")
    phenomena = {
        phenomenon: means(r for r in found.values() if phenomenon in r.values())
        for phenomenon, _ in paradigms.values()
    }
    return {
        "unknown_words": percentage(unknown),
        "all": means(found.values()),
        "phenomena": phenomena,
        "paradigms": found,
    }


def percentage(values):
    return 100 * float(np.mean(values)) if len(values) else None


def means(results):
    """Returns the mean of each percentage, over the paradigms that have it."""
    results = list(results)
    return {
        name: mean(r[name] for r in results if r[name] is not None)
        for name in sorted(results[0].keys() - {"phenomenon"})
    }


if __name__ == "__main__":
    main()
