"""Jobs that are killed at any moment."""

import functools
import itertools
import os
import signal
import sys
import traceback

import pytest
from embedding.small_corpus import Embedder
from embedding.small_corpus import check
from embedding.small_corpus import num_finished
from embedding.small_corpus import run
from tiers import quick_first

# Python 3.12 warns of forks in processes with threads; the child uses none.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no os.fork."),
]
NUM_KILLS = 18  # For each suffix.


def run_in_child(output, kill_at=None, **kwargs):
    """Runs the job in a child process, which is killed at its n-th event.

    Returns how it ended: 0, or the number of the signal.
    """
    child = os.fork()
    if child == 0:
        try:
            run_with_events(output, kill_at, **kwargs)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) or os.WEXITSTATUS(status)


def run_with_events(output, kill_at, **kwargs):
    """Runs the job; writes the number of its events to the file `events`.

    An event is a system call that Python makes on a file of the job, or a
    sentence that is embedded or merged, when its data are half written.
    """
    numbers = itertools.count(1)
    folder = str(output.parent)

    def event():
        if next(numbers) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(name, arguments):
        is_ours = any(str(a).startswith(folder) for a in arguments)
        if is_ours and name.startswith(("open", "os.", "shutil.", "tempfile.")):
            event()

    def embed(sentences):
        for vectors in Embedder()(sentences):
            event()
            yield vectors

    fsync = os.fsync
    os.fsync = lambda handle: (event(), fsync(handle), event())
    # An audit hook cannot be removed, but it ends with the child.
    sys.addaudithook(audit)
    run(output, embed=embed, on_merge=lambda _: event(), **kwargs)
    num_events = next(numbers) - 1
    output.with_name("events").write_text(str(num_events))


@pytest.fixture(scope="module")
def num_events(tmp_path_factory):
    """The number of events in a whole job, by the suffix of its file."""

    @functools.cache
    def count(suffix):
        folder = tmp_path_factory.mktemp("events")
        # The first run may also import modules and create folders.
        assert run_in_child(folder / f"first{suffix}") == 0
        (folder / "events").unlink()
        assert run_in_child(folder / f"second{suffix}") == 0
        check(folder / f"second{suffix}")
        return int((folder / "events").read_text())

    return count


@pytest.mark.parametrize("suffix", [".hdf5", ".npz"])
@pytest.mark.parametrize(
    "kill", quick_first(sorted(range(NUM_KILLS), key=lambda i: i % 3), 6)
)
def test_a_kill_at_any_point_does_no_harm(tmp_path, num_events, suffix, kill):
    output = tmp_path / f"vectors{suffix}"
    last = num_events(suffix)
    assert last > 150
    kill_at = 1 + round(kill * (last - 1) / (NUM_KILLS - 1))
    status = run_in_child(output, kill_at)
    assert status == signal.SIGKILL
    finished = num_finished(output)
    is_there = output.exists()
    if is_there:
        check(output)

    embed = Embedder()
    if is_there and not finished:
        # Everything except the folder was already removed.
        with pytest.raises(FileExistsError):
            run(output, embed=embed)
    else:
        run(output, embed=embed)
        assert embed.num_read == (0 if is_there else 40 - finished)
    check(output)
    assert os.listdir(tmp_path) == [output.name]
    whole = tmp_path / f"whole{suffix}"
    run(whole)
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.exhaustive
def test_a_job_that_is_killed_again_and_again_gets_done(tmp_path):
    output = tmp_path / "vectors.hdf5"
    finished = [0]
    while not output.exists():
        assert len(finished) < 50
        kill_at = 45 + 2 * len(finished)
        run_in_child(output, kill_at, overwrite=True)
        if not output.exists():
            finished.append(num_finished(output))
    check(output)
    assert len(finished) > 5
    assert finished == sorted(finished)
    assert finished[-1] > 5


@pytest.mark.parametrize("kill", range(8))
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path, num_events, kill):
    output = tmp_path / "vectors.hdf5"
    output.write_text("old")
    # Near the end, where the file is replaced.
    kill_at = num_events(".hdf5") - 3 * kill
    run_in_child(output, kill_at, overwrite=True)
    if output.read_bytes() != b"old":
        check(output)
    if os.path.exists(f"{output}.parts/job.json"):
        embed = Embedder()
        run(output, embed=embed, overwrite=True)
        assert embed.num_read == 0
    check(output)


def test_what_a_kill_left_half_written_is_removed(tmp_path, num_events):
    output = tmp_path / "vectors.hdf5"
    left = set()
    for kill_at in range(20, num_events(".hdf5"), 13):
        run_in_child(output, kill_at, restart=True, overwrite=True)
        left.update(path.name for path in tmp_path.glob("*/.*"))
        run(output, overwrite=True)
        assert os.listdir(tmp_path) == ["vectors.hdf5"]
    assert {".output.keras_elmo", ".job.json.keras_elmo"} <= left
