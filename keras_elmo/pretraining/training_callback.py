"""What a training does between its steps."""

import math

import keras
import numpy as np
from keras import ops

from keras_elmo.pretraining.training_state import write_training_state


class TrainingCallback(keras.callbacks.Callback):
    """Logs, evaluates, saves and stops the training of a model under `fit`.

    Keras' own callbacks write a checkpoint as two files, in place, even with
    NaNs in them; they know neither the position in the text nor, in a resumed
    training, the best model so far. This one writes one file, atomically, with
    all of it.

    Args:
        folder: The `TrainingFolder`.
        schedule: The `Schedule`.
        windows: The `LanguageModelWindows` that `fit` reads from its start.
        progress: The `Progress` to begin with.
        evaluate: Function that returns the held-out `Perplexity`, or `None`.
        save_model: Function that writes the model's files.
        stop: The `StopRequest`.
        report: A `Report`.
    """

    def __init__(
        self,
        folder,
        schedule,
        windows,
        progress,
        *,
        evaluate,
        save_model,
        stop,
        report,
    ):
        super().__init__()
        self.progress = progress
        self._folder = folder
        self._schedule = schedule
        self._windows = windows
        self._evaluate = evaluate
        self._save_model = save_model
        self._stop = stop
        self._report = report

    def on_train_batch_end(self, batch, logs=None):
        # `self.model` is used only where needed: on JAX, this copies all of it.
        progress, schedule = self.progress, self._schedule
        loss = float(logs["window_loss"])
        if not math.isfinite(loss):
            raise self._diverged(f"The loss is {loss}", progress.step + 1)
        progress.step += 1
        progress.positions = self._windows.position_after(batch)
        progress.losses.append(loss)
        self._report.stepped(progress.step, loss)
        if schedule.is_log_entry(progress.step):
            losses, progress.losses = progress.losses, []
            self._log(training_loss=math.fsum(losses) / len(losses))
        evaluates = self._evaluate and schedule.is_evaluation(progress.step)
        stops = self._stops
        if evaluates or stops or schedule.is_checkpoint(progress.step):
            self._check_weights()
            if evaluates:
                self._measure()
            self._save()
            stops = self._stops  # Patience may have run out.
        if stops:
            self.model.stop_training = True

    @property
    def _stops(self):
        return self._stop.is_made or self._schedule.is_over(self.progress)

    def _measure(self):
        progress = self.progress
        with self._report.working("measuring the held-out perplexity"):
            found = self._evaluate()
        if math.isnan(found.perplexity):
            raise self._diverged(
                "The held-out perplexity is nan", progress.step
            )
        is_best = progress.best is None or found.perplexity < progress.best
        if is_best:
            self._save_model()
            progress.best, progress.best_step = found.perplexity, progress.step
            progress.evaluations_since_best = 0
        elif self._schedule.is_regular_evaluation(progress.step):
            progress.evaluations_since_best += 1
        self._log(heldout_perplexity=found.perplexity)
        self._report.evaluated(progress.step, found, is_best)

    def _save(self):
        if self._evaluate is None:
            self._save_model()
        self.progress.log_size = self._folder.log.size
        write_training_state(self._folder.state_path, self.model, self.progress)
        self._report.saved(self.progress.step)

    def _log(self, **values):
        step = self.progress.step
        tokens = step * self._schedule.tokens_per_step
        self._folder.log.write(step=step, tokens=tokens, **values)

    def _check_weights(self):
        for variable in self.model.trainable_variables:
            if not np.isfinite(ops.convert_to_numpy(variable)).all():
                what = f"'{variable.path}' has an infinity or a NaN"
                raise self._diverged(what, self.progress.step)

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
