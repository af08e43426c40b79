"""Snapshots of a folder at the moments when a process may be killed.

A kill leaves the folder as it is at that moment. Snapshots that are taken while
something is written therefore replace many processes that are killed.
"""

import builtins
import collections
import contextlib
import itertools
import os
import pathlib

import pytest

from keras_elmo.files import hdf5_files

real_open = open


class Recorder:
    """Takes a snapshot of a folder at each event where a kill may happen.

    Events are the moments before and after a call that changes a file. The
    snapshots are stored by kind of event.
    """

    def __init__(self, folder):
        super().__init__()
        self.snapshots = collections.defaultdict(list)
        self.folder = pathlib.Path(folder)
        self._contents = {}

    @property
    def all_snapshots(self):
        return list(itertools.chain(*self.snapshots.values()))

    def event(self, kind):
        files = {}
        for path in filter(pathlib.Path.is_file, self.folder.rglob("*")):
            content = path.read_bytes()
            name = str(path.relative_to(self.folder))
            files[name] = self._contents.setdefault(content, content)
        self.snapshots[kind].append(files)

    @contextlib.contextmanager
    def watching(self, *others):
        """Context in which snapshots are taken.

        Args:
            *others: Further calls that are events: pairs of an object and the
                name of its method.
        """
        calls = [(os, name) for name in ("fsync", "open", "replace", "unlink")]
        calls += [(hdf5_files._CheckedFile, "write"), *others]
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in calls:
                patch.setattr(owner, name, self._wrapped(owner, name))
            patch.setattr(builtins, "open", self._open)
            yield

    def _wrapped(self, owner, name):
        call = getattr(owner, name)
        # HDF5 makes many small writes: not all of them are needed.
        every = 13 if name == "write" else 1
        count = itertools.count()

        def wrapper(*args, **kwargs):
            takes = next(count) % every == 0
            if takes:
                self.event(f"before {name}")
            result = call(*args, **kwargs)
            if takes:
                self.event(f"after {name}")
            return result

        return wrapper

    def _open(self, path, mode="r", **kwargs):
        is_written = str(path).startswith(str(self.folder)) and mode != "rb"
        file = real_open(path, mode, **kwargs)
        if is_written:
            self.event("after open")
        return file
