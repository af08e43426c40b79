import functools
import itertools
import os
import re
import stat
import threading
import unittest.mock

import pytest
from kill_points import kill_points

from keras_elmo.files import file_lock
from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.atomic import write_folder_atomically

OLD, NEW = "old", "new"


def put(text):
    def into(path):
        with open(path, "w") as file:
            file.write(text)

    return into


def folder_of(text):
    return dict.fromkeys(["complete", "file", "inner/file"], text)


def write(text):
    def into(folder):
        os.makedirs(os.path.join(folder, "inner"))
        for name, content in folder_of(text).items():
            put(content)(os.path.join(folder, name))

    return into


def write_folder(path, write, overwrite=False):
    write_folder_atomically(
        path, write, ("complete", "file", "optional"), overwrite
    )


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def fail(folder):
    write("half")(folder)
    raise KeyError("no more")


def test_a_folder_that_is_there_gives_way_only_if_told(tmp_path):
    path = tmp_path / "a" / "b"
    with pytest.raises(KeyError):
        write_folder(path, fail)
    assert os.listdir(path.parent) == []
    write_folder(path, lambda _: None)
    write_folder(path, write(OLD))  # It is empty.
    for overwrite, error in ((False, FileExistsError), (True, KeyError)):
        with pytest.raises(error):
            write_folder(path, fail, overwrite)
        assert contents(path) == folder_of(OLD)
    (path / "optional").write_text(OLD)
    (path / "mine").write_text("mine")
    write_folder(path, write(NEW), overwrite=True)
    assert contents(path) == folder_of(NEW) | {"mine": "mine"}
    assert os.listdir(path.parent) == ["b"]


def test_links_are_followed(tmp_path):
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in (OLD, NEW):  # The link is dangling at first.
        write_atomically(link, put(text))
        assert link.is_symlink()
        assert target.read_text() == text
    assert os.listdir(target.parent) == ["target"]
    target.unlink()
    for text in (OLD, NEW):
        write_folder(link, write(text), overwrite=True)
        assert link.is_symlink()
        assert contents(target) == folder_of(text)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_permissions_are_those_of_the_process_or_of_what_is_replaced(
    tmp_path, umask, monkeypatch
):
    # Setting the umask would affect files of other threads.
    monkeypatch.setattr(os, "umask", None)
    (tmp_path / "old").touch(0o600)
    write_atomically(tmp_path / "old", put(NEW))
    write_atomically(tmp_path / "new", put(NEW))
    write_folder(tmp_path / "folder", write(NEW))
    modes = {x.name: stat.S_IMODE(x.stat().st_mode) for x in tmp_path.iterdir()}
    assert modes == {"old": 0o600, "new": 0o640, "folder": 0o750}


BOTH, FILE = (write_atomically, write_folder), (write_atomically,)


@pytest.mark.parametrize(
    ("kinds", "name", "told"),
    [
        (BOTH, "", "must have a name. Received: ''"),
        (BOTH, "loop", "Too many levels of symbolic links: 'loop'"),
        (BOTH, "a" * 256, f"File name too long: '{'a' * 256}'"),
        (BOTH, "file/new", "Not a directory: 'file/new'"),
        (FILE, "nowhere/file", "No such file or directory: 'nowhere/file'"),
        (FILE, "new/", "must be a file. Received a folder: 'new/'"),
        (FILE, "folder", "must be a file. Received a folder: 'folder'"),
        (FILE, "pipe", "Received a device or a pipe: 'pipe'"),
        (FILE, "stream", "Received a device or a pipe: 'stream'"),
        ((write_folder,), "file", "must be a folder. Received a file: 'file'"),
    ],
)
def test_a_name_that_cannot_be(tmp_path, monkeypatch, kinds, name, told):
    monkeypatch.chdir(tmp_path)
    os.symlink("loop", "loop")
    os.mkdir("folder")
    os.mkfifo("pipe")
    os.symlink("pipe", "stream")  # As /dev/stdout may be.
    (tmp_path / "file").touch()
    before = sorted(os.listdir())
    for kind in kinds:
        with pytest.raises((ValueError, OSError), match=re.escape(told) + "$"):
            kind(name, fail)
    assert sorted(os.listdir()) == before


def test_the_longest_name_that_a_file_can_have(tmp_path):
    name = "\u4e2d" * 85  # 255 bytes
    write_atomically(tmp_path / name, put(NEW))
    assert (tmp_path / name).read_text() == NEW
    write_folder(tmp_path / "folder" / name, write(NEW))
    assert contents(tmp_path / "folder" / name) == folder_of(NEW)
    assert sorted(os.listdir(tmp_path)) == ["folder", name]


def wrote(path):
    """The text that `write_over` wrote."""
    if path.is_file():
        return path.read_text()
    (text,) = set(contents(path).values())
    return text


def write_over(kind, path, text, then=lambda: None, overwrite=True):
    """Writes a file or a folder, and calls `then` before it is moved."""

    def write_and_more(temporary):
        (write if kind is write_folder else put)(text)(temporary)
        then()

    kind(path, write_and_more, overwrite=overwrite)


