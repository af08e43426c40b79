"""The training loop. TensorFlow only.

Layers, optimizers, learning rate schedules and random numbers are those of
Keras; `tf.data` encodes windows in advance, `tf.function` compiles a step, and
`tf.distribute` distributes it.

The loop is not `keras.Model.fit`, which restarts an interrupted epoch, carries
no LSTM state from window to window, needs the logits of all words (which the
sampled softmax avoids computing), and fails on several workers. Without `fit`,
Keras' callbacks for checkpoints, patience and logs cannot be used.

A checkpoint is not a `tf.train.Checkpoint`, which has several files, restores
only what matches, and accepts NaN. It is one HDF5 file, written atomically,
that also holds the position in the text and the size of the log. A checkpoint
that does not match is rejected before any variable is changed.
"""

import contextlib
import math
import random

import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.reports import Report
from keras_elmo.pretraining.token_streams import DIRECTIONS
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_folder import TO_START_OVER
from keras_elmo.pretraining.training_folder import TrainingLog
from keras_elmo.pretraining.training_folder import text_digest
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.pretraining.training_state import read_training_state
from keras_elmo.pretraining.training_state import write_training_state
from keras_elmo.pretraining.training_step import TrainingStep
from keras_elmo.pretraining.training_windows import training_windows
from keras_elmo.pretraining.workers import StopRequest
from keras_elmo.pretraining.workers import is_chief
from keras_elmo.pretraining.workers import make_any


