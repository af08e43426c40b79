"""Runs a training with `keras.Model.fit`, or resumes it."""

import collections
import itertools
import math
import random

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import argument_name
from keras_elmo.ops.backends import backend
from keras_elmo.pretraining.language_model_trainer import LanguageModelTrainer
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.training_state import TrainingProgress
from keras_elmo.pretraining.training_state import read_training_state
from keras_elmo.pretraining.training_state import state_variables
from keras_elmo.pretraining.training_state import write_training_state
from keras_elmo.pretraining.window_batches import WindowBatches
from keras_elmo.stop_request import StopRequest

# The windows of a call on JAX, where the host takes longer to begin a call than
# a fast device to train on a window.
_WINDOWS_AT_ONCE = 8
# Multiplications in a window, for which processors take up to half a second.
_MUCH_WORK = 10**10


def make_trainer(make_model, settings, rows, total_steps):
    """Makes a compiled `LanguageModelTrainer`.

    Its initial values depend on the seed alone, which becomes that of Python's
    `random`, too.

    Args:
        make_model: Function that returns the built language model.
        settings: The `Settings`.
        rows: Integer, the number of rows in a window.
        total_steps: Integer, the number of steps of the training.
    """
    random.seed(settings.seed)  # Keras draws the seeds of initializers from it.
    model, seed = make_model(), settings.seed % 2**31
    trainer = LanguageModelTrainer(
        model, rows, reset_rate=settings.reset_rate, seed=seed
    )
    optimizer = make_optimizer(settings, total_steps)
    # In the first step, it would be traced twice.
    optimizer.build(trainer.trainable_variables)
    trainer.compile(optimizer, jit_compile=backend().compiles_each_shape)
    return trainer