def found_at(path):
    """What a reader finds: a file, or a folder if it is complete."""
    if not path.is_dir():
        return path.read_text() if path.exists() else None
    found = contents(path)
    visible = {name: found[name] for name in found if name[0] != "."}
    return visible if "complete" in visible else None


LOCK = ".vocab.txt.keras_elmo.lock"


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("old", [None, OLD])
def test_a_kill_at_any_point_does_no_harm(tmp_path, kind, old):
    path = tmp_path / "vocab.txt"
    mine = {".vocab.txt.20251123", ".vocab.txt.backup01.old", ".vocab.txt.old"}
    for name in mine:
        (tmp_path / name).write_text("mine")
    if old:
        write_over(kind, path, old)
        if kind is write_folder:
            (path / "optional").write_text(old)
    # An empty lock file stays beside a new folder that is already there.
    is_new_folder = not old and kind is write_folder
    before = found_at(path)
    points = kill_points(lambda _: write_over(kind, path, NEW), tmp_path)
    after = found_at(path)
    found = []
    for point in points:
        point.restore(tmp_path)
        found.append(found_at(path))
        write_over(kind, path, "next")
        assert wrote(path) == "next"
        left = {*os.listdir(tmp_path)} - {path.name, *mine}
        assert not left or (left == {LOCK} and is_new_folder)
        assert all((tmp_path / name).read_text() == "mine" for name in mine)
    # In between, the old folder is not complete.
    between = [None] if old and kind is write_folder else []
    in_turn = [x for x, _ in itertools.groupby(found)]
    assert in_turn == [before, *between, after]


@pytest.mark.parametrize(
    ("kind", "has_locks"),
    [(write_atomically, True), (write_atomically, False), (write_folder, True)],
)
def test_many_threads_write_one_path(tmp_path, monkeypatch, kind, has_locks):
    if not has_locks:
        monkeypatch.setattr(file_lock, "try_lock", lambda *_: None)
    path = tmp_path / "path"
    texts = [str(i) * 10_000 for i in range(8)]
    threads = [
        threading.Thread(target=write_over, args=(kind, path, text))
        for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrote(path) in texts
    assert os.listdir(tmp_path) == ["path"]


def test_who_waited_for_a_lock_that_is_removed_waits_for_the_new_one(
    tmp_path, monkeypatch
):
    fcntl = pytest.importorskip("fcntl")
    flock, path = fcntl.flock, tmp_path / "lock"
    # While it waits, another one removes the file; then, one makes a new one.
    meanwhile = [[path.unlink, path.touch], [path.unlink]]

    def flock_later(handle, operation):
        for change in meanwhile.pop() if meanwhile else ():
            change()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock_later)
    with file_lock.file_lock(path, waits=True) as is_locked:
        assert is_locked and meanwhile == []
        with open(path, "ab") as file, pytest.raises(BlockingIOError):
            flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_two_at_a_time_do_not_mix_their_files(tmp_path, monkeypatch):
    """The first writer begins before there is a folder, the second after."""
    path = tmp_path / "folder"
    replace = os.replace
    first_is_done, second_moves = threading.Event(), threading.Event()
    moved = []

    def watched_replace(source, target):
        name = threading.current_thread().name
        if name == "second" and not moved:
            second_moves.set()
            first_is_done.wait(0.5)  # In vain: it waits for the second.
        moved.append(name)
        replace(source, target)

    second = threading.Thread(
        target=write_over, args=(write_folder, path, "second"), name="second"
    )

    def write_first(temporary):
        path.mkdir()
        write(OLD)(path)
        second.start()
        assert second_moves.wait(30)
        write("first")(temporary)

    monkeypatch.setattr(os, "replace", watched_replace)
    write_folder(path, write_first, overwrite=True)
    first_is_done.set()
    second.join()
    assert moved == ["second"] * 3 + [threading.current_thread().name] * 3
    assert contents(path) == folder_of("first")


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize(
    ("kind", "name", "another"),
    [
        (write_atomically, "file.txt", put),
        (write_folder, "folder.old", put),
        (write_folder, "folder.old", write),
    ],
)
def test_nothing_replaces_what_appears_meanwhile(
    tmp_path, monkeypatch, has_links, kind, name, another
):
    if not has_links:
        refuse = unittest.mock.Mock(side_effect=PermissionError)
        monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / name
    write_over(kind, path, NEW, overwrite=False)
    assert wrote(path) == NEW and os.listdir(tmp_path) == [name]
    with pytest.raises(FileExistsError, match=r"exists\. To replace it, pass"):
        kind(path, fail, overwrite=False)
    path = path.with_stem("other")
    then = functools.partial(another("mine"), path)
    with pytest.raises(FileExistsError, match=r"meanwhile.*complete, in") as e:
        write_over(kind, path, NEW, then, overwrite=False)
    assert wrote(path) == "mine"
    (kept,) = set(tmp_path.iterdir()) - {path, tmp_path / name}
    assert f"in '{kept}'" in str(e.value) and kept.suffix == path.suffix
    assert wrote(kept) == NEW
