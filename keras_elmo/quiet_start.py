"""Imports Keras, and TensorFlow with it, without TensorFlow's start-up lines.

For programs, as their first import: `import keras_elmo.quiet_start`. Errors
are raised as ever. `TF_CPP_MIN_LOG_LEVEL=0` in the environment shows the lines;
1 and 2 show TensorFlow's later warnings and errors.
"""

import contextlib
import faulthandler
import importlib
import os
import sys
import tempfile

_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def import_quietly(name):
    """Imports a module; what it writes on standard error is shown if it fails.

    TensorFlow writes while it is loaded, past Python's `sys.stderr`, and before
    it knows the level that is asked for.

    Args:
        name: The module's name.
    """
    shows = os.environ.setdefault(_LEVEL, "3") == "0" or sys.stderr is None
    with contextlib.nullcontext() if shows else _stderr_kept():
        importlib.import_module(name)


@contextlib.contextmanager
def _stderr_kept():
    """Keeps back what is written on file descriptor 2, but for a failure."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        # A process that dies here says at least where.
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
