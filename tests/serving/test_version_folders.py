import os

import pytest

from keras_elmo.serving.version_folders import version_folder


def make(path, *versions):
    for version in versions:
        (path / version).mkdir(parents=True)
        (path / version / "saved_model.pb").touch()
    return path


def test_the_next_free_number(tmp_path):
    path = tmp_path / "model"
    assert version_folder(path) == str(path / "1")
    make(path, "1", "2", "10")
    make(path, ".11.x", "12a", "²")
    assert version_folder(path) == str(path / "11")


def test_the_number_that_is_asked_for(tmp_path):
    path = make(tmp_path, "3")
    assert version_folder(path, 2) == str(path / "2")
    assert version_folder(path, 0) == str(path / "0")
    with pytest.raises(ValueError, match="Version 3 already exists; leave"):
        version_folder(path, 3)
    assert version_folder(path, 3, overwrite=True) == str(path / "3")
    assert version_folder(path, 4, overwrite=True) == str(path / "4")


def test_what_is_no_model_is_never_replaced(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "2").touch()
    for version in (1, 2):
        with pytest.raises(ValueError, match="only replaces a SavedModel"):
            version_folder(tmp_path, version, overwrite=True)


@pytest.mark.parametrize("version", [-1, 1.5, "1", True])
def test_versions_that_are_no_number(tmp_path, version):
    with pytest.raises(ValueError, match="`version`"):
        version_folder(tmp_path, version)


def test_overwriting_needs_a_number(tmp_path):
    with pytest.raises(ValueError, match="say which `version`"):
        version_folder(tmp_path, overwrite=True)


def test_a_path_that_is_no_folder_of_versions(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match="Received a file"):
        version_folder(file)
    make(tmp_path, "model")
    with pytest.raises(ValueError, match="Received a SavedModel"):
        version_folder(tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == ["file", "model"]
