"""What `keras-elmo pretrain` shows, on standard error and in TensorBoard."""

import collections
import importlib.util
import os

import tensorflow as tf

from keras_elmo.commands.perplexity import describe_perplexity
from keras_elmo.commands.perplexity import measure
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.reports import Report
from keras_elmo.pretraining.reports import Reports
from keras_elmo.pretraining.training_folder import CURVES_FOLDER
from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_folder import TrainingLog

_PERPLEXITY = "heldout_perplexity"  # In the log.
_FILES = {
    "options.json, weights.hdf5": "the biLM, for ElmoLayer, AllenNLP, bilm-tf",
    "softmax.hdf5, vocab.txt": "needed to predict words, and for --from",
    "training.json, training_state.hdf5": "to resume training",
    "log.jsonl": "losses and perplexities",
}


def make_report(settings, progress, tensorboard=None):
    """Makes the `Report` of a training.

    Args:
        settings: The `Settings`.
        progress: The `Progress` to show it with.
        tensorboard: Folder for TensorBoard's files, or `None`.
    """
    loss_name = "loss" if settings.full_softmax else "sampled_loss"
    reports = [TrainingProgress(progress)]
    if tensorboard is not None:
        reports.append(TensorBoardReport(tensorboard, loss_name))
    return Reports(reports)


class Tally(Report):
    """Counts the steps and tokens of a training."""

    def __init__(self):
        self.first_step = self.step = 0
        """The steps after which it began, and where it is now."""
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
        """How many tokens the model was trained on in each direction."""
        return self.step * self.tokens_per_step


class TrainingProgress(Report):
    """Shows the progress of a training.

    The loss is the mean over as many steps as an entry of the log. The speed
    is that of the steps only, without evaluations and checkpoints.

    Args:
        progress: The `Progress` to show it with.
    """

    def __init__(self, progress):
        self._progress = progress

    def working(self, what):
        return self._progress.waiting(what)

    def counted(self, sentences, tokens):
        self._progress.show(
            f"counting the corpus: {sentences:,} sentences, {tokens:,} tokens"
        )

    def begun(self, step, schedule, tokens_per_step):
        begins = f"after step {step:,}" if step else "from the start"
        self._progress.say(
            f"training {begins}: {schedule.total:,} steps of "
            f"{tokens_per_step:,} tokens"
        )
        self._progress.start("steps", schedule.total)
        self._tokens_per_step = tokens_per_step
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


class TensorBoardReport(Report):
    """Writes the losses and perplexities of a training for TensorBoard.

    Args:
        folder: Path of the folder to write in.
        loss_name: String, what to call the training loss.
    """

    def __init__(self, folder, loss_name):
        self._folder = folder
        self._loss_name = loss_name

    def begun(self, step, schedule, tokens_per_step):
        # Not before: the folder may be of a training that is discarded.
        self._writer = tf.summary.create_file_writer(self._folder)

    def logged(self, step, values):
        if "training_loss" in values:
            self._write(step, {self._loss_name: values["training_loss"]})

    def evaluated(self, step, perplexity, is_best):
        self._write(
            step,
            {
                "heldout_perplexity": perplexity.perplexity,
                "heldout_perplexity/forward": perplexity.forward,
                "heldout_perplexity/backward": perplexity.backward,
            },
        )

    def saved(self, step):
        self._writer.flush()

    def ended(self, step, is_over):
        self._writer.close()

    def _write(self, step, values):
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)


def find_tensorboard_folder(asked, output):
    """Returns the folder to write curves in, or `None`.

    Args:
        asked: The folder, `"auto"`, `"none"`, or `None`, which means `"auto"`
            if TensorBoard is installed and `"none"` otherwise.
        output: The training's folder.

    Raises:
        ImportError: If curves are asked for and TensorBoard is not installed.
    """
    if asked == "none":
        return None
    # TensorFlow's summary functions call those of TensorBoard.
    if importlib.util.find_spec("tensorboard") is None:
        if asked is None:
            return None
        raise ImportError(
            "--tensorboard needs the package tensorboard: "
            "pip install tensorboard"
        )
    if asked in (None, "auto"):
        return os.path.join(output, CURVES_FOLDER)
    return asked


def print_summary(arguments, settings, tally):
    """Prints what a training's folder contains, and the model's perplexity.

    Args:
        arguments: The command's.
        settings: The `Settings`.
        tally: The `Tally` of the training.
    """
    folder = arguments.output
    if tally.step == tally.first_step:
        _print_nothing_done(tally)
    best = _best_entry(folder) if arguments.heldout else None
    step = best["step"] if best else tally.step
    print(
        f"'{folder}' contains the model after step {step:,} of {tally.step:,} "
        f"({tally.tokens:,} tokens in each direction):"
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


def describe_interrupted(arguments, tally):
    """Returns what an interrupted training leaves, and how to resume it.

    Args:
        arguments: The command's.
        tally: The `Tally` of the training.
    """
    how = "the same command"
    if arguments.restart:
        how += " without --restart"
    text = f"keras-elmo: interrupted after step {tally.step:,}; {how} resumes."
    if not arguments.heldout:
        return text
    best = _best_entry(arguments.output)
    if best is None:
        return f"{text} No model is written before the first evaluation."
    return (
        f"{text} '{arguments.output}' contains the best model so far, after "
        f"step {best['step']:,}: held-out perplexity {best[_PERPLEXITY]:,.2f}."
    )


def _best_entry(folder):
    """Returns the log's entry of the best model, `None` if there is none."""
    entries = TrainingLog(os.path.join(folder, LOG_FILE)).read()
    entries = [entry for entry in entries if _PERPLEXITY in entry]
    return min(entries, key=lambda e: e[_PERPLEXITY], default=None)


def _print_nothing_done(tally):
    if tally.step >= tally.total:
        print(
            "The training was already finished: with more --epochs or --steps, "
            "it continues."
        )
    else:
        print(
            "The training had already stopped, as its perplexity did not "
            "improve: with a larger --patience, it continues."
        )
