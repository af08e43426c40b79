"""What a kill leaves, at each point where a program changes files.

A kill leaves a folder as it is at that moment. So a program runs once, and
copies of its folder replace processes that are killed.
"""

import builtins
import contextlib
import itertools
import os
import pathlib
import random
import shutil
import signal
from typing import NamedTuple

import pytest

from keras_elmo.files import hdf5_files

_OF_THE_SYSTEM = "fsync link mkdir open remove rename replace rmdir unlink"
_CALLS = [
    (builtins, "open"),
    (hdf5_files._CheckedFile, "write"),
    *((os, name) for name in _OF_THE_SYSTEM.split()),
]


class Point(NamedTuple):
    """A point where a program may be killed."""

    kind: str
    files: dict
    """What is left: by path in the folder, the content of a file, `None` for a
    folder, or the path of another file that this one is a link to
    """

    def restore(self, folder):
        """Makes a folder what it was at this point."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, content in self.files.items():
            path = pathlib.Path(folder, name)
            if content is None:
                path.mkdir()
            elif isinstance(content, str):
                path.hardlink_to(pathlib.Path(folder, content))
            else:
                path.write_bytes(content)


def kill_points(run, folder):
    """Runs a program, and returns each `Point` where it may be killed.

    They are before and after each call that changes a file. Those that leave
    the same as the point before are left out.

    Args:
        run: Function that changes the folder. It is passed a function that
            makes a further point, of a kind that it is passed, a string.
        folder: Path of the folder.
    """
    points, contents = [], {}

    def point(kind):
        files = files_in(folder, contents)
        if not points or files != points[-1].files:
            points.append(Point(kind, files))

    point("before all")
    with _watching(point, folder):
        run(point)
    point("after all")
    return points


def files_in(folder, contents=None):
    """Returns the `files` of a `Point`, with equal content stored once."""
    files, names = {}, {}
    contents = {} if contents is None else contents
    for path in sorted(pathlib.Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        first = names.setdefault(path.stat().st_ino, name)
        if path.is_dir():
            files[name] = None
        elif first != name:
            files[name] = first
        else:
            content = path.read_bytes()
            files[name] = contents.setdefault(content, content)
    return files


def some(points, number):
    """Returns some points, chosen at random from each kind in turn."""
    kinds = {}
    for point in random.Random(0).sample(points, len(points)):
        kinds.setdefault(point.kind, []).append(point)
    in_turn = itertools.chain(*itertools.zip_longest(*kinds.values()))
    return list(itertools.islice(filter(None, in_turn), number))


def run_until_killed(run, folder, kind, number):
    """Runs a program in this process, and kills it at a point.

    Args:
        run, folder: As for `kill_points`.
        kind, number: It is the nth point of this kind.
    """
    left = itertools.count(number - 1, -1)

    def point(found):
        if found == kind and next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    with _watching(point, folder):
        run(point)


@contextlib.contextmanager
def _watching(point, folder):
    def watched(call, name):
        # HDF5 makes many small writes: not all of them are needed.
        every = 13 if name == "write" else 1
        numbers = itertools.count()

        def wrapper(*args, **kwargs):
            is_point = next(numbers) % every == 0
            if name == "open":
                is_point = str(args[0]).startswith(str(folder))
            if is_point:
                point(f"before {name}")
            result = call(*args, **kwargs)
            if is_point:
                point(f"after {name}")
            return result

        return wrapper

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in _CALLS:
            patch.setattr(owner, name, watched(getattr(owner, name), name))
        yield
