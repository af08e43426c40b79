"""Scores a tagger of names, and the probabilities of its entities.

    python benchmarks/tagging/probabilities.py names \\
        docs/results/names_probabilities.json --model english_names \\
        --training docs/results/english_names.json --spacy en_core_web_sm

The first folder has the data sets that names_data.py lists. For each test file,
the results are

- precision, recall and F1 of each type, also those of a model of spaCy;
- the reliability of the probabilities: for ten equal intervals, the mean
  probability of the entities found and the share of them that is right; with
  the scores as they are, and as they were before `Tagger.train` divided them;
- for each threshold, the precision and recall of entities and of masked words:
  words of entities, whatever their type.

Last, it measures the time of `predict` and of `predict_entities`, in turns.
"""

import pathlib
import statistics
import sys
import time

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import json

import numpy as np

import keras_elmo
from keras_elmo.tagging.calibration import divide_scores
from keras_elmo.tagging.scores import score_tags

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from names_data import read_tests
from program import begin_results
from program import make_parser
from program import write_results

THRESHOLDS = [None, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
BINS = 10
ROUNDS = 7
# What spaCy's English models call them.
SPACY = {
    "PERSON": "PER",
    "GPE": "LOC",
    "LOC": "LOC",
    "FAC": "LOC",
    "ORG": "ORG",
}


def main(argv=None):
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("data", type=pathlib.Path, help="folder of the data sets")
    add("results", help="JSON file to write")
    add("--model", default="english_names", help="what Tagger.load takes")
    add("--training", help="JSON file of english_names.py: the temperature")
    add("--spacy", help="also score this model of spaCy")
    options = parser.parse_args(argv)
    tagger = keras_elmo.Tagger.load(options.model)
    temperature = 1.0
    if options.training:
        training = pathlib.Path(options.training).read_text()
        temperature = json.loads(training)["temperature"]
    # A second one, with the scores before they were divided.
    before = keras_elmo.Tagger.load(options.model)
    divide_scores(before.model, 1 / temperature)
    tests = read_tests(options.data)
    results = begin_results(model=options.model, temperature=temperature)
    results["files"] = {
        name: {
            "sentences": len(data[0]),
            "words": sum(map(len, data[0])),
            "scores": tagger.evaluate(*data),
            "reliability": reliability(tagger, *data),
            "reliability_before": reliability(before, *data),
            "thresholds": [score_at(tagger, *data, x) for x in THRESHOLDS],
        }
        for name, data in tests.items()
    }
    if options.spacy:
        results["spacy"] = score_spacy(options.spacy, tests)
    results["seconds"] = measure(tagger, next(iter(tests.values()))[0])
    write_results(options.results, results)
    print_tables(results)


def reliability(tagger, sentences, tags):
    """Returns the bins of `predict_entities`, and the calibration error."""
    found = [
        (x.probability, x[:3] in wanted)
        for wanted, row in zip(
            map(tagger.entities, tags), tagger.predict_entities(sentences)
        )
        for x in row
    ]
    shares, right = np.array(found, float).reshape(-1, 2).T
    place = np.minimum((shares * BINS).astype(int), BINS - 1)
    bins = []
    for mask in (place == i for i in range(BINS)):
        if mask.any():
            bins.append(
                {
                    "count": int(mask.sum()),
                    "probability": float(shares[mask].mean()),
                    "right": float(right[mask].mean()),
                }
            )
    error = sum(x["count"] * abs(x["probability"] - x["right"]) for x in bins)
    return {"bins": bins, "error": error / max(1, len(found))}


def score_at(tagger, sentences, tags, threshold):
    """Returns precision and recall of entities, and of the words in them."""
    found, predicted = tagger.predict_entities(
        sentences, threshold=threshold, return_tags=True
    )
    wanted = [*map(tagger.entities, tags)]
    right = [len({*a} & {x[:3] for x in b}) for a, b in zip(wanted, found)]
    masks = [
        (a != "O", b != "O")
        for pair in zip(tags, predicted)
        for a, b in zip(*pair)
    ]
    both = sum(a and b for a, b in masks)
    return {
        "threshold": threshold,
        "precision": sum(right) / max(1, sum(map(len, found))),
        "recall": sum(right) / max(1, sum(map(len, wanted))),
        "words_precision": both / max(1, sum(b for _, b in masks)),
        "words_recall": both / max(1, sum(a for a, _ in masks)),
    }


def score_spacy(name, tests):
    """Returns the scores of a model of spaCy on the same words.

    In its annotation, unlike here, "the" is often a part of an entity.
    """
    import spacy

    model = spacy.load(name)
    results = {"model": name, "version": model.meta["version"], "files": {}}
    for file, (sentences, tags) in tests.items():
        found = []
        for words in sentences:
            document = model(spacy.tokens.Doc(model.vocab, words))
            row = ["O"] * len(words)
            for span in document.ents:
                start = span.start + (words[span.start].lower() == "the")
                if (kind := SPACY.get(span.label_)) and start < span.end:
                    row[start : span.end] = [f"I-{kind}"] * (span.end - start)
                    row[start] = f"B-{kind}"
            found.append(row)
        results["files"][file] = score_tags(tags, found, "BIO")
    return results


def measure(tagger, sentences):
    """Returns the seconds of each round."""
    calls = {
        "predict": lambda: tagger.predict(sentences, verbose=0),
        "predict_entities": lambda: tagger.predict_entities(
            sentences, verbose=0
        ),
        "predict_entities, threshold 0.1": lambda: tagger.predict_entities(
            sentences, threshold=0.1, verbose=0
        ),
    }
    seconds = {name: [] for name in calls}
    for _ in range(ROUNDS + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {name: x[1:] for name, x in seconds.items()}  # After a warm-up.


def print_tables(results):
    for name, x in results["files"].items():
        others = results.get("spacy", {"files": {}})["files"].get(name)
        for who, scores in (("tagger", x["scores"]), ("spaCy", others)):
            for kind, s in (
                {"all": scores, **scores["types"]}.items() if scores else ()
            ):
                print(
                    f"{name:21} {who:7} {kind:4} {s['precision']:6.1%} "
                    f"{s['recall']:6.1%} {s['f1']:6.1%}"
                )
        errors = x["reliability_before"]["error"], x["reliability"]["error"]
        print(name, "calibration error {:.3f} -> {:.3f}".format(*errors))
        for row in x["thresholds"]:
            shares = [f"{v:6.1%}" for k, v in row.items() if k != "threshold"]
            print(f"{name:21} {row['threshold']!s:5}", *shares)
    first, *_ = medians = {
        name: statistics.median(x) for name, x in results["seconds"].items()
    }
    for name, value in medians.items():
        print(f"{name}: {value:.3f} s, {value / medians[first]:.3f}")


if __name__ == "__main__":
    main()
