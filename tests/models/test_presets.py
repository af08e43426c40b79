import hashlib
import pathlib

import numpy as np
import pytest
from formats.loopback import closed_port
from formats.loopback import serve
from formats.loopback import use_cache
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


def check_same(loaded, elmo):
    for name in ("token_encoder", "encoder"):
        expected = getattr(elmo, name).get_weights()
        found = getattr(loaded, name).get_weights()
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            np.testing.assert_array_equal(a, b)


def test_names():
    assert set(PRESETS) == {
        "english_mini",
        "original",
        "5.5B",
        "medium",
        "small",
        "portuguese",
        "pubmed",
    }


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_table(name):
    preset = PRESETS[name]
    if preset.path is None:
        assert preset.options_url.startswith("https://")
        assert preset.options_url.endswith("_options.json")
        assert preset.weights_url.startswith("https://")
        assert preset.weights_url.endswith(".hdf5")
        assert 50 < preset.megabytes < 400
    else:
        assert preset.options_url is preset.weights_url is None
        found = {path.name for path in pathlib.Path(preset.path).iterdir()}
        assert {"options.json", "weights.hdf5", "README.md"} <= found
    assert preset.licence
    assert preset.description


def test_no_two_presets_share_a_file():
    urls = [
        url
        for preset in PRESETS.values()
        if preset.path is None
        for url in (preset.options_url, preset.weights_url)
    ]
    assert len(set(urls)) == len(urls)


def test_preset_is_downloaded_once(monkeypatch, model, cache):
    elmo, folder = model
    with serve(folder) as server:
        publish(monkeypatch, server.root)
        for _ in range(2):
            check_same(ElmoLayer.from_preset("small"), elmo)
        assert server.requests == ["/any_options.json", "/any_weights.hdf5"]
    check_same(ElmoLayer.from_preset("small"), elmo)
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
        check_same(ElmoLayer.from_preset("small"), elmo)


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
    options = cache / "keras_elmo/small/options.json"
    weights = cache / "keras_elmo/small/weights.hdf5"
    check_fails(preset.options_url, options)
    options.parent.mkdir(parents=True, exist_ok=True)
    options.write_bytes((folder / "any_options.json").read_bytes())
    check_fails(preset.weights_url, weights)
    weights.write_bytes((folder / "any_weights.hdf5").read_bytes())
    check_same(ElmoLayer.from_preset("small"), elmo)


def test_file_that_is_not_on_the_server(monkeypatch, model, cache):
    with serve(model[1]) as server:
        preset = publish(monkeypatch, server.root, "moved.hdf5")
        for _ in range(2):
            check_fails(
                preset.weights_url, cache / "keras_elmo/small/weights.hdf5"
            )
        assert server.requests == [
            "/any_options.json",
            "/moved.hdf5",
            "/moved.hdf5",
        ]


@pytest.mark.parametrize("name", ["Small", "", "\0", None, 3, ["small"]])
def test_unknown_name(cache, name):
    with pytest.raises(ValueError, match="no preset of that name") as info:
        ElmoLayer.from_preset(name)
    message = str(info.value)
    assert str(sorted(PRESETS)) in message
    assert "or the path or URL of a model" in message
    assert f"Received: {name!r}" in message
    assert not cache.exists()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Small", "'small'"),
        ("english-mini", "'english_mini'"),
        ("orignal", "'original'"),
        ("english", "'english_mini'"),
    ],
)
def test_names_like_a_misspelt_one_are_suggested(cache, name, meant):
    with pytest.raises(ValueError, match=rf"Did you mean {meant}\?"):
        ElmoLayer.from_preset(name)


def test_only_names_that_the_caller_takes_are_suggested(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    taggers = r"\['english_names', 'english_pos'\].*mean 'english_pos'"
    with pytest.raises(ValueError, match=taggers):
        Tagger.load("english_po")
    with pytest.raises(
        ValueError, match="mean 'english_pos' or 'english_mini'"
    ):
        find_model("english", names=None)


def test_the_class_has_the_presets():
    assert ElmoLayer.presets is PRESETS
    assert "60 M tokens" in ElmoLayer.presets["english_mini"].description