class Trainer:
    """Trains a language model, and resumes where it was interrupted.

    Its folder holds the best model so far, as `save_language_model` writes it;
    the last checkpoint, `training_state.hdf5`; and the log, `log.jsonl`.

    Args:
        make_model: Function that returns the built model to start from.
        vocabulary: The `Vocabulary`.
        shards: Paths of the corpus, as for `TokenStream`.
        folder: The `TrainingFolder`.
        settings: The `Settings`.
        schedule: The `Schedule`.
        heldout: List of sentences, each a list of words as bytes, on which to
            measure the perplexity. If `None`, the latest model is kept.
        heldout_rows: As `rows` of `Evaluator`.
        strategy: A `tf.distribute.Strategy`. Defaults to the current one.
        report: A `Report`.
    """

    def __init__(
        self,
        make_model,
        vocabulary,
        shards,
        folder,
        *,
        settings,
        schedule,
        heldout=None,
        heldout_rows=32,
        strategy=None,
        report=None,
    ):
        self._vocabulary = vocabulary
        self._shards = shards
        self._folder = folder
        self._settings = settings
        self._schedule = schedule
        self._heldout = heldout
        self._heldout_digest = None if heldout is None else text_digest(heldout)
        self._report = report or Report()
        self._strategy = strategy or tf.distribute.get_strategy()
        self._writes = is_chief(self._strategy)
        self._is_any = make_any(self._strategy)
        replicas = self._strategy.num_replicas_in_sync
        self._rows = settings.batch_size * replicas
        self._tokens_per_step = self._rows * settings.unroll_steps
        with self._strategy.scope(), _drawn_from(settings.seed):
            self._model = make_model()
            self._optimizer = make_optimizer(settings, schedule.total)
            self._optimizer.build(self._model.trainable_variables)
        self._make_step = TrainingStep(
            self._model, self._optimizer, settings, self._strategy
        )
        if heldout is not None:
            rows = max(1, min(heldout_rows, len(heldout)))
            self._evaluator = Evaluator(self._model, vocabulary, rows=rows)
        self._log = TrainingLog(folder.file(LOG_FILE))
        self._state_path = folder.file(STATE_FILE)
        self._go_to_start()

    def run(self):
        """Trains until all steps are done, or until it is told to stop.

        The first Ctrl-C (SIGINT) or SIGTERM, in any of the processes, ends
        training after the current step, with a checkpoint. After an error, the
        last checkpoint is unchanged.

        Returns:
            Boolean, whether training is finished; if not, it can be resumed.

        Raises:
            ValueError: If the loss is not finite, or the corpus has changed.
            OSError: If a shard cannot be read or a file cannot be written.
        """
        progress = self._progress
        self._report.begun(progress.step, self._schedule, self._tokens_per_step)
        with StopRequest(self._report.stopping) as stop:
            if not self._is_over:
                windows = self._windows()
                with self._report.working("reading the corpus"):
                    window = next(windows)
                with self._report.working("compiling the first step"):
                    self._train_on(window)
                self._look_after()
                while not (self._is_any(stop.is_made) or self._is_over):
                    self._train_on(next(windows))
                    self._look_after()
                if progress.step != self._saved_step:
                    self._save()
        self._report.ended(progress.step, self._is_over)
        return self._is_over

    @property
    def _is_over(self):
        patience = self._schedule.patience
        return self._progress.step >= self._schedule.total or (
            patience is not None
            and self._progress.evaluations_since_best >= patience
        )

    def _go_to_start(self):
        if self._folder.has_state:
            state, self._progress = read_training_state(
                self._state_path, self._model, self._optimizer
            )
            self._check_rows(len(state[0]))
            self._check_heldout()
        else:
            state = self._model.get_initial_state(self._rows)
            self._progress = Progress()
        self._lstm_state = self._make_step.share_out_state(state)
        self._saved_step = self._progress.step
        if self._writes:
            self._log.wind_back(self._progress.log_size)

    def _check_rows(self, before):
        if before != self._rows:
            raise ValueError(
                "A resumed training must have the same number of rows per "
                f"window as before, {before}: the batch size times the number "
                f"of devices. Received: {self._rows}"
            )

    def _check_heldout(self):
        best_of = self._progress.heldout
        if best_of not in (None, self._heldout_digest):
            received = "none" if self._heldout is None else "another text"
            raise ValueError(
                "`heldout` must be the text that the best model so far was "
                "measured on: perplexities on different texts are not "
                f"comparable. Received: {received}. {TO_START_OVER}"
            )

    def _windows(self):
        streams = [
            TokenStream(
                self._shards,
                direction,
                self._rows,
                self._settings.unroll_steps,
                self._settings.seed,
            )
            for direction in DIRECTIONS
        ]
        for stream, position in zip(streams, self._progress.positions or ()):
            stream.restore(position)
        token_shape = self._model.token_encoder.token_shape
        width = token_shape[0] if token_shape else None
        return training_windows(streams, self._vocabulary, width)

    def _train_on(self, window):
        progress = self._progress
        loss, self._lstm_state = self._make_step(
            window.inputs, window.targets, self._lstm_state, progress.step
        )
        if not math.isfinite(loss):
            raise self._diverged(f"The loss is {loss}", progress.step + 1)
        progress.step += 1
        progress.positions = window.positions
        progress.losses.append(loss)
        self._report.stepped(progress.step, loss)

    def _diverged(self, what, step):
        how = "Start again"
        if self._folder.has_state:
            how = (
                f"The last checkpoint in '{self._folder.path}' is unchanged. "
                "Resume from it, without `restart`,"
            )
        return ValueError(
            f"{what} in step {step}, so training stopped. {how} with a lower "
            "`learning_rate` or `clip_norm`."
        )

    def _look_after(self):
        """Logs, evaluates and saves, if due after a step."""
        progress, schedule = self._progress, self._schedule
        if schedule.is_log_entry(progress.step):
            losses, progress.losses = progress.losses, []
            self._write_log(training_loss=math.fsum(losses) / len(losses))
        evaluates = self._heldout is not None and schedule.is_evaluation(
            progress.step
        )
        if evaluates:
            self._evaluate()
        if evaluates or schedule.is_checkpoint(progress.step):
            self._save()

    def _evaluate(self):
        progress = self._progress
        self._check_weights()
        with self._report.working("measuring the held-out perplexity"):
            found = self._evaluator.evaluate(self._heldout)
        if math.isnan(found.perplexity):
            raise self._diverged(
                "The held-out perplexity is nan", progress.step
            )
        is_best = progress.best is None or found.perplexity < progress.best
        progress.heldout = self._heldout_digest
        if is_best:
            self._save_model()
            progress.best = found.perplexity
            progress.evaluations_since_best = 0
        elif self._schedule.is_regular_evaluation(progress.step):
            progress.evaluations_since_best += 1
        self._write_log(heldout_perplexity=found.perplexity)
        self._report.evaluated(progress.step, found, is_best)

    def _write_log(self, **values):
        step = self._progress.step
        if self._writes:
            tokens = step * self._tokens_per_step
            self._log.write(step=step, tokens=tokens, **values)
        self._report.logged(step, values)

    def _save(self):
        self._check_weights()
        state = self._make_step.gather_state(self._lstm_state)
        self._saved_step = self._progress.step
        if not self._writes:
            return
        if self._heldout is None:
            self._save_model()
        self._progress.log_size = self._log.size
        write_training_state(
            self._state_path,
            self._model,
            self._optimizer,
            state,
            self._progress,
        )
        self._report.saved(self._saved_step)

    def _check_weights(self):
        for variable in self._model.trainable_variables:
            if not np.isfinite(ops.convert_to_numpy(variable)).all():
                what = f"'{variable.path}' has an infinity or a NaN"
                raise self._diverged(what, self._progress.step)

    def _save_model(self):
        if self._writes:
            options = {
                "batch_size": self._settings.batch_size,
                "unroll_steps": self._settings.unroll_steps,
                "all_clip_norm_val": self._settings.clip_norm,
            }
            save_language_model(
                self._model, self._vocabulary, options, self._folder.path
            )


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
