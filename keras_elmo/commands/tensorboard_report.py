"""Curves of a training for TensorBoard. TensorFlow only."""

import importlib.util
import os

import tensorflow as tf

from keras_elmo.pretraining.reports import Report


class TensorBoardReport(Report):
    """Writes the losses and perplexities of a training.

    Args:
        folder: Path of the folder to write in.
        loss_name: String, what to call the training loss.
    """

    def __init__(self, folder, loss_name):
        self._loss_name = loss_name
        self._writer = tf.summary.create_file_writer(folder)

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

    def saved(self, step, path):
        self._writer.flush()

    def ended(self, step, is_over):
        self._writer.close()

    def _write(self, step, values):
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)


def find_tensorboard_folder(asked, output):
    """Returns where to write curves, or `None` for nowhere.

    Args:
        asked: The folder, `"auto"`, `"none"`, or `None`, which is `"auto"` if
            TensorBoard is installed.
        output: The training's folder.

    Raises:
        ImportError: If it is asked for, and not installed.
    """
    if asked == "none":
        return None
    # TensorFlow's own functions for it call those of TensorBoard.
    if importlib.util.find_spec("tensorboard") is None:
        if asked is None:
            return None
        raise ImportError(
            "--tensorboard needs the package tensorboard: "
            "pip install tensorboard"
        )
    if asked in (None, "auto"):
        return os.path.join(output, "tensorboard")
    return asked
