"""Trains a language model on a corpus."""

import math
import os
from typing import NamedTuple

import keras

from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import check_language_model
from keras_elmo.pretraining.model_files import check_softmax
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.model_files import read_model_vocabulary
from keras_elmo.pretraining.reports import Report
from keras_elmo.pretraining.settings import Plan
from keras_elmo.pretraining.settings import Schedule
from keras_elmo.pretraining.training import make_trainer
from keras_elmo.pretraining.training import run_training
from keras_elmo.pretraining.training_folder import TrainingFolder
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.text.corpora import count_words
from keras_elmo.text.corpora import decode_line
from keras_elmo.text.corpora import numbered_lines
from keras_elmo.text.vocabulary import Vocabulary

_DEFAULT_MIN_COUNT = 3
_MIN_VOCABULARY = 3  # <S>, </S> and <UNK>.


def pretrain(
    train,
    output,
    settings,
    heldout=None,
    vocabulary=None,
    min_count=None,
    max_vocabulary=None,
    initial=None,
    new_softmax=False,
    plan=None,
    restart=False,
    report=None,
):
    """Trains a language model on a corpus, or resumes its training.

    With a `keras.distribution.DataParallel`, each device has `batch_size` rows.

    Args:
        train: The corpus: a glob, a path, or a list of them. The files have one
            sentence per line, words separated by spaces, plain or gzip.
        output: Path of the folder to train in. If called again with the same
            arguments, training resumes from its last checkpoint.
        settings: The `Settings`.
        heldout: A glob, path or list like `train`: the text whose perplexity
            decides which model is the best; or `None`.
        vocabulary: Path of a vocabulary file. Defaults to that of `initial`, or
            to one that is built from the corpus.
        min_count: Integer, the minimum count of a word if the vocabulary is
            built from the corpus. Defaults to 3.
        max_vocabulary: Integer, the maximum number of words in it, or `None`.
        initial: A trained model to start from, as for `load_language_model`;
            `settings.options` must then be its options. `None` for an untrained
            model.
        new_softmax: Boolean, whether to give `initial` an untrained softmax.
        plan: The `Plan`.
        restart: Boolean, whether to discard a training in `output` and start
            over.
        report: A `Report`.

    Returns:
        A `Training`.

    Raises:
        ValueError: If an argument is not as above, or if the training in
            `output` has other settings, another text or another origin; or as
            for `run_training`.
        OSError: As for `run_training`.
    """
    plan = plan or Plan()
    report = report or Report()
    shards = find_shards(train)
    for path in shards if heldout is None else shards + find_shards(heldout):
        if not os.path.isfile(path):
            raise ValueError(
                "The text is read more than once, so it must be in regular "
                f"files. Received: '{path}'"
            )
    found = initial and find_model(initial)
    origin = {
        "initial": found and [found.name, found.fingerprint()],
        "new_softmax": new_softmax,
        "min_count": min_count or _DEFAULT_MIN_COUNT,
        "max_vocabulary": max_vocabulary,
    }
    with report.working("reading the held-out text"):
        sentences = None if heldout is None else read_sentences(heldout)
    folder = TrainingFolder(output)
    with folder.lock():
        if folder.has_training and not restart:
            given = _given_vocabulary(vocabulary, None)
            counts, words = folder.resume(settings, shards, given, origin)
        else:
            if not restart:
                folder.check_free()
            given = _given_vocabulary(vocabulary, initial)
            if initial is not None and not new_softmax:
                check_softmax(initial, given)
            counts, words = _survey(
                shards, given, min_count, max_vocabulary, report
            )
            if initial is not None:  # Before a training is discarded.
                check_language_model(
                    initial, words, new_softmax, settings.options
                )
            folder.begin(settings, shards, counts, words, origin)

        def make_model():
            if initial is None or folder.has_state:
                return make_language_model(
                    settings.options, len(words), settings.dtype
                )
            return load_language_model(
                initial, words, settings.dtype, new_softmax, settings.options
            ).model

        rows = settings.batch_size * _num_devices()
        schedule = _schedule(settings, plan, counts, rows)
        with report.working("building the model"):
            trainer = make_trainer(make_model, settings, rows, schedule.total)
        progress = run_training(
            trainer,
            words,
            shards,
            folder,
            settings=settings,
            schedule=schedule,
            heldout=sentences,
            heldout_rows=plan.heldout_rows,
            report=report,
        )
    return Training(progress, schedule)


class Training(NamedTuple):
    """What `pretrain` returns."""

    progress: Progress
    schedule: Schedule

    @property
    def is_finished(self):
        """Whether it is finished; if not, it can be resumed."""
        return self.schedule.is_over(self.progress)

    @property
    def tokens(self):
        """How many tokens the model was trained on in each direction."""
        return self.progress.step * self.schedule.tokens_per_step


def _num_devices():
    distribution = keras.distribution.distribution()
    return 1 if distribution is None else distribution.device_mesh.devices.size


def _given_vocabulary(path, initial):
    if path is not None:
        words = Vocabulary.from_file(path)
        for number, start, line in numbered_lines(os.fspath(path)):
            decode_line(line, path, number, start)
        return words
    return None if initial is None else read_model_vocabulary(initial)


def _survey(shards, words, min_count, max_vocabulary, report):
    """Returns how much text the corpus has, and the vocabulary."""
    if words is not None and (min_count, max_vocabulary) != (None, None):
        raise ValueError(
            "`min_count` and `max_vocabulary` are for a vocabulary that is "
            "built from the corpus. Received: a model with a vocabulary of its "
            "own; for another, pass `vocabulary`"
        )
    if max_vocabulary is not None and max_vocabulary < _MIN_VOCABULARY:
        raise ValueError(
            f"`max_vocabulary` must be at least {_MIN_VOCABULARY}, for <S>, "
            f"</S> and <UNK>. Received: {max_vocabulary}"
        )
    word_counts, sentences, tokens = count_words(shards, report.counted)
    if not sentences:
        raise ValueError(
            "The corpus must have at least one sentence. Received: empty files "
            f"{shards}"
        )
    if words is None:
        words = Vocabulary.from_counts(
            word_counts, min_count or _DEFAULT_MIN_COUNT, max_vocabulary
        )
    return {"sentences": sentences, "tokens": tokens}, words


def _schedule(settings, plan, counts, rows):
    # Besides its words, each sentence has one mark to predict.
    targets = counts["tokens"] + counts["sentences"]
    window = rows * settings.unroll_steps
    total = settings.steps
    if total is None:
        total = settings.epochs * targets / window
        if total == math.inf:
            raise ValueError(
                "`epochs` must be a number of steps that can be counted. "
                f"Received: {settings.epochs}"
            )
        total = math.ceil(total)
    return Schedule.of(plan, total, window, math.ceil(targets / window))
