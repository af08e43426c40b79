import os

import pytest

from keras_elmo.formats.atomic import write_folder_atomically


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


def test_the_old_folder_comes_back_if_the_new_one_cannot_be_moved(
    tmp_path, monkeypatch
):
    path = tmp_path / "folder"
    write_folder_atomically(path, write("old"))

    def replace(source, target):
        raise OSError("not now")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="not now"):
        write_folder_atomically(path, write("new"), overwrite=True)
    assert (path / "inner/file").read_text() == "old"
    assert os.listdir(tmp_path) == ["folder"]
