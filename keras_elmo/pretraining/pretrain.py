"""Trains a language model on a corpus."""

import contextlib
import itertools
import os

import keras

from keras_elmo.checks import argument_name
from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.bidirectional_language_model import (
    BidirectionalLanguageModel,
)
from keras_elmo.pretraining.corpus_shards import check_held_out
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.model_files import own_vocabulary
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.numbered_text import open_numbered_text
from keras_elmo.pretraining.settings import TrainingPlan
from keras_elmo.pretraining.training import Training
from keras_elmo.pretraining.training import make_trainer
from keras_elmo.pretraining.training_folder import TrainingFolder
from keras_elmo.pretraining.training_folder import text_digest
from keras_elmo.text.repeated_sentences import warn_of_repeated
from keras_elmo.text.text_files import checked_lines
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.text.vocabulary import covered_share


def pretrain(
    text,
    output,
    settings,
    report,
    heldout=None,
    vocabulary=None,
    min_count=3,
    initial=None,
    new_softmax=False,
    restart=False,
):
    """Trains a language model on a corpus, or resumes its training.

    With a `keras.distribution.DataParallel`, each device has `batch_size` rows.

    Args:
        text: The corpus: a glob, a path, or a list of them. The files have one
            sentence per line, words separated by spaces, plain or gzip.
        output: Path of the folder to train in. If called again with the same
            arguments, training resumes from its last checkpoint.
        settings: The `Settings`.
        report: The `TrainingReport`, which shows the progress.
        heldout: A glob, path or list like `text`: the text whose perplexity
            decides which model is the best; or `None`.
        vocabulary: Path of a vocabulary file. Defaults to that of `initial`, or
            to one that is built from the corpus.
        min_count: Integer, the minimum count of a word if the vocabulary is
            built from the corpus. Defaults to 3.
        initial: A trained model to start from, as for `load_language_model`;
            `settings.options` must then be its options. `None` for an untrained
            model.
        new_softmax: Boolean, whether to give `initial` an untrained softmax.
        restart: Boolean, whether to discard a training in `output` and start
            over.

    Returns:
        The `Training`.

    Raises:
        ValueError: If an argument is not as above, or if the training in
            `output` has other settings, another text or another initial model;
            if no training wrote the files in `output`; or as for
            `Training.fit`; or if a file of `heldout` has the text of a shard.
        OSError: As for `Training.fit`.
    """
    shards = find_shards(text)
    held_out_files = [] if heldout is None else find_shards(heldout)
    for path in shards + held_out_files:
        if not os.path.isfile(path):
            raise ValueError(
                "A training that resumes reads the text again, so it must be "
                f"in regular files. Received: '{path}'"
            )
    initial = initial and find_model(initial)
    if initial and os.path.realpath(initial.path) == os.path.realpath(output):
        raise ValueError(
            f"{argument_name('output')} must not be the folder of "
            f"{argument_name('initial')}, which is read again when the "
            f"training resumes. Received: '{output}'"
        )
    sentences = None
    if heldout is not None:
        with report.working("reading the held-out text"):
            sentences = read_sentences(heldout)
            check_held_out(held_out_files, shards)
    unseen = set(map(tuple, sentences or ()))
    start = {
        "heldout": sentences and text_digest(sentences),
        "initial": initial and [initial.name, initial.fingerprint()],
        "new_softmax": new_softmax,
        "min_count": min_count,
        **settings.fixed(),
    }
    folder = TrainingFolder(output)
    with folder.lock():
        resumes = folder.has_training and not restart
        words = text = None
        if vocabulary is not None:
            words = Vocabulary.from_file(vocabulary)
            for _ in checked_lines(os.fspath(vocabulary)):
                pass  # Each line must be UTF-8.
        elif initial and not resumes:
            files = initial.open_language_model()
            words = own_vocabulary(files, is_needed=not new_softmax)
        if resumes:
            with report.working("comparing the text"):
                reading, words = folder.resume(start, shards, words)
            text = folder.open_text(reading)
        else:
            folder.check_files()

        def make_model():
            cls = BidirectionalLanguageModel
            options, dtype = settings.options, settings.dtype
            if initial is None or (resumes and folder.has_state):
                return make_language_model(cls, options, len(words), dtype)
            return load_language_model(
                cls, initial, words, dtype, new_softmax, options
            )[0]

        with contextlib.ExitStack() as stack:
            if text is None:
                new = stack.enter_context(folder.new_text())
                reading, counts = number_text(
                    shards, new, report.counted, unseen
                )
                text = open_numbered_text(new, reading)
            if not resumes:
                words = words or Vocabulary.from_counts(counts, min_count)
                report.covered(covered_share(counts, words.words))
                if sentences:
                    held_out = itertools.chain(*sentences)
                    covered_share(held_out, words.words, "the held-out text")
                    seen = set(map(tuple, sentences)) - unseen
                    what = "sentences of the held-out text", "the corpus"
                    warn_of_repeated(sentences, seen, *what, share=0.1)
            rows = settings.batch_size * _num_devices()
            # Besides its words, each sentence has one mark to predict.
            plan = TrainingPlan(
                settings, len(text.numbers), rows, bool(initial)
            )
            with report.working("building the model"):
                trainer = make_trainer(make_model, settings, rows, plan.total)
            # An old training is discarded only now, after all checks.
            if not resumes:
                folder.begin(start, reading, words)
        training = Training(
            trainer, words, text, folder, plan, sentences, report
        )
        del text  # Its words take memory.
        training.fit()
    return training


def _num_devices():
    distribution = keras.distribution.distribution()
    return 1 if distribution is None else distribution.device_mesh.devices.size
