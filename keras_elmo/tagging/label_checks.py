"""Labels of training sentences that are probably wrong."""

import collections
import inspect
import itertools
import operator
import os
import warnings
from collections.abc import Iterable
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import argument_name
from keras_elmo.checks import check_integer
from keras_elmo.crf import linear_chain
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.word_vectors import WordVectors
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.compiled import call_with_arrays
from keras_elmo.progress_bars import shows_bars
from keras_elmo.tagging import training
from keras_elmo.tagging.calibration import calibrate
from keras_elmo.tagging.tagger import Tagger
from keras_elmo.tagging.training_data import hold_out
from keras_elmo.tagging.training_data import labelled_pairs


class LabelIssue(NamedTuple):
    """A place whose labels are probably wrong."""

    sentence: int
    """The number of its sentence, from 0."""
    start: int
    """Its first word, from 0."""
    end: int
    """The word after its last one."""
    kind: str
    """`"missing"`, `"unlikely"`, `"type"` or `"edge"`; or `"label"` if the
    labels mark no entities."""
    labels: list[str]
    """The given labels of these words."""
    probability: float
    """That the labels of these words are exactly these, from 0 to 1."""
    suggested: list[str]
    """The labels that the tagger finds."""
    suggested_probability: float
    """That the labels of these words are exactly these."""


def check_labels(
    sentences: Iterable[Iterable[str]],
    tags: Iterable[Iterable[str]],
    elmo: str | os.PathLike = "english_mini",
    *,
    folds: int = 5,
    word_vectors: str | os.PathLike | WordVectors | None = None,
    epochs: int = 50,
    max_labels: int = 300,
    verbose: int = 1,
) -> list[LabelIssue]:
    """Finds labels that are probably wrong, the surest first.

    The sentences are divided into folds at random; equal sentences stay
    together. For each fold, a tagger is trained on the others, as by
    `Tagger.train` with its defaults, and a place is returned where its labels
    are more probable than the given ones. ELMo's vectors are computed once.

    If the labels mark entities, a place is a whole entity, or entities that
    overlap: `"missing"` among the given labels; `"unlikely"`, if the tagger
    finds none; of another `"type"`; or with another `"edge"`. These are taken
    in turn. The probabilities are exact, as those of `Tagger.predict_entities`.

    For the same result in each run, first call
    `keras.utils.set_random_seed`. If you interrupt it, what the folds until
    then have found is returned, with a warning.

    Args:
        sentences: Iterable of sentences, each a list of words.
        tags: Iterable of lists of strings, a tag for each word.
        elmo: As for `Tagger.train`.
        folds: Integer, the number of folds. At least twice as many different
            sentences are needed.
        word_vectors: As for `Tagger.train`.
        epochs: As for `Tagger.train`.
        max_labels: As for `Tagger.train`.
        verbose: As for `Tagger.train`. There is a bar for each fold.

    Returns:
        A list of named tuples. `sentence` is the number of a sentence; `start`
        and `end`, those of the first word and of the word after the last one,
        all from 0; `kind`; `labels`, the given labels of these words;
        `probability`, that the right labels are exactly these; `suggested`, the
        labels that the tagger finds; and `suggested_probability`.

    Raises:
        ValueError: As `Tagger.train` does, or if there are too few sentences.

    Example:

    >>> keras.utils.set_random_seed(1)
    >>> verbs = ["sings", "reads", "runs"] * 5
    >>> sentences = [[x, y] for x in ["Ann", "Bo", "Cy", "Dee"] for y in verbs]
    >>> tags = [["NOUN", "VERB"] for _ in sentences]
    >>> tags[7] = ["NOUN", "NOUN"]
    >>> issue, *_ = check_labels(sentences, tags, folds=2, epochs=5, verbose=0)
    >>> issue.sentence, issue.start, issue.labels, issue.suggested
    (7, 1, ['NOUN'], ['VERB'])

    Reference:
        Northcutt et al. 2021, [Confident Learning: Estimating Uncertainty in
        Dataset Labels](https://arxiv.org/abs/1911.00068)
    """
    check_integer("folds", folds, 2)
    check_integer("epochs", epochs, 1)
    verbose = 2 if verbose == 1 and not shows_bars() else verbose
    tags = [list(row) for row in tags]
    numbers = [i for i, row in enumerate(tags) if row]
    settings = default_settings()
    pairs, labels, scheme = labelled_pairs(
        sentences, tags, settings["batch_size"], max_labels
    )
    parts = split(pairs, folds)
    layer = ElmoLayer.from_preset(elmo)
    word_vectors = training.find_word_vectors(word_vectors, layer, verbose)
    vectors = training.word_features([pairs], layer, word_vectors, verbose)
    data = FoldData(pairs, labels, scheme, vectors)
    found = find_issues(data, parts, epochs, verbose)
    return [x._replace(sentence=numbers[x.sentence]) for x in found]