class Training(keras.callbacks.Callback):
    """A training, and what it does between the steps of `fit`.

    It logs, evaluates, saves and stops. Keras' own callbacks write a checkpoint
    as two files, in place, even with NaNs in them; and in a resumed training
    they do not know the best model so far. This one writes one file,
    atomically, with all of it. The position in the text is the number of steps.

    Args:
        trainer: As `make_trainer` returns it. If the folder has a checkpoint,
            it is read into this model.
        vocabulary: The `Vocabulary`.
        text: The `NumberedText`.
        folder: The `TrainingFolder`. It receives the best model so far, as
            `save_language_model` writes it; the last checkpoint; and the log.
        plan: The `TrainingPlan`.
        heldout: List of sentences, each a list of words as bytes, on which to
            measure the perplexity. If `None`, the latest model is kept.
        report: As for `pretrain`.

    Raises:
        ValueError: If the checkpoint does not match.
    """

    def __init__(
        self, trainer, vocabulary, text, folder, plan, heldout, report
    ):
        super().__init__()
        self.plan = plan
        self.progress = TrainingProgress()
        self._trainer = trainer
        self._vocabulary = vocabulary
        self._text = text._replace(words=[])
        self._folder = folder
        self._heldout = heldout
        self._report = report
        self._stop = StopRequest(report.stopping)
        self._at_once = _windows_at_once(trainer, plan.tokens_per_step)
        indexer = trainer.language_model.token_encoder.indexer
        self._batches = WindowBatches(text.words, indexer, vocabulary)
        # Of the calls that may still be running.
        self._losses: collections.deque = collections.deque()
        if folder.has_state:
            self.progress = read_training_state(folder.state_path, trainer)
        self._begun = self.progress.step
        if heldout is not None:
            model, rows = trainer.language_model, min(32, len(heldout))
            self._evaluator = Evaluator(model, vocabulary, rows=rows)

    @property
    def is_finished(self):
        """Whether it is finished; if not, it can be resumed."""
        progress, patience = self.progress, self.plan.settings.patience
        return progress.step >= self.plan.total or (
            patience is not None and progress.evaluations_since_best >= patience
        )

    def fit(self):
        """Trains until all steps are done, or until it is told to stop.

        The first Ctrl-C (SIGINT) or SIGTERM ends training after the current
        steps, with a checkpoint. After an error, the last checkpoint is
        unchanged.

        Raises:
            ValueError: If the loss is not finite.
            OSError: If a file cannot be written.
        """
        self._folder.wind_back_log(self.progress.log_size)
        self._report.begun(self.progress.step, self.plan)
        if self.is_finished:
            return
        if self.plan.is_trained and self._heldout and self.progress.step == 0:
            self.set_model(self._trainer)
            self._measure()
        # Until the report of the first step replaces it.
        with self._stop, self._report.working("compiling the first step"):
            self._trainer.fit(
                backend().varying_batches(self._calls()),
                callbacks=[self],
                shuffle=False,
                verbose=0,
            )

    def _calls(self):
        """Yields the batches of all calls."""
        plan, step = self.plan, self.progress.step
        windows = training_windows(
            self._text,
            self._trainer.batch_size,
            plan.settings.unroll_steps,
            plan.settings.seed,
            step,
        )
        while step < plan.total:
            number = self._next_steps(step)
            joined = list(itertools.islice(windows, number))
            yield self._batches.join(joined, self._at_once)
            step += number

    def _next_steps(self, step):
        """Returns how many steps the call after a step has."""
        # What is due is so at its end.
        steps = range(step + 1, step + self._at_once)
        return next(filter(self._is_due, steps), step + self._at_once) - step

    def _is_due(self, step):
        plan = self.plan
        return plan.is_checkpoint(step) or self._is_evaluation(step)

    def _is_evaluation(self, step):
        return self._heldout is not None and self.plan.is_evaluation(step)

    def on_train_batch_end(self, batch, logs=None):
        # `self.model` is used only where needed: on JAX, this copies all of it.
        steps = self._next_steps(self._begun)
        self._begun += steps
        self._losses.append((steps, logs["window_loss"]))
        # Reading the losses of this call would wait for it, and the device
        # would have nothing to do until the next call begins.
        self._finish_calls(leave=1)
        if not (self._is_due(self._begun) or self._stop.is_made):
            return
        self._finish_calls(leave=0)
        self._check_values()
        if self._is_evaluation(self._begun):
            self._measure()
        self._save()
        # Patience may have run out.
        self.model.stop_training = self._stop.is_made or self.is_finished

    def _finish_calls(self, leave):
        """Takes note of the calls that are done, except for the last ones."""
        while len(self._losses) > leave:
            steps, losses = self._losses.popleft()
            losses = np.reshape(ops.convert_to_numpy(losses), -1)[:steps]
            for loss in losses.tolist():
                self._finish_step(loss)

    def _finish_step(self, loss):
        progress, plan = self.progress, self.plan
        progress.step += 1
        if not math.isfinite(loss):
            raise self._diverged(f"The loss is {loss}")
        progress.losses.append(loss)
        self._report.stepped(progress.step, loss)
        if plan.is_due(progress.step, plan.settings.log_every):
            losses, progress.losses = progress.losses, []
            self._log(training_loss=math.fsum(losses) / len(losses))

    def _measure(self):
        progress = self.progress
        with self._report.working("measuring the held-out perplexity"):
            found = self._evaluator.evaluate(self._heldout)
        if math.isnan(found.perplexity):
            raise self._diverged("The held-out perplexity is nan")
        is_best = progress.best is None or found.perplexity < progress.best
        if is_best:
            self._save_model()
            progress.best, progress.best_step = found.perplexity, progress.step
            progress.evaluations_since_best = 0
        elif self.plan.is_regular_evaluation(progress.step):
            progress.evaluations_since_best += 1
        self._log(heldout_perplexity=found.perplexity)
        self._report.evaluated(progress.step, found, is_best)

    def _save(self):
        with self._report.working("saving a checkpoint"):
            if self._heldout is None:
                self._save_model()
            self.progress.log_size = self._folder.log_size
            path = self._folder.state_path
            write_training_state(path, self.model, self.progress)

    def _save_model(self):
        settings = self.plan.settings
        options = {
            "batch_size": settings.batch_size,
            "unroll_steps": settings.unroll_steps,
            "all_clip_norm_val": settings.clip_norm,
        }
        model = self.model.language_model
        save_language_model(model, self._vocabulary, options, self._folder.path)

    def _log(self, **values):
        step = self.progress.step
        tokens = step * self.plan.tokens_per_step
        self._folder.log(step=step, tokens=tokens, **values)

    def _check_values(self):
        for name, variable in state_variables(self.model).items():
            # On the device, to copy none of them.
            if not ops.all(ops.isfinite(variable)):
                raise self._diverged(f"'{name}' has an infinity or a NaN")

    def _diverged(self, what):
        return ValueError(
            f"{what} in step {self.progress.step}, so training stopped. The "
            f"last checkpoint in '{self._folder.path}', if any, is unchanged: "
            f"resume, without {argument_name('restart', True)}, with a lower "
            f"{argument_name('learning_rate')}."
        )


def _windows_at_once(trainer, tokens):
    """Returns how many windows of so many tokens a call has.

    The time does not decide it, because a resumed training must do the same.
    """
    devices = keras.distribution.list_devices()
    is_slow = all(device.startswith("cpu") for device in devices)
    work = tokens * trainer.language_model.encoder.count_params()
    if not backend().compiles_each_shape or (is_slow and work > _MUCH_WORK):
        return 1  # Ctrl-C waits for the end of a call.
    return _WINDOWS_AT_ONCE
