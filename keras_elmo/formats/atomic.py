"""Files that are written whole or not at all."""

import os
import tempfile


def write_atomically(path, write):
    """Calls `write(temporary path)`, then moves the file to `path`.

    If `write` fails, nothing is left behind and a file at `path` stays as it
    was.
    """
    folder, name = os.path.split(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    os.close(handle)
    try:
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask():
    umask = os.umask(0)
    os.umask(umask)
    return umask