class FoldData(NamedTuple):
    """What the taggers of all folds are trained on."""

    pairs: list
    """The words of each sentence, and their tags"""
    labels: list[str]
    """The labels in order"""
    scheme: str | None
    """Their scheme"""
    vectors: dict
    """What `word_features` returns"""

    def batches(self, pairs):
        """Returns the `TaggedBatches` of some of the pairs."""
        size = default_settings()["batch_size"]
        return training.TaggedBatches(pairs, self.labels, self.vectors, size)


def find_issues(data, parts, epochs, verbose):
    """Returns `LabelIssue`s, the surest first.

    Args:
        data: A `FoldData`.
        parts: What `split` returns.
        epochs: As for `check_labels`, like `verbose`.
    """
    checked: list[tuple[int, _Tagging, _Tagging]] = []
    for k, part in enumerate(parts):
        try:
            if verbose:
                print(f"Fold {k + 1} of {len(parts)}")
            rest = sorted({*range(len(data.pairs))}.difference(part))
            rest, held = ([data.pairs[i] for i in x] for x in (rest, part))
            head = train_fold(data, rest, epochs, verbose)
            rows = _both_taggings(head, data, held)
            checked += [(i, *row) for i, row in zip(part, rows)]
        except KeyboardInterrupt:
            if not checked:
                raise
            warnings.warn(
                f"The check was interrupted. {len(checked):,} of "
                f"{len(data.pairs):,} sentences are checked, those of {k} of "
                f"{len(parts)} folds.",
                stacklevel=3,
            )
            break
    return _ranked(checked, data.scheme)


class _Tagging(NamedTuple):
    """Labels of a sentence, and the arrays of `tag_probabilities`."""

    labels: list[str]
    own: np.ndarray
    step: np.ndarray
    longer: np.ndarray

    def probability(self, start, end):
        """That words have exactly these labels, and no entity goes on."""
        share = self.own[start] * self.step[start + 1 : end].prod()
        if end < len(self.labels):
            share *= max(0, 1 - self.longer[end])
        return float(share)


def default_settings():
    """Returns settings of `Tagger.train` with their defaults."""
    names = "units", "dropout", "learning_rate", "batch_size"
    defaults = inspect.signature(Tagger.train).parameters
    return {name: defaults[name].default for name in names}


def train_fold(data, pairs, epochs, verbose):
    """Returns a head that is trained as by `Tagger.train`.

    Args:
        data: A `FoldData`.
        pairs: Those of its pairs to train on, of which a tenth is held out.
        epochs: As for `check_labels`, like `verbose`.

    Raises:
        KeyboardInterrupt: If the training is interrupted.
    """
    settings, (_, labels, scheme, _) = default_settings(), data
    with warnings.catch_warnings():  # A rare label is in another fold.
        warnings.filterwarnings("ignore", "The labels .* occur only in")
        train, dev = map(data.batches, hold_out(pairs))
    head = training.build_head(
        train.width, labels, scheme, settings["units"], settings["dropout"]
    )
    score = "val_f1" if scheme else "val_accuracy"
    bar = keras.utils.Progbar(
        epochs, verbose=verbose, stateful_metrics=[score], unit_name="epoch"
    )
    scores = []

    def show(epoch, logs):
        scores.append((score, logs[score]))
        bar.update(epoch + 1, scores[-1:], finalize=False)

    best = training.fit_head(
        head,
        train,
        dev,
        labels,
        scheme,
        learning_rate=settings["learning_rate"],
        epochs=epochs,
        verbose=0,
        on_epoch=show,
    )
    bar.update(len(scores), scores[-1:], finalize=True)
    if best.is_interrupted:
        raise KeyboardInterrupt
    calibrate(head, dev, labels, scheme)
    return head


