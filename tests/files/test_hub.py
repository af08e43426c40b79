"""`hf://user/repository`, with a stand-in for `huggingface_hub`."""

import sys
import types

import numpy as np
import pytest
from small_models import make_elmo

from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids
from keras_elmo.files.fetch import fetch
from keras_elmo.models.find_model import find_model

pytestmark = pytest.mark.usefixtures("portable_path")


class Hub(types.ModuleType):
    """The functions of `huggingface_hub` that are called, over a folder."""

    def __init__(self, folder):
        super().__init__("huggingface_hub")
        self.folder = folder
        self.asked = []

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


def check_same(found, elmo):
    ids = batch_to_ids([["A", "sentence"]], 12)
    np.testing.assert_array_equal(found.all_layers(ids), elmo.all_layers(ids))


@pytest.mark.parametrize(
    ("handle", "asked"),
    [
        ("hf://user/repo", ("user/repo", None)),
        ("hf://user-1/re.po_2@v1.0", ("user-1/re.po_2", "v1.0")),
        ("hf://user/repo/", ("user/repo", None)),
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
    check_same(ElmoLayer.from_bilm("hf://user/repo"), elmo)
    check_same(ElmoEmbedder.from_preset("hf://user/repo").elmo, elmo)
    files = find_model("hf://user/repo").open_language_model()
    assert files.weight_files[0].startswith(str(hub.folder))


def test_a_preset_that_changes_on_the_hub_is_looked_up_once(hub):
    elmo = make_elmo()
    elmo.save_to_preset(hub.folder)
    model = find_model("hf://user/repo")
    assert model.fingerprint() == find_model(hub.folder).fingerprint()
    check_same(model.load(ElmoLayer), elmo)
    assert hub.asked == [("user/repo", None)]


@pytest.mark.parametrize(
    "handle", ["hf://", "hf://repo", "hf://a/b/c", "hf://user/", "hf://a/b@"]
)
def test_what_is_no_repository(hub, handle):
    with pytest.raises(ValueError, match="must be hf://user/repo") as info:
        ElmoLayer.from_preset(handle)
    assert f"Received: {handle!r}" in str(info.value)
    assert hub.asked == []


def test_a_download_fails(hub, monkeypatch):
    told = "download of hf://user/no failed.*404: there is no such repository"
    with pytest.raises(OSError, match=told):
        fetch("hf://user/no", "model")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="pip install huggingface_hub"):
        fetch("hf://user/no", "model")
