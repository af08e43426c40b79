import hashlib
import re

import pytest
from formats.loopback import serve
from formats.loopback import use_cache
from models.same_bilm import check_same_bilm
from small_models import make_elmo

from keras_elmo import PRESETS
from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo.models.find_model import find_model
from keras_elmo.models.presets import Preset

pytestmark = pytest.mark.usefixtures("portable_path")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for downloads, instead of the user's own."""
    use_cache(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path):
    """A model's layer, and the folder of its two files."""
    folder = tmp_path / "web"
    folder.mkdir()
    elmo = make_elmo()
    elmo.save_to_bilm(folder / "any_options.json", folder / "any_weights.hdf5")
    return elmo, folder


def publish(monkeypatch, root, sha256=None):
    """Makes the preset `small` point to a model on the test server."""
    urls = f"{root}/any_options.json", f"{root}/any_weights.hdf5"
    preset = Preset(*urls, 1, "none", "a test", sha256=sha256)
    monkeypatch.setitem(PRESETS, "small", preset)
    return preset


def test_table():
    assert ElmoLayer.presets is PRESETS
    assert set(PRESETS) == {
        *("english_mini", "original", "5.5B", "medium", "small"),
        *("portuguese", "pubmed"),
    }
    published = [p for p in PRESETS.values() if p.path is None]
    assert len({url for p in published for url in p[:2]}) == 2 * 6
    for preset in published:
        assert re.fullmatch("https://.*_options.json", preset.options_url)
        assert re.fullmatch("https://.*_weights.*.hdf5", preset.weights_url)


def test_weights_have_the_checksum_of_the_preset(monkeypatch, model, cache):
    elmo, folder = model
    content = (folder / "any_weights.hdf5").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    weights = cache / "keras_elmo/small/weights.hdf5"
    with serve(folder) as server:
        preset = publish(monkeypatch, server.url("moved"))
        check_fails(preset.options_url, weights.with_name("options.json"))
        preset = publish(monkeypatch, server.root, sha256="0" * 64)
        with pytest.raises(OSError, match=f"must be {'0' * 64}, not {digest}"):
            ElmoLayer.from_preset("small")
        check_fails(preset.weights_url, weights)
        assert [path.name for path in weights.parent.iterdir()] == [
            "options.json"
        ]
        publish(monkeypatch, server.root, sha256=digest)
        for _ in range(2):
            check_same_bilm(ElmoLayer.from_preset("small"), elmo)
            assert weights.read_bytes() == content
            # A damaged file is downloaded again.
            weights.write_bytes(content[:-9] + bytes(9))
        assert server.requests.count("/any_options.json") == 1


def test_a_folder_with_the_name_of_a_preset(cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publish(monkeypatch, "http://127.0.0.1:9")
    with pytest.raises(OSError, match=r"^The download of"):
        ElmoLayer.from_preset("small")
    make_elmo().save_to_preset("small")
    with pytest.raises(OSError, match=r"write '\./small'\. The download of"):
        ElmoLayer.from_preset("small")
    ElmoLayer.from_preset("./small")


def check_fails(url, path):
    """Checks that the download fails, and that the message says what to do."""
    with pytest.raises(OSError, match="The download of") as info:
        ElmoLayer.from_preset("small")
    message = str(info.value)
    assert f"The download of {url} failed" in message
    assert f"put it at {path} and try again" in message
    assert not path.exists()


def test_unknown_name(cache):
    for name in ("", "\0", None, ["small"]):
        with pytest.raises(ValueError, match="no preset of that name") as info:
            ElmoLayer.from_preset(name)
        assert str(sorted(PRESETS)) in str(info.value)
        assert str(info.value).endswith(f"Received: {name!r}.")
    assert not cache.exists()


def test_names_like_a_misspelt_one_are_suggested(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for load, name, told in (
        (ElmoLayer.from_preset, "Small", r"mean 'small'\?$"),
        (ElmoLayer.from_preset, "english", r"mean 'english_mini'\?$"),
        # Only those that the caller takes.
        (Tagger.load, "english_po", r"\['english_names', 'english_pos'\], or"),
    ):
        with pytest.raises(ValueError, match=told):
            load(name)
    told = "mean 'english_pos' or 'english_mini'"
    with pytest.raises(ValueError, match=told):
        find_model("english", names=None)
