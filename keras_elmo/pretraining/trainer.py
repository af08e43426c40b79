"""The steps of a training, from the first to the last. TensorFlow only."""

import contextlib
import dataclasses
import math
import random

import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.pretraining.datasets import WindowDataset
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.reports import Report
from keras_elmo.pretraining.stop_request import StopRequest
from keras_elmo.pretraining.text_digests import check_heldout
from keras_elmo.pretraining.text_digests import text_digest
from keras_elmo.pretraining.token_streams import DIRECTIONS
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_log import TrainingLog
from keras_elmo.pretraining.training_state import Progress
from keras_elmo.pretraining.training_state import read_training_state
from keras_elmo.pretraining.training_state import write_training_state
from keras_elmo.pretraining.training_step import TrainingStep
from keras_elmo.pretraining.workers import is_chief
from keras_elmo.pretraining.workers import make_any


@dataclasses.dataclass(frozen=True)
class Schedule:
    """When a training does what. All are numbers of steps."""

    total: int
    evaluate_every: int
    checkpoint_every: int
    log_every: int
    patience: int | None = None
    """Evaluations without a better one, after which training stops"""
    early_evaluations: tuple[int, ...] = ()
    """Before the first regular one; they do not count for `patience`"""
    early_checkpoints: tuple[int, ...] = ()
    """Before the first regular one"""