def _both_taggings(head, data, pairs):
    """Returns the given tagging of each sentence, and that of a head.

    Args:
        head: What `train_fold` returns.
        data: A `FoldData`.
        pairs: Those of its pairs to tag, sorted by length.
    """
    labels, scheme = data.labels, data.scheme
    batches = data.batches(pairs)
    continues = np.zeros((len(labels), len(labels)), bool)
    if scheme:
        continues = entity_tags(labels).continues

    def find(vectors, mask, given):
        scores = head([vectors, mask])
        best = linear_chain.best_tags(scores)
        if scheme is None:
            best = ops.argmax(linear_chain.marginals(scores), axis=2)
        return [
            (ids, *linear_chain.tag_probabilities(scores, ids, continues))
            for ids in (given, ops.cast(best, "int32"))
        ]

    compiled, rows = Compiled(find, head, [(16, 8)] * 3), []
    for inputs, ids in batches.in_order():
        found = call_with_arrays(compiled, *inputs, ids)
        for i in range(len(ids)):
            length = inputs[1][i].sum()
            row = []
            for numbers, *shares in found:
                names = [labels[x] for x in numbers[i, :length]]
                row.append(_Tagging(names, *(x[i, :length] for x in shares)))
            rows.append(row)
    return rows


def _differences(given, found, scheme):
    """Yields the start, the end and the kind of each difference."""
    if scheme is None:
        pairs = enumerate(zip(given.labels, found.labels))
        yield from ((i, i + 1, "label") for i, (a, b) in pairs if a != b)
        return
    spans = [{*entities(x.labels)} for x in (given, found)]
    groups, last = [], 0  # Entities that overlap.
    for span in sorted(spans[0] | spans[1]):
        if span[0] >= last:
            groups.append([])
        groups[-1].append(span)
        last = max(last, span[1])
    for group in groups:
        own, others = ([x for x in group if x in part] for part in spans)
        if own == others:
            continue
        start, end = group[0][0], max(x[1] for x in group)
        kind = "edge"
        if not own or not others:
            kind = "unlikely" if own else "missing"
        elif len(own) == len(others) == 1 and own[0][:2] == others[0][:2]:
            kind = "type"
        yield start, end, kind


def _ranked(checked, scheme):
    """Returns the `LabelIssue`s of checked sentences, the surest first.

    Issues of one kind are ordered by the doubt of what is suggested, times the
    share of the given entities of that type which are at most as probable. As
    in confident learning, the given labels are so compared with others of their
    type: a low probability says little of a type that a tagger seldom finds.
    Issues of different kinds are taken in turn, because their probabilities
    cannot be compared: that nothing is an entity is nearly always almost sure.

    Args:
        checked: List of tuples: the number of a sentence, the given `_Tagging`,
            and that of a tagger.
        scheme: The scheme of the labels, or `None`.
    """
    known = collections.defaultdict(list)  # Of the given entities, by type.
    for _, given, _ in checked if scheme else ():
        for start, end, kind in entities(given.labels):
            known[kind].append(given.probability(start, end))
    known = {kind: np.sort(shares) for kind, shares in known.items()}
    issues = collections.defaultdict(list)
    for i, given, found in checked:
        for start, end, kind in _differences(given, found, scheme):
            names = (x.labels[start:end] for x in (given, found))
            own, other = (x.probability(start, end) for x in (given, found))
            if own < other:
                labels, suggested = names
                share = own
                if kind not in ("label", "missing"):
                    share = _share(given, start, end, known)
                issue = i, start, end, kind, labels, own, suggested, other
                issues[kind].append((share * (1 - other), LabelIssue(*issue)))
    places = []
    for group in issues.values():
        group.sort(key=operator.itemgetter(0))
        places += [(i, *x) for i, x in enumerate(group)]
    places.sort(key=lambda x: x[:2])
    return [issue for *_, issue in places]


def _share(given, start, end, known):
    """Returns the share of given entities that are at most as probable.

    Args:
        given: A `_Tagging`.
        start: The first word of some of its entities.
        end: The word after the last one.
        known: For each type, the probabilities of its given entities, sorted.
    """
    return max(
        np.searchsorted(
            known[kind], given.probability(start + i, start + j), "right"
        )
        / len(known[kind])
        for i, j, kind in entities(given.labels[start:end])
    )


def split(pairs, folds):
    """Returns the indices of the sentences of each fold, of random ones.

    Equal sentences are in the same fold, because a tagger that has been trained
    on a wrong label of a sentence may repeat it.
    """
    groups = {}
    for i, (words, _) in enumerate(pairs):
        groups.setdefault(tuple(words), []).append(i)
    if len(groups) < 2 * folds:
        raise ValueError(
            f"{argument_name('folds', folds)} needs at least {2 * folds:,} "
            f"different sentences. Received: {len(groups):,}"
        )
    groups = list(groups.values())
    np.random.shuffle(groups)
    parts = ([*itertools.chain(*groups[k::folds])] for k in range(folds))
    # As `TaggedBatches` sorts them.
    return [sorted(x, key=lambda i: len(pairs[i][1])) for x in parts]
