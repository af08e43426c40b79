"""`hf://user/repository`, with a stand-in for `huggingface_hub`."""

import sys
import types

import numpy as np
import pytest
from small_models import make_elmo
from tiers import quick_first

from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids
from keras_elmo.commands.main import main
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
def elmo():
    return make_elmo()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    hub = Hub(tmp_path / "snapshot")
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    return hub


def check_same(found, elmo):
    ids = batch_to_ids([["A", "sentence"]], 12)
    np.testing.assert_array_equal(found.all_layers(ids), elmo.all_layers(ids))


def write_bilm(hub, elmo):
    hub.folder.mkdir()
    elmo.save_to_bilm(hub.folder / "options.json", hub.folder / "weights.hdf5")


@pytest.mark.parametrize(
    ("handle", "asked"),
    quick_first(
        [
            ("hf://user/repo", ("user/repo", None)),
            ("hf://user-1/re.po_2@v1.0", ("user-1/re.po_2", "v1.0")),
            ("hf://user/repo/", ("user/repo", None)),
            ("hf://user/repo@refs/pr/1", ("user/repo", "refs/pr/1")),
            ("hf://user/repo@v1/", ("user/repo", "v1")),
        ],
        2,
    ),
)
def test_a_preset_of_the_hub(hub, elmo, handle, asked):
    elmo.save_to_preset(hub.folder)
    check_same(ElmoLayer.from_preset(handle), elmo)
    assert hub.asked == [asked]


def test_a_bilm_of_the_hub(hub, elmo, tmp_path, capsys):
    write_bilm(hub, elmo)
    check_same(ElmoLayer.from_preset("hf://user/repo"), elmo)
    check_same(ElmoLayer.from_bilm("hf://user/repo"), elmo)
    check_same(ElmoEmbedder.from_preset("hf://user/repo").elmo, elmo)
    files = find_model("hf://user/repo").open_language_model()
    assert files.weight_files[0].startswith(str(hub.folder))
    assert files.content["lstm"]["dim"] == 7
    text = tmp_path / "text.txt"
    text.write_text("A sentence\n")
    output = tmp_path / "text.npz"
    arguments = ["hf://user/repo", text, output, "--quiet"]
    assert main(["embed", *map(str, arguments)]) == 0
    assert output.exists()


def test_a_model_that_changes_on_the_hub_is_looked_up_once(hub, elmo):
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


def test_the_package_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="pip install huggingface_hub"):
        ElmoLayer.from_preset("hf://user/repo")


def test_a_download_fails(hub):
    with pytest.raises(OSError, match="download of hf://user/no failed") as e:
        ElmoLayer.from_preset("hf://user/no")
    assert "404: there is no such repository" in str(e.value)