class Trainer:
    """Trains a language model, and goes on where it was interrupted.

    Its folder holds the best model so far, as `save_language_model` writes it;
    the last checkpoint, `training_state.hdf5`; and the log, `log.jsonl`.

    Args:
        make_model: Function that returns the built model to begin with.
        vocabulary: The `Vocabulary`.
        shards: Paths of the corpus, as for `TokenStream`.
        folder: The `TrainingFolder`.
        settings: The `Settings`.
        schedule: The `Schedule`.
        heldout: List of sentences, each a list of words as bytes, to measure
            the perplexity on; or `None`: the last model is then the best.
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
        settings,
        schedule,
        heldout=None,
        heldout_rows=32,
        strategy=None,
        report=None,
    ):
        self._vocabulary = vocabulary
        self._folder = folder
        self._settings = settings
        self._schedule = schedule
        self._heldout = heldout
        self._heldout_digest = text_digest(heldout)
        self._report = report or Report()
        self._strategy = strategy or tf.distribute.get_strategy()
        self._writes = is_chief(self._strategy)
        self._is_any = make_any(self._strategy)
        replicas = self._strategy.num_replicas_in_sync
        self._rows = settings.batch_size * replicas
        self._streams = [
            TokenStream(
                shards,
                direction,
                self._rows,
                settings.unroll_steps,
                settings.seed,
            )
            for direction in DIRECTIONS
        ]
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
        """Trains until all steps are made, or it is told to stop.

        The first Ctrl-C (SIGINT) or SIGTERM, in any of the processes, ends it
        after the step at hand, with a checkpoint.

        Returns:
            Boolean, whether training is over; if not, it can go on.

        Raises:
            ValueError: If the loss is no longer a number, or the corpus is not
                what it was.
            OSError: If a shard cannot be read or a file not be written. In both
                cases the last checkpoint stays as it is.
        """
        self._report.begun(
            self._step, self._schedule, self._rows * self._settings.unroll_steps
        )
        with StopRequest() as stop:
            if not self._is_over:
                windows = iter(self._windows())
                with self._report.working("reading the corpus"):
                    window = next(windows)
                with self._report.working("compiling the first step"):
                    self._train_on(window)
                self._look_after()
                while not (self._is_any(stop.is_made) or self._is_over):
                    self._train_on(next(windows))
                    self._look_after()
                if self._step != self._saved_step:
                    self._save()
        self._report.ended(self._step, self._is_over)
        return self._is_over

    @property
    def _is_over(self):
        patience = self._schedule.patience
        stale = self._notes["evaluations_since_best"]
        return self._step >= self._schedule.total or (
            patience is not None and stale >= patience
        )

    def _go_to_start(self):
        if self._folder.has_state:
            progress = read_training_state(
                self._state_path, self._model, self._optimizer
            )
            self._check_rows(progress.position.shape[1] - 2)
            if progress.notes["best"] is not None:
                check_heldout(self._heldout_digest, progress.notes["heldout"])
            for stream, position in zip(self._streams, progress.position):
                stream.restore(position)
            log_size = progress.notes["log_size"]
        else:
            state = self._model.get_initial_state(self._rows)
            positions = [stream.position for stream in self._streams]
            notes = {
                "losses": [],
                "best": None,
                "heldout": None,
                "evaluations_since_best": 0,
            }
            progress = Progress(0, positions, state, notes)
            log_size = 0
        if self._writes:
            self._log.wind_back(log_size)
        self._step = self._saved_step = progress.step
        self._position = progress.position
        self._state = self._make_step.share_out_state(progress.lstm_state)
        self._notes = progress.notes

    def _check_rows(self, before):
        if before != self._rows:
            raise ValueError(
                "A training that goes on must have the rows of a window that "
                f"it began with, {before}: the batch size times the number of "
                f"devices. Received: {self._rows}"
            )

    def _windows(self):
        token_shape = self._model.token_encoder.token_shape
        width = token_shape[0] if token_shape else None
        return WindowDataset(tuple(self._streams), self._vocabulary, width)

    def _train_on(self, window):
        loss, self._state = self._make_step(
            window["inputs"], window["targets"], self._state, self._step
        )
        if not math.isfinite(loss):
            raise self._diverged(f"The loss is {loss}", self._step + 1)
        self._step += 1
        self._position = window["position"].numpy()
        self._notes["losses"].append(loss)
        self._report.stepped(self._step, loss)

    def _diverged(self, what, step):
        return ValueError(
            f"{what} in step {step}, so training stopped. The last checkpoint "
            f"in '{self._folder.path}' is as it was: the same command goes on "
            "from there; give it a lower --learning-rate or --clip-norm."
        )

    def _look_after(self):
        """Does what is due after a step."""
        schedule = self._schedule
        is_last = self._step == schedule.total
        if self._step % schedule.log_every == 0 or is_last:
            losses, self._notes["losses"] = self._notes["losses"], []
            self._write_log(training_loss=math.fsum(losses) / len(losses))
        is_regular = self._step % schedule.evaluate_every == 0 or is_last
        evaluates = self._heldout is not None and (
            is_regular or self._step in schedule.early_evaluations
        )
        if evaluates:
            self._evaluate(is_regular)
        is_due = (
            self._step % schedule.checkpoint_every == 0
            or self._step in schedule.early_checkpoints
        )
        if is_due or evaluates or is_last:
            self._save()

    def _evaluate(self, is_regular):
        self._check_weights()
        with self._report.working("measuring the held-out perplexity"):
            found = self._evaluator.evaluate(self._heldout)
        if math.isnan(found.perplexity):
            raise self._diverged("The held-out perplexity is nan", self._step)
        best = self._notes["best"]
        self._notes["heldout"] = self._heldout_digest
        is_best = best is None or found.perplexity < best["perplexity"]
        if is_best:
            self._save_model()
            self._notes["best"] = {"step": self._step, **found._asdict()}
            self._notes["evaluations_since_best"] = 0
        elif is_regular:
            self._notes["evaluations_since_best"] += 1
        self._write_log(heldout_perplexity=found.perplexity)
        self._report.evaluated(self._step, found, is_best)

    def _write_log(self, **values):
        tokens = self._step * self._rows * self._settings.unroll_steps
        if self._writes:
            self._log.write(step=self._step, tokens=tokens, **values)
        self._report.logged(self._step, values)

    def _save(self):
        self._check_weights()
        state = self._make_step.gather_state(self._state)
        self._saved_step = self._step
        if not self._writes:
            return
        if self._heldout is None:
            self._save_model()
        notes = {**self._notes, "log_size": self._log.size}
        write_training_state(
            self._state_path,
            self._model,
            self._optimizer,
            Progress(self._step, self._position, state, notes),
        )
        self._report.saved(self._step, self._state_path)

    def _check_weights(self):
        for variable in self._model.trainable_variables:
            if not np.isfinite(ops.convert_to_numpy(variable)).all():
                what = f"'{variable.path}' got an infinity or a NaN"
                raise self._diverged(what, self._step)

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
    """Context in which initial values depend on the seed alone."""
    # Keras takes the seeds that it is not given from Python's generator.
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
