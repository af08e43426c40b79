"""Counts how many wrong labels `keras_elmo.check_labels` finds.

    python benchmarks/label_errors.py train.conllu --noise 0.01 --output a.json
    python benchmarks/label_errors.py old.conllu --corrected new.conllu ...
    python benchmarks/label_errors.py train.conll --output unchanged.json

With `--noise`, a share of the words get another label at random; or of the
entities, a quarter each is dropped, gets another type (with one type, another
edge), is moved by a word, and is invented on a noun. With `--corrected`, labels
are wrong that are others there, in sentences with the same words. You judge the
first places that the program has not changed. With `--words`, taggers get these
vectors alone, without ELMo.
"""

import random
import resource
import time
from collections import Counter

import keras
import numpy as np
from program import begin_results
from program import make_parser
from program import write_results

import keras_elmo
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import find_scheme
from keras_elmo.crf.tags import mark_entities
from keras_elmo.tagging import label_checks
from keras_elmo.tagging import training
from keras_elmo.tagging.training_data import labelled_pairs
from keras_elmo.text import read_conll

KINDS = "dropped", "type", "moved", "invented"


def main():
    parser = make_parser(__doc__)
    parser.add_argument("train", nargs="+", help="labelled files")
    parser.add_argument("--noise", type=float, default=0, help="a share")
    parser.add_argument("--corrected", nargs="+", default=[], help="files")
    parser.add_argument("--words", help="a file of word vectors")
    parser.add_argument("--sentences", type=int, help="the first ones")
    parser.add_argument("--output", required=True, help="JSON file to write")
    options = parser.parse_args()
    output = vars(options).pop("output")
    rows, later = map(read, (options.train, options.corrected))
    later = {tuple(words): tags for words, tags in later}
    rows = [x for x in rows if not later or tuple(x[0]) in later]
    rows = rows[: options.sentences]
    scheme = find_scheme(tag for _, tags in rows for tag in tags)
    wrong = []
    if later:
        for i, (words, tags) in enumerate(rows):
            other = {*spans(scheme, later[tuple(words)])}
            changed = sorted({*spans(scheme, tags)} ^ other)
            wrong += {x[:2]: (i, *x[:2], "corrected") for x in changed}.values()
    elif options.noise:
        rows, wrong = change(rows, scheme, options.noise)
    start = time.perf_counter()
    keras.utils.set_random_seed(1)
    pairs, labels, _ = labelled_pairs(*zip(*rows), 16, 300)
    elmo = keras_elmo.ElmoLayer.from_preset("english_mini")
    if options.words:
        layer = training.find_word_vectors(options.words, elmo, 0)
        table = training.look_up(layer, [pairs])
        vectors = {tuple(x): np.array([table[y] for y in x]) for x, _ in pairs}
    else:
        vectors = training.word_features([pairs], elmo, None, 2)
    embedded = time.perf_counter()
    data = label_checks.FoldData(pairs, labels, scheme, vectors)
    parts = label_checks.split(pairs, 5)
    found = label_checks.find_issues(data, parts, 50, 2)
    hits = [
        {x for x in wrong if x[0] == i and x[1] < end and start < x[2]}
        for i, start, end, *_ in found
    ]
    number = sum(len(spans(scheme, tags)) for _, tags in rows)
    unknown = [x for x in zip(found, hits) if not (options.noise and x[1])]
    results = begin_results(
        options=vars(options),
        sentences=len(rows),
        words=sum(len(words) for words, _ in rows),
        seconds=[embedded - start, time.perf_counter() - embedded],
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        places=Counter(x.kind for x in found),
        wrong=Counter(x[3] for x in wrong),
        found={n: len(set().union(*hits[:n])) for n in (50, 100, 200, 400)},
        found_in_all=len(set().union(*hits)),
        random_share=len(wrong) / number,
        first=[describe(rows, *x) for x in unknown[:30]],
    )
    write_results(output, results)


def describe(rows, issue, hits):
    """Returns a place with the words around it, for you to judge."""
    (words, _), start, end = rows[issue.sentence], issue.start, issue.end
    parts = words[max(0, start - 6) : start], words[start:end], words[end:][:6]
    before, inside, after = map(" ".join, parts)
    text = f"{before} [[{inside}]] {after}".strip()
    return {"text": text, **issue._asdict(), "is_wrong": len(hits) > 0}


def read(paths):
    rows = (pair for path in paths for pair in zip(*read_conll(path)))
    return [(words, tags) for words, tags in rows if words]


def spans(scheme, tags):
    words = [(i, i + 1, tag) for i, tag in enumerate(tags)]
    return entities(tags) if scheme else words


def change(rows, scheme, share):
    """Returns rows with wrong labels; and their sentences, places and kinds."""
    rng, wrong = random.Random(1), []
    found = [{*spans(scheme, tags)} for _, tags in rows]
    types = sorted({x[2] for row in found for x in row})
    spots = [(i, x) for i, row in enumerate(found) for x in sorted(row)]
    wanted, kinds, nouns = round(share * len(spots)), ["type"], []
    if scheme:
        kinds = KINDS
        tagger = keras_elmo.Tagger.load("english_pos")
        for i, tags in enumerate(tagger.predict([words for words, _ in rows])):
            both = enumerate(zip(tags, rows[i][1]))
            free = [k for k, x in both if x in {("NOUN", "O"), ("PROPN", "O")}]
            nouns += [(i, (k, k + 1, rng.choice(types))) for k in free]
    rng.shuffle(spots)
    rng.shuffle(nouns)
    while len(wrong) < wanted:
        kind = kinds[len(wrong) % len(kinds)]
        i, old = (nouns if kind == "invented" else spots).pop()
        (start, end, name), step = old, rng.choice((-1, 1))
        new, others = old, [x for x in types if x != name]
        if kind == "moved":
            new = start + step, end + step, name
        elif kind == "type":
            name = rng.choice(others or types)
            new = start, end + step * (not others), name
        rest = found[i] - {old}
        taken = {k for x in rest for k in range(*x[:2])}
        is_free = 0 <= new[0] < new[1] <= len(rows[i][0])
        if is_free and not taken.intersection(range(*new[:2])):
            found[i] = rest if kind == "dropped" else rest | {new}
            wrong.append((i, min(start, new[0]), max(end, new[1]), kind))
    changed = []
    for (words, _), row in zip(rows, found):
        tags = [x[2] for x in sorted(row)]
        tags = mark_entities(row, len(words), scheme) if scheme else tags
        changed.append((words, tags))
    return changed, wrong


if __name__ == "__main__":
    main()
