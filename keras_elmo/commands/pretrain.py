"""The command `keras-elmo pretrain`."""

import os
import sys

import keras
import tensorflow as tf

from keras_elmo.commands.pretrain_reports import Tally
from keras_elmo.commands.pretrain_reports import TrainingProgress
from keras_elmo.commands.pretrain_settings import make_settings
from keras_elmo.commands.pretrain_summary import print_summary
from keras_elmo.commands.tensorboard_report import TensorBoardReport
from keras_elmo.commands.tensorboard_report import find_tensorboard_folder
from keras_elmo.commands.threads import set_threads
from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.pretrain import Plan
from keras_elmo.pretraining.pretrain import pretrain
from keras_elmo.pretraining.reports import Reports
from keras_elmo.pretraining.workers import is_chief


def run(arguments):
    """Runs `keras-elmo pretrain`; returns its exit status."""
    _check_arguments(arguments)
    tensorboard = find_tensorboard_folder(
        arguments.tensorboard, arguments.output
    )
    # In this order: no strategy can be made once TensorFlow computes.
    set_threads(arguments.threads)
    strategy = make_strategy(arguments.strategy)
    if arguments.initial is not None:
        arguments.initial = find_model(arguments.initial)
    settings = make_settings(arguments)
    shows = is_chief(strategy) and not arguments.quiet
    tally = Tally()
    is_over = pretrain(
        arguments.train,
        arguments.output,
        settings,
        heldout=arguments.heldout,
        vocabulary=arguments.vocabulary,
        min_count=arguments.min_count or 3,
        max_vocabulary=arguments.max_vocabulary,
        initial=arguments.initial,
        new_softmax=arguments.new_softmax,
        plan=Plan(
            arguments.evaluate_every,
            arguments.checkpoint_every,
            arguments.log_every,
            arguments.patience,
            arguments.heldout_rows,
        ),
        strategy=strategy,
        restart=arguments.restart,
        report=Reports(
            [tally, make_report(settings, tensorboard, shows, strategy)]
        ),
    )
    if not is_over:
        if is_chief(strategy):
            _say_interrupted(tally.step, arguments.restart)
        return 130
    if shows:
        print_summary(arguments, settings, tally)
    return 0


def make_report(settings, tensorboard, shows, strategy):
    """Makes the `Report` of a training.

    Args:
        settings: The `Settings`.
        tensorboard: Folder to write TensorBoard's files in, or `None`.
        shows: Boolean, whether to show how far it is.
        strategy: The `tf.distribute.Strategy`.
    """
    loss_name = "loss" if settings.full_softmax else "sampled_loss"
    reports = []
    if shows:
        reports.append(TrainingProgress(loss_name))
    if tensorboard is not None and is_chief(strategy):
        reports.append(TensorBoardReport(tensorboard, loss_name))
    return Reports(reports)


def make_strategy(name):
    """Makes the `tf.distribute.Strategy` of a name of `STRATEGIES`."""
    if name == "one":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return tf.distribute.MirroredStrategy()
    if not os.environ.get("TF_CONFIG"):
        raise ValueError(
            "--strategy multi-worker needs the environment variable TF_CONFIG, "
            "on each machine JSON such as "
            '{"cluster": {"worker": ["host0:12345", "host1:12345"]}, "task": '
            '{"type": "worker", "index": 0}}, with its own index; and OUTPUT '
            "in a folder that all see. Received: none"
        )
    return tf.distribute.MultiWorkerMirroredStrategy()


def _check_arguments(arguments):
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "keras-elmo pretrain needs Keras' backend tensorflow: set "
            f"KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()}"
        )

    def is_given(name):
        return getattr(arguments, name) not in (None, False)

    for one, other in (
        ("options", "initial"),
        ("vocabulary", "min_count"),
        ("vocabulary", "max_vocabulary"),
    ):
        if is_given(one) and is_given(other):
            raise ValueError(
                f"{_flag(one)} and {_flag(other)} do not go together: "
                "either says what the other does. Received: both"
            )
    for one, needed in (
        ("new_softmax", "initial"),
        ("evaluate_every", "heldout"),
        ("patience", "heldout"),
    ):
        if is_given(one) and not is_given(needed):
            raise ValueError(
                f"{_flag(one)} needs {_flag(needed)}. Received: none"
            )


def _flag(name):
    return "--from" if name == "initial" else f"--{name.replace('_', '-')}"


def _say_interrupted(step, restarted):
    how = (
        "the same command, without --restart,"
        if restarted
        else ("the same command")
    )
    print(
        f"keras-elmo: interrupted after step {step:,}; {how} goes on.",
        file=sys.stderr,
    )
