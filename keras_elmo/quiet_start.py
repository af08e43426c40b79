"""Imports Keras and TensorFlow without TensorFlow's start-up messages.

To use it, make this the first import of your program, because TensorFlow writes
the messages while it is imported:

>>> import keras_elmo.quiet_start

If the import fails, what was written is shown, and the error is raised. To see
the messages, set the environment variable `TF_CPP_MIN_LOG_LEVEL` to 0. With 1
or 2 you see the warnings or errors that TensorFlow writes later.
"""

import contextlib
import faulthandler
import importlib
import os
import sys
import tempfile

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def import_quietly(name):
    """Imports a module; shows what it writes to standard error if it fails.

    TensorFlow writes while it is loaded, bypassing Python's `sys.stderr`, and
    before it knows the requested log level.

    Args:
        name: The module's name.
    """
    shows = os.environ.setdefault(_LEVEL, "3") == "0" or sys.stderr is None
    with contextlib.nullcontext() if shows else _stderr_kept():
        importlib.import_module(name)


@contextlib.contextmanager
def _stderr_kept():
    """Holds back what is written to file descriptor 2, except on failure."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        # If the process dies here, it at least says where.
        watches = not faulthandler.is_enabled()
        if watches:
            faulthandler.enable(stderr)
        try:
            yield
        except BaseException:
            sys.stderr.flush()
            kept.seek(0)
            os.write(stderr, kept.read())
            raise
        finally:
            sys.stderr.flush()
            if watches:
                faulthandler.disable()
            os.dup2(stderr, 2)
            os.close(stderr)


if "keras" not in sys.modules:
    import_quietly("keras")
