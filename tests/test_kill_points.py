"""`kill_points` finds what a kill leaves."""

import itertools
import os
import signal

import pytest
from kill_points import files_in
from kill_points import kill_points
from kill_points import run_until_killed

from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.atomic import write_folder_atomically
from keras_elmo.files.hdf5_files import create_hdf5

# Python 3.12 warns of forks in processes with threads; the child uses none.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no os.fork."),
]


def write(folder):
    with open(os.path.join(folder, "a"), "w") as file:
        file.write("a")
    with create_hdf5(os.path.join(folder, "b")) as (store, _):
        store["numbers"] = range(9)


def test_points_are_what_killed_processes_leave(tmp_path):
    folder = tmp_path / "folder"

    def run(point):
        write_folder_atomically(folder / "a", write, "ab")
        write_atomically(folder / "b", lambda x: open(x, "w").close(), False)

    points = kill_points(run, folder)
    found = []
    for kind in ("after open", "after link"):
        for number in itertools.count(1):
            points[0].restore(folder)
            child = os.fork()
            if child == 0:
                try:
                    run_until_killed(run, folder, kind, number)
                finally:
                    os._exit(0)
            _, status = os.waitpid(child, 0)
            if status == 0:
                break
            assert status == signal.SIGKILL
            found.append(files_in(folder))
    assert len(found) > 9
    assert all(files in [x.files for x in points] for files in found)
