import errno
import os
import signal
import stat
import threading

import pytest

from keras_elmo.files import atomic
from keras_elmo.files import exchange
from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.atomic import write_folder_atomically

OLD, NEW = "old", "new"


def write(text):
    def into(folder):
        os.makedirs(os.path.join(folder, "inner"))
        with open(os.path.join(folder, "inner", "file"), "w") as file:
            file.write(text)

    return into


def fail(folder):
    write("half")(folder)
    raise KeyError("no more")


def test_folders_within_are_written(tmp_path):
    write_folder_atomically(tmp_path / "a" / "b", write("new"))
    assert (tmp_path / "a/b/inner/file").read_text() == "new"
    assert os.listdir(tmp_path / "a") == ["b"]


def test_a_folder_that_is_there_gives_way_only_if_told(tmp_path):
    path = tmp_path / "folder"
    write_folder_atomically(path, write("old"))
    with pytest.raises(ValueError, match="must not exist yet"):
        write_folder_atomically(path, write("new"))
    assert (path / "inner/file").read_text() == "old"
    (path / "other").write_text("")
    write_folder_atomically(path, write("new"), overwrite=True)
    assert (path / "inner/file").read_text() == "new"
    assert os.listdir(path) == ["inner"]
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_leaves_all_as_it_was(tmp_path, overwrite):
    path = tmp_path / "folder"
    if overwrite:
        write_folder_atomically(path, write("old"))
    with pytest.raises(KeyError):
        write_folder_atomically(path, fail, overwrite)
    if overwrite:
        assert (path / "inner/file").read_text() == "old"
    assert os.listdir(tmp_path) == ["folder"] * overwrite


def put(text):
    def into(path):
        with open(path, "w") as file:
            file.write(text)

    return into


def test_links_are_followed(tmp_path):
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in (OLD, NEW):  # The link is dangling at first.
        write_atomically(link, put(text))
        assert link.is_symlink()
        assert target.read_text() == text
    assert os.listdir(target.parent) == ["target"]
    assert os.listdir(tmp_path).count("link") == 1


def test_a_link_to_a_folder_of_versions(tmp_path):
    write_folder_atomically(tmp_path / "target", write(OLD))
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_folder_atomically(tmp_path / "link", write(NEW), overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target/inner/file").read_text() == NEW


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_nothing_but_files_is_replaced(tmp_path, kind, is_linked):
    path = tmp_path / kind
    if kind == "device":
        path = os.devnull
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    if is_linked:
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    mode = os.stat(path).st_mode
    with pytest.raises((ValueError, OSError), match="must be a file") as info:
        write_atomically(path, fail)
    assert f"'{path}'" in str(info.value)
    assert os.stat(path).st_mode == mode


def test_a_folder_replaces_no_file(tmp_path):
    (tmp_path / "file").touch()
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="must not exist yet"):
            write_folder_atomically(tmp_path / "file", fail, overwrite)
    assert (tmp_path / "file").is_file()


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_new_files_have_the_permissions_of_the_process(
    tmp_path, umask, monkeypatch
):
    # Setting the umask would affect files of other threads.
    monkeypatch.setattr(os, "umask", None)
    write_atomically(tmp_path / "file", put(NEW))
    write_folder_atomically(tmp_path / "folder", write(NEW))
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    path.touch(0o600)
    write_atomically(path, put(NEW))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == NEW


def test_errors_name_the_path_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as info:
        write_atomically(path, fail)
    assert info.value.filename == path


