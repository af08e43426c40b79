"""What `keras-elmo pretrain` shows while it runs."""

import collections
import contextlib
import sys
import time

import keras

from keras_elmo.commands.progress import clock_time
from keras_elmo.commands.status_line import StatusLine
from keras_elmo.pretraining.reports import Report


class Tally(Report):
    """Notes how a training went."""

    def __init__(self):
        self.first_step = self.step = 0
        """Where it began, and where it is."""
        self.total = 0
        self.tokens_per_step = 0

    def begun(self, step, schedule, tokens_per_step):
        self.first_step = self.step = step
        self.total = schedule.total
        self.tokens_per_step = tokens_per_step

    def stepped(self, step, loss):
        self.step = step

    @property
    def tokens(self):
        """How many tokens the model was trained on, in both directions each."""
        return self.step * self.tokens_per_step


class TrainingProgress(Report):
    """Shows on standard error how far a training is.

    Keras' bar on a terminal; elsewhere a line from time to time. Loss and speed
    are those since the last entry of the log was due.

    Args:
        loss_name: String, what to call the loss.
        interval: Float, seconds from line to line.
    """

    def __init__(self, loss_name, interval=10.0):
        self._loss_name = loss_name
        self._line = StatusLine(interval=interval)
        self._bar = None
        self._seconds = 0.0  # Of steps: without evaluations and checkpoints.

    def working(self, what):
        return self._line.waiting(what)

    def counted(self, sentences, tokens):
        self._line.show(
            lambda: (
                f"counting the corpus: {sentences:,} sentences, "
                f"{tokens:,} tokens"
            )
        )

    def begun(self, step, schedule, tokens_per_step):
        begins = f"after step {step:,}" if step else "from the start"
        self._line.say(
            f"training {begins}: {schedule.total:,} steps of "
            f"{tokens_per_step:,} tokens"
        )
        self._total = schedule.total
        self._tokens_per_step = tokens_per_step
        self._losses = collections.deque(maxlen=schedule.log_every)
        self._ends = collections.deque(maxlen=schedule.log_every + 1)
        if sys.stderr.isatty():
            names = [self._loss_name, "tokens/s"]
            self._bar = _Bar(schedule.total, stateful_metrics=names)
        self._start = self._last = time.monotonic()

    def stepped(self, step, loss):
        self._seconds += self._since_last()
        self._ends.append(self._seconds)
        self._losses.append(loss)
        if self._bar is None:
            self._line.show(lambda: self._describe(step))
            return
        values = [(self._loss_name, self._loss), ("tokens/s", self._rate)]
        self._bar.seconds_per_step = self._seconds_per_step
        # It writes on standard output, where nothing but results belongs.
        with contextlib.redirect_stdout(sys.stderr):
            self._bar.update(step, values)

    def evaluated(self, step, perplexity, is_best):
        self._since_last()
        best = ", the best so far" if is_best else ""
        self._line.say(
            f"step {step:,}: held-out {describe_perplexity(perplexity)}{best}"
        )

    def saved(self, step, path):
        self._since_last()

    def ended(self, step, is_over):
        if self._bar is not None and step < self._total:
            print(file=sys.stderr)  # The bar ends its line at the last step.

    def _since_last(self):
        last, self._last = self._last, time.monotonic()
        return self._last - last

    @property
    def _loss(self):
        return sum(self._losses) / len(self._losses)

    @property
    def _seconds_per_step(self):
        """0 after the first step, which takes longer than the others."""
        steps = len(self._ends) - 1
        return (self._ends[-1] - self._ends[0]) / steps if steps else 0.0

    @property
    def _rate(self):
        seconds = self._seconds_per_step
        return self._tokens_per_step / seconds if seconds else 0.0

    def _describe(self, step):
        text = f"step {step:,}/{self._total:,}, {self._loss_name} "
        text += f"{self._loss:.4f}"
        if self._rate:
            left = (self._total - step) * self._seconds_per_step
            text += (
                f", {self._rate:,.0f} tokens/s, "
                f"{clock_time(time.monotonic() - self._start)}, "
                f"{clock_time(left)} left"
            )
        return text


class _Bar(keras.utils.Progbar):
    """Keras' bar, with times of the steps that were made here alone."""

    seconds_per_step = 0.0

    def _estimate_step_duration(self, current, now):
        return self.seconds_per_step


def describe_perplexity(perplexity):
    """Returns a `Perplexity` as text."""
    return (
        f"perplexity {perplexity.perplexity:,.2f} "
        f"(forward {perplexity.forward:,.1f}, "
        f"backward {perplexity.backward:,.1f})"
    )
