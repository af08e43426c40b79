"""What `keras-elmo pretrain` shows while it trains."""

import collections
import math

from keras_elmo.commands.perplexity import describe_perplexity
from keras_elmo.pretraining.report import TrainingReport


class TrainingDisplay(TrainingReport):
    """Shows the progress of a training.

    The loss is the mean over as many steps as an entry of the log. The speed
    is that of the steps only, without evaluations and checkpoints.

    Args:
        progress: The `ProgressDisplay` to show it with.
    """

    def __init__(self, progress):
        self._progress = progress

    def working(self, what):
        return self._progress.waiting(what)

    def counted(self, sentences, tokens, share):
        if not sentences:
            self._progress.start("%", 100, "reading the text: ")
        note = f"{sentences:,} sentences"
        self._progress.update(math.floor(100 * share), tokens, note=note)

    def covered(self, share):
        self._progress.say(f"the vocabulary has {share:.1%} of the words")

    def begun(self, step, plan):
        if step >= plan.total:
            self._progress.say(
                f"nothing is left to train, as it has {step:,} steps; to go "
                "on, raise --steps or --epochs"
            )
            return
        begins = f"after step {step:,}" if step else "from the start"
        self._progress.say(
            f"training {begins}: {plan.total:,} steps of "
            f"{plan.tokens_per_step:,} tokens, {plan.passes:,.1f} passes over "
            "the text"
        )
        self._progress.start("steps", plan.total)
        self._tokens_per_step = plan.tokens_per_step
        self._losses = collections.deque(maxlen=plan.settings.log_every)

    def stepped(self, step, loss):
        is_first = not self._losses  # The first step is slower.
        self._losses.append(loss)
        mean = sum(self._losses) / len(self._losses)
        tokens, note = step * self._tokens_per_step, f"loss {mean:.3f}"
        self._progress.update(step, tokens, resumed=is_first, note=note)

    def evaluated(self, step, perplexity, is_best):
        best = ", the best so far" if is_best else ""
        self._progress.say(
            f"step {step:,}: held-out {describe_perplexity(perplexity)}{best}"
        )

    def stopping(self):
        self._progress.say(
            "stopping after this step, with a checkpoint; a second Ctrl-C "
            "stops at once"
        )