def killed_in(make, path, text, **kwargs):
    """Runs a process that is killed while it writes."""

    def write_and_die(temporary):
        make(text)(temporary)
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        kind = write_atomically if make is put else write_folder_atomically
        kind(path, write_and_die, **kwargs)
    os.waitpid(child, 0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("make", [put, write])
def test_what_a_killed_process_left_is_removed(tmp_path, make):
    path = tmp_path / "model.1"
    kind = write_atomically if make is put else write_folder_atomically
    kind(path, make(OLD))
    overwrite = {} if make is put else {"overwrite": True}
    for _ in range(2):
        killed_in(make, path, "half", **overwrite)
    others = {".model.1.backup12", ".model.1.0123456", ".modelx1.01234567"}
    for name in others:
        (tmp_path / name).touch()
    assert len(os.listdir(tmp_path)) == 5  # The first's file was removed.
    kind(path, make(NEW), **overwrite)
    assert set(os.listdir(tmp_path)) == {"model.1", *others}


@pytest.mark.parametrize("make", [put, write])
def test_two_at_a_time_leave_each_other_alone(tmp_path, make):
    path = tmp_path / "path"
    kind = write_atomically if make is put else write_folder_atomically
    overwrite = {} if make is put else {"overwrite": True}

    def write_while_another_does(temporary):
        kind(path, make(OLD), **overwrite)
        make(NEW)(temporary)

    for _ in range(2):
        kind(path, write_while_another_does, **overwrite)
        file = path if make is put else path / "inner/file"
        assert file.read_text() == NEW
        assert os.listdir(tmp_path) == ["path"]


def test_a_folder_that_came_in_between_is_not_touched(tmp_path):
    path = tmp_path / "folder"

    def write_while_another_does(temporary):
        write_folder_atomically(path, write(OLD))
        write(NEW)(temporary)

    with pytest.raises(ValueError, match="must not exist yet"):
        write_folder_atomically(path, write_while_another_does)
    assert (path / "inner/file").read_text() == OLD
    assert os.listdir(tmp_path) == ["folder"]


def cannot_exchange(*_):
    raise OSError(errno.EINVAL, "not here")


@pytest.fixture(params=["in one step", "in steps"])
def folder(tmp_path, request, monkeypatch):
    """An existing folder, on systems with and without atomic exchange."""
    if request.param == "in steps":
        name = "_exchange_in_one_step"
        monkeypatch.setattr(exchange, name, cannot_exchange)
    write_folder_atomically(tmp_path / "folder", write(OLD))
    return tmp_path / "folder"


def test_a_folder_is_replaced_on_all_systems(folder):
    write_folder_atomically(folder, write(NEW), overwrite=True)
    assert (folder / "inner/file").read_text() == NEW
    assert os.listdir(folder.parent) == ["folder"]


def test_the_old_folder_comes_back_if_the_new_one_cannot_be_moved(
    folder, monkeypatch
):
    rename = os.rename
    calls = []

    def fail_second(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise OSError("not now")
        rename(source, target)

    monkeypatch.setattr(exchange, "_exchange_in_one_step", cannot_exchange)
    monkeypatch.setattr(os, "rename", fail_second)
    with pytest.raises(OSError, match="not now"):
        write_folder_atomically(folder, write(NEW), overwrite=True)
    assert (folder / "inner/file").read_text() == OLD
    assert os.listdir(folder.parent) == ["folder"]


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="Not Linux")
def test_linux_exchanges_in_one_step(tmp_path, monkeypatch):
    for name in ("one", "other"):
        write(name)(tmp_path / name)
    monkeypatch.setattr(os, "rename", None)
    exchange.exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one/inner/file").read_text() == "other"
    assert (tmp_path / "other/inner/file").read_text() == "one"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_an_exchange_that_was_killed_halfway(tmp_path, overwrite, is_replaced):
    path = tmp_path / "folder"
    write(OLD)(tmp_path / ".folder.01234567.old")
    if is_replaced:
        write("newer")(path)
    expected = "newer" if is_replaced else OLD
    if overwrite:
        with pytest.raises(KeyError):
            write_folder_atomically(path, fail, overwrite=True)
        assert (path / "inner/file").read_text() == expected
        write_folder_atomically(path, write(NEW), overwrite=True)
    else:
        with pytest.raises(ValueError, match="must not exist yet"):
            write_folder_atomically(path, write(NEW))
    expected = NEW if overwrite else expected
    assert (path / "inner/file").read_text() == expected
    assert os.listdir(tmp_path) == ["folder"]


def test_without_locks_nothing_of_others_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "try_lock", lambda *_: None)
    (tmp_path / ".file.01234567").touch()
    write_atomically(tmp_path / "file", put(NEW))
    assert set(os.listdir(tmp_path)) == {".file.01234567", "file"}


def test_many_threads_write_one_file(tmp_path):
    path = tmp_path / "file"
    texts = [str(i) * 10_000 for i in range(8)]
    threads = [
        threading.Thread(target=write_atomically, args=(path, put(text)))
        for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in texts
    assert os.listdir(tmp_path) == ["file"]
