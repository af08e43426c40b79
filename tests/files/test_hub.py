"""`hf://user/repository`, with a stand-in for `huggingface_hub`."""

import sys

import pytest
from hdf5_arrays import check_equal
from small_models import file_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo.files.fetch import fetch
from keras_elmo.models.find_model import find_model


class Hub:
    """The functions of `huggingface_hub` that are called, over a folder."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []

    def snapshot_download(self, repo_id, *, revision=None):
        self.asked.append((repo_id, revision))
        if not self.folder.is_dir():
            raise RuntimeError("404: there is no such repository")
        return str(self.folder)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    hub = Hub(tmp_path / "snapshot")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    return hub


@pytest.mark.parametrize(
    ("handle", "asked"),
    [
        ("hf://user/repo", ("user/repo", None)),
        ("hf://user-1/re.po_2@v1.0", ("user-1/re.po_2", "v1.0")),
        ("hf://user/repo@refs/pr/1", ("user/repo", "refs/pr/1")),
        ("hf://user/repo@v1/", ("user/repo", "v1")),
    ],
)
def test_a_repository_and_its_revision(hub, handle, asked):
    hub.folder.mkdir()
    assert fetch(handle, "model") == str(hub.folder)
    assert hub.asked == [asked]


def test_a_bilm_of_the_hub(hub):
    elmo = make_elmo()
    hub.folder.mkdir()
    elmo.save_to_bilm(hub.folder / "options.json", hub.folder / "weights.hdf5")
    found = ElmoLayer.from_bilm("hf://user/repo")
    check_equal(file_arrays(found), file_arrays(elmo))


def test_a_preset_that_changes_on_the_hub_is_looked_up_once(hub):
    elmo = make_elmo()
    elmo.save_to_preset(hub.folder)
    model = find_model("hf://user/repo")
    assert model.fingerprint() == find_model(hub.folder).fingerprint()
    check_equal(file_arrays(model.load(ElmoLayer)), file_arrays(elmo))
    assert hub.asked == [("user/repo", None)]


@pytest.mark.parametrize(
    "handle", ["hf://", "hf://repo", "hf://a/b/c", "hf://user/", "hf://a/b@"]
)
def test_what_is_no_repository(hub, handle):
    told = f"must be hf://user/repo.* Received: '{handle}'"
    with pytest.raises(ValueError, match=told):
        ElmoLayer.from_preset(handle)
    assert hub.asked == []


def test_a_download_fails(hub, monkeypatch):
    told = "download of hf://user/no failed.*404: there is no such repository"
    with pytest.raises(OSError, match=told):
        fetch("hf://user/no", "model")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="pip install huggingface_hub"):
        fetch("hf://user/no", "model")
