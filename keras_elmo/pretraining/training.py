"""Runs a training with `keras.Model.fit`, or resumes it."""

import contextlib
import random
import signal
import threading

import keras

from keras_elmo.pretraining.language_model_trainer import LanguageModelTrainer
from keras_elmo.pretraining.language_model_windows import LanguageModelWindows
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.training_callback import TrainingCallback
from keras_elmo.pretraining.training_folder import TO_START_OVER
from keras_elmo.pretraining.training_folder import text_digest
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.pretraining.training_state import read_training_state


def make_trainer(make_model, settings, rows, total_steps):
    """Makes a compiled `LanguageModelTrainer`.

    Its initial values depend on the seed alone.

    Args:
        make_model: Function that returns the built language model.
        settings: The `Settings`.
        rows: Integer, the number of rows in a window.
        total_steps: Integer, the number of steps of the training.
    """
    with _drawn_from(settings.seed):
        trainer = LanguageModelTrainer(
            make_model(),
            rows,
            settings.reset_rate,
            settings.full_softmax,
            settings.seed % 2**31,
        )
        trainer.build()
    optimizer = make_optimizer(settings, total_steps)
    # In the first step, it would be traced twice.
    optimizer.build(trainer.trainable_variables)
    is_jax = keras.backend.backend() == "jax"
    trainer.compile(optimizer, jit_compile=is_jax, auto_scale_loss=False)
    return trainer


def run_training(
    trainer,
    vocabulary,
    shards,
    folder,
    *,
    settings,
    schedule,
    heldout,
    heldout_rows,
    report,
):
    """Trains until all steps are done, or until it is told to stop.

    The first Ctrl-C (SIGINT) or SIGTERM ends training after the current step,
    with a checkpoint. After an error, the last checkpoint is unchanged.

    Args:
        trainer: As `make_trainer` returns it.
        vocabulary: The `Vocabulary`.
        shards: Paths of the corpus.
        folder: The `TrainingFolder`. It receives the best model so far, as
            `save_language_model` writes it; the last checkpoint; and the log.
        settings: The `Settings`.
        schedule: The `Schedule`.
        heldout: List of sentences, each a list of words as bytes, on which to
            measure the perplexity. If `None`, the latest model is kept.
        heldout_rows: Integer, as `rows` of `Evaluator`.
        report: A `Report`.

    Returns:
        The `Progress`.

    Raises:
        ValueError: If the loss is not finite, or the corpus has changed.
        OSError: If a shard cannot be read or a file cannot be written.
    """
    model = trainer.language_model
    token_shape = model.token_encoder.token_shape
    windows = LanguageModelWindows(
        shards,
        vocabulary,
        trainer.batch_size,
        settings.unroll_steps,
        token_shape[0] if token_shape else None,
        settings.seed,
    )
    progress = Progress()
    if folder.has_state:
        progress = read_training_state(folder.state_path, trainer)
        windows.restore(progress.positions or ())
    evaluate = None
    if heldout is not None:
        rows = max(1, min(heldout_rows, len(heldout)))
        evaluator = Evaluator(model, vocabulary, rows=rows)

        def evaluate():
            return evaluator.evaluate(heldout)

    _check_heldout(progress, heldout)
    options = {
        "batch_size": settings.batch_size,
        "unroll_steps": settings.unroll_steps,
        "all_clip_norm_val": settings.clip_norm,
    }
    folder.log.wind_back(progress.log_size)
    report.begun(progress.step, schedule)
    if schedule.is_over(progress):
        return progress
    with StopRequest(report.stopping) as stop:
        callback = TrainingCallback(
            folder,
            schedule,
            windows,
            progress,
            evaluate=evaluate,
            save_model=lambda: save_language_model(
                model, vocabulary, options, folder.path
            ),
            stop=stop,
            report=report,
        )
        try:
            # Until the report of the first step replaces it.
            with report.working("compiling the first step"):
                trainer.fit(
                    iter(windows),
                    steps_per_epoch=schedule.total - progress.step,
                    callbacks=[callback],
                    shuffle=False,
                    verbose=0,
                )
        except Exception:
            if windows.error is None:
                raise
            # As it was before TensorFlow wrapped it.
            raise windows.error from None
    return progress


def _check_heldout(progress, heldout):
    """Records the held-out text, unless the best model is of another one."""
    digest = None if heldout is None else text_digest(heldout)
    if progress.best is not None and progress.heldout != digest:
        received = "none" if heldout is None else "another text"
        raise ValueError(
            "`heldout` must be the text that the best model so far was "
            "measured on: perplexities on different texts are not "
            f"comparable. Received: {received}. {TO_START_OVER}"
        )
    progress.heldout = digest


@contextlib.contextmanager
def _drawn_from(seed):
    """Context manager that makes initial values depend only on the seed."""
    # If Keras is given no seed, it takes one from Python's generator.
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


class StopRequest(contextlib.AbstractContextManager):
    """Records the first SIGINT or SIGTERM instead of ending the process.

    Args:
        on_request: Function to call, in a thread, when it is recorded.
    """

    def __init__(self, on_request=None):
        self.is_made = False
        self._on_request = on_request
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.signal(number, self._note)
                # `None` is a handler that was not set by Python.
                self._before[number] = before or signal.SIG_DFL
        return self

    def __exit__(self, *_):
        self._restore()

    def _note(self, number, frame):
        self.is_made = True
        self._restore()  # A second signal takes effect at once.
        if self._on_request is not None:
            # In a thread, as the signal may have interrupted other output.
            threading.Thread(target=self._on_request, daemon=True).start()

    def _restore(self):
        while self._before:
            signal.signal(*self._before.popitem())
