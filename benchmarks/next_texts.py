"""Compares ways to choose the sentences that are labelled next.

    python benchmarks/next_texts.py train.conll test.conll --output wnut.json

From 200 sentences, three times 200 more are added: those with the largest
expected number of wrong labels, or random ones. F1 on the test file, by the
number of words that were read, with each seed.
"""

import keras
import numpy as np
from label_errors import read
from program import begin_results
from program import make_parser
from program import write_results

import keras_elmo
from keras_elmo.crf import linear_chain
from keras_elmo.ops.compiled import Compiled
from keras_elmo.tagging import label_checks
from keras_elmo.tagging import training
from keras_elmo.tagging.scores import score_tags
from keras_elmo.tagging.training_data import labelled_pairs

STEP = 200


def main():
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs=2, help="to choose from; to test on")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--output", required=True, help="JSON file to write")
    options = parser.parse_args()
    output = vars(options).pop("output")
    (pairs, labels, scheme), (test, *_) = (
        labelled_pairs(*zip(*read([path])), 16, 300) for path in options.files
    )
    elmo = keras_elmo.ElmoLayer.from_preset("english_mini")
    vectors = training.word_features([pairs, test], elmo, None, 2)
    data = label_checks.FoldData(pairs, labels, scheme, vectors)
    curves = {"doubt": [], "random": []}
    for seed in range(1, options.seeds + 1):
        order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
        for name, runs in curves.items():
            keras.utils.set_random_seed(seed)
            runs.append(curve(data, test, order, name))
            print(seed, name, runs[-1], flush=True)
        # After each seed, so that you can stop it.
        results = begin_results(options=vars(options), curves=curves)
        write_results(output, results)


def curve(data, test, order, name):
    """Returns the words read and the F1 after each step."""
    chosen, left, points = order[:STEP], order[STEP:], []
    while True:
        pairs = [data.pairs[i] for i in chosen]
        head = label_checks.train_fold(data, pairs, 50, 0)
        batches = data.batches(test)
        found = predict(head, linear_chain.best_tags, batches)
        found = [[data.labels[i] for i in row] for row in found]
        score = score_tags(batches.tags, found, data.scheme)["f1"]
        points.append((sum(len(words) for words, _ in pairs), score))
        if len(points) == 4:
            return points
        if name == "doubt":
            left.sort(key=lambda i: len(data.pairs[i][1]))  # As in batches.
            batches = data.batches([data.pairs[i] for i in left])
            rows = predict(head, linear_chain.marginals, batches)
            doubts = [np.sum(1 - row.max(axis=1)) for row in rows]
            left = [left[k] for k in np.argsort(doubts)[::-1]]
        chosen, left = chosen + left[:STEP], left[STEP:]


def predict(head, function, batches):
    return batches.predict(Compiled(lambda *x: function(head(x)), head))


if __name__ == "__main__":
    main()
