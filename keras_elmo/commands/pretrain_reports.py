"""What `keras-elmo pretrain` shows."""

import collections
import os

from keras_elmo.commands.perplexity import describe_perplexity
from keras_elmo.commands.perplexity import measure
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.reports import Report

_FILES = {
    "options.json, weights.hdf5": "the biLM, for ElmoLayer, AllenNLP, bilm-tf",
    "softmax.hdf5, vocab.txt": "needed to predict words, and for --from",
    "training.json, training_state.hdf5": "to resume training",
    "log.jsonl": "losses and perplexities",
}


class TrainingProgress(Report):
    """Shows the progress of a training.

    The loss is the mean over as many steps as an entry of the log. The speed
    is that of the steps only, without evaluations and checkpoints.

    Args:
        progress: The `Progress` to show it with.
    """

    def __init__(self, progress):
        self.first_step = 0
        """The number of steps that were done before."""
        self._progress = progress

    def working(self, what):
        return self._progress.waiting(what)

    def counted(self, sentences, tokens):
        self._progress.show(
            f"counting the corpus: {sentences:,} sentences, {tokens:,} tokens"
        )

    def begun(self, step, schedule):
        self.first_step = step
        begins = f"after step {step:,}" if step else "from the start"
        self._progress.say(
            f"training {begins}: {schedule.total:,} steps of "
            f"{schedule.tokens_per_step:,} tokens"
        )
        self._progress.start("steps", schedule.total)
        self._tokens_per_step = schedule.tokens_per_step
        self._losses = collections.deque(maxlen=schedule.log_every)

    def stepped(self, step, loss):
        is_first = not self._losses  # The first step is slower.
        self._losses.append(loss)
        mean = sum(self._losses) / len(self._losses)
        self._progress.update(
            step,
            step * self._tokens_per_step,
            resumed=is_first,
            note=f"loss {mean:.3f}",
        )

    def evaluated(self, step, perplexity, is_best):
        best = ", the best so far" if is_best else ""
        self._progress.say(
            f"step {step:,}: held-out {describe_perplexity(perplexity)}{best}"
        )
        self._progress.skip_time()

    def saved(self, step):
        self._progress.skip_time()

    def stopping(self):
        self._progress.say(
            "stopping after this step, with a checkpoint; a second Ctrl-C "
            "stops at once"
        )


def print_summary(arguments, settings, training, first_step):
    """Prints what a training's folder contains, and the model's perplexity.

    Args:
        arguments: The command's.
        settings: The `Settings`.
        training: The `Training` that `pretrain` returned.
        first_step: Integer, the number of steps that were done before.
    """
    folder, progress = arguments.output, training.progress
    if progress.step == first_step:
        _print_nothing_done(training)
    step = progress.best_step or progress.step
    print(
        f"'{folder}' contains the model after step {step:,} of "
        f"{progress.step:,} ({training.tokens:,} tokens in each direction):"
    )
    for names, what in _FILES.items():
        print(f"  {names:34}  {what}")
    if arguments.heldout:
        # A relative path could be the name of a preset.
        path = os.path.abspath(folder)
        found = measure(path, read_sentences(arguments.heldout))
        print(
            f"Held-out {describe_perplexity(found)}, by bilm-tf's procedure, "
            f"on {found.tokens:,} tokens"
        )
    if "char_cnn" in settings.options:
        print(f'To use it: keras_elmo.ElmoLayer.from_bilm("{folder}")')


def describe_interrupted(arguments, progress):
    """Returns what an interrupted training leaves, and how to resume it.

    Args:
        arguments: The command's.
        progress: The `Progress` of the training.
    """
    how = "the same command"
    if arguments.restart:
        how += " without --restart"
    text = (
        f"keras-elmo: interrupted after step {progress.step:,}; {how} resumes."
    )
    if not arguments.heldout:
        return text
    if progress.best_step is None:
        return f"{text} No model is written before the first evaluation."
    return (
        f"{text} '{arguments.output}' contains the best model so far, of step "
        f"{progress.best_step:,}: held-out perplexity {progress.best:,.2f}."
    )


def _print_nothing_done(training):
    if training.progress.step >= training.schedule.total:
        print(
            "The training was already finished: with more --epochs or --steps, "
            "it continues."
        )
    else:
        print(
            "The training had already stopped, as its perplexity did not "
            "improve: with a larger --patience, it continues."
        )
