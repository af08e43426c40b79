"""Arguments that several subcommands share."""

import argparse
import os


def positive_integer(text):
    """Parses an argument as an integer of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(
            f"must be an integer of at least 1. Received: {text!r}"
        )
    return number


def add_threads(add):
    """Adds the `--threads` argument, for `set_threads`."""
    add(
        "--threads",
        type=positive_integer,
        metavar="N",
        help="number of processors to use. Default: all if there is no GPU",
    )


def set_threads(number=None):
    """Sets the number of threads. Call it before TensorFlow computes anything.

    Two operations can run in parallel, such as the two directions of a biLM.
    Each uses half of the threads.

    Args:
        number: Integer, the number of threads. If `None`, the number of
            processors that this process may use if there is no GPU, and
            TensorFlow's own choice if there is one.

    Raises:
        ValueError: If `number` is not `None` and TensorFlow has already
            computed something, or the Keras backend is not TensorFlow.
    """
    import keras

    if keras.backend.backend() != "tensorflow":
        if number is not None:
            raise ValueError(
                "--threads needs the Keras backend tensorflow. "
                f"Received: {keras.backend.backend()}"
            )
        return
    import tensorflow as tf

    is_asked_for = number is not None
    if not is_asked_for:
        if tf.config.list_physical_devices("GPU"):
            return
        number = _usable_processors()
    try:
        tf.config.threading.set_inter_op_parallelism_threads(min(2, number))
        tf.config.threading.set_intra_op_parallelism_threads(
            max(1, number // 2)
        )
    except RuntimeError as error:  # In Python: TensorFlow is already in use.
        if is_asked_for:
            raise ValueError(
                "--threads must be set before TensorFlow computes anything. "
                f"Received: {number}, in a process that has used TensorFlow"
            ) from error


def _usable_processors():
    if hasattr(os, "sched_getaffinity"):  # Not on macOS or Windows.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
