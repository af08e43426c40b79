import hashlib
import pathlib

import pytest
from formats.loopback import closed_port
from formats.loopback import serve
from formats.loopback import use_cache
from models.same_bilm import check_same_bilm
from small_models import make_elmo

from keras_elmo import PRESETS
from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo.models.find_model import find_model
from keras_elmo.models.presets import Preset
from keras_elmo.models.presets import download_preset

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


def publish(monkeypatch, root, weights="any_weights.hdf5", sha256=None):
    """Makes the preset `small` point to a model on the test server."""
    preset = Preset(
        f"{root}/any_options.json",
        f"{root}/{weights}",
        *(1, "none", "a test"),
        sha256=sha256,
    )
    monkeypatch.setitem(PRESETS, "small", preset)
    return preset


def test_table():
    assert ElmoLayer.presets is PRESETS
    assert set(PRESETS) == {
        *("english_mini", "original", "5.5B", "medium", "small"),
        *("portuguese", "pubmed"),
    }
    urls = set()
    for preset in PRESETS.values():
        assert preset.licence
        assert preset.description
        if preset.path is None:
            urls |= {preset.options_url, preset.weights_url}
            assert preset.options_url.endswith("_options.json")
            assert preset.weights_url.endswith(".hdf5")
            assert 50 < preset.megabytes < 400
        else:
            assert preset.options_url is preset.weights_url is None
            found = {path.name for path in pathlib.Path(preset.path).iterdir()}
            assert {"options.json", "weights.hdf5", "README.md"} <= found
    assert all(url.startswith("https://") for url in urls)
    assert len(urls) == 2 * (len(PRESETS) - 1)


def test_preset_is_downloaded_once(monkeypatch, model, cache):
    elmo, folder = model
    with serve(folder) as server:
        publish(monkeypatch, server.root)
        for _ in range(2):
            check_same_bilm(ElmoLayer.from_preset("small"), elmo)
        assert server.requests == ["/any_options.json", "/any_weights.hdf5"]
    check_same_bilm(ElmoLayer.from_preset("small"), elmo)
    assert download_preset("small") == str(cache / "keras_elmo/small")


def test_weights_have_the_checksum_of_the_preset(monkeypatch, model, cache):
    elmo, folder = model
    content = (folder / "any_weights.hdf5").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    weights = cache / "keras_elmo/small/weights.hdf5"
    with serve(folder) as server:
        preset = publish(monkeypatch, server.root, sha256="0" * 64)
        with pytest.raises(OSError, match=f"must be {'0' * 64}, not {digest}"):
            ElmoLayer.from_preset("small")
        check_fails(preset.weights_url, weights)
        assert [path.name for path in weights.parent.iterdir()] == [
            "options.json"
        ]
        publish(monkeypatch, server.root, sha256=digest)
        check_same_bilm(ElmoLayer.from_preset("small"), elmo)


def check_fails(url, path):
    """Checks that the download fails, and that the message says what to do."""
    with pytest.raises(OSError, match="The download of") as info:
        ElmoLayer.from_preset("small")
    message = str(info.value)
    assert f"The download of {url} failed" in message
    assert f"put it at {path} and try again" in message
    assert not path.exists()


def test_files_may_be_put_there_by_hand(monkeypatch, model, cache):
    elmo, folder = model
    preset = publish(monkeypatch, closed_port())
    cached = cache / "keras_elmo/small"
    for url in (preset.options_url, preset.weights_url):
        source = folder / url.rpartition("/")[2]
        path = cached / source.name.removeprefix("any_")
        check_fails(url, path)
        cached.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    check_same_bilm(ElmoLayer.from_preset("small"), elmo)


def test_file_that_is_not_on_the_server(monkeypatch, model, cache):
    weights = cache / "keras_elmo/small/weights.hdf5"
    with serve(model[1]) as server:
        preset = publish(monkeypatch, server.root, "moved.hdf5")
        for _ in range(2):
            check_fails(preset.weights_url, weights)
        assert server.requests == [
            *("/any_options.json", "/moved.hdf5", "/moved.hdf5")
        ]


@pytest.mark.parametrize("name", ["", "\0", None, 3, ["small"]])
def test_unknown_name(cache, name):
    with pytest.raises(ValueError, match="no preset of that name") as info:
        ElmoLayer.from_preset(name)
    message = str(info.value)
    assert str(sorted(PRESETS)) in message
    assert "or the path or URL of a model" in message
    assert message.endswith(f"Received: {name!r}.")
    assert not cache.exists()


def test_names_like_a_misspelt_one_are_suggested(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for load, name, told in (
        (ElmoLayer.from_preset, "Small", r"mean 'small'\?$"),
        (ElmoLayer.from_preset, "english", r"mean 'english_mini'\?$"),
        # Only those that the caller takes.
        (Tagger.load, "english_po", r"\['english_names', 'english_pos'\], or"),
        (Tagger.load, "english_po", "mean 'english_pos'"),
        (
            lambda name: find_model(name, names=None),
            "english",
            "mean 'english_pos' or 'english_mini'",
        ),
    ):
        with pytest.raises(ValueError, match=told):
            load(name)
