"""What all writers of files do."""

import pathlib
import pickle
import re

import keras
import numpy as np
import pytest
from conftest import ON_TENSORFLOW
from small_models import make_shallow_elmo

import keras_elmo
from keras_elmo.commands.main import main
from keras_elmo.files import atomic

pytestmark = ON_TENSORFLOW
IDS = keras_elmo.batch_to_ids(
    [["Save", "me", "."], ["Héllo"], ["東京", "へ"]], 12
)


def make_model(elmo):
    ids = keras.Input((None, 12), dtype="int32")
    return keras.Model(ids, keras.layers.Dense(2)(elmo(ids)))


def test_pickle():
    elmo = make_shallow_elmo()
    copied = pickle.loads(pickle.dumps(elmo))
    np.testing.assert_array_equal(copied(IDS), elmo(IDS))


def save_tagger(elmo, path):
    keras_elmo.Tagger(make_model(elmo), ["A", "B"]).save(path)


def save_to_bilm(elmo, path):
    elmo.save_to_bilm(path.parent / "options.json", path)


def embed_file(elmo, path):
    keras_elmo.ElmoEmbedder(elmo).embed_file(["Two words"], path)


def embed(elmo, path):
    (path.parent / "in.txt").write_text("Two words")
    elmo.save_to_preset(path.parent / "elmo")
    names = [str(path.parent / name) for name in ("elmo", "in.txt")]
    if main(["embed", *names, str(path), "--quiet"]):
        raise FileExistsError


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (save_tagger, "a.keras"),
        (save_to_bilm, "a.hdf5"),
        (embed_file, "a.npz"),
        (embed, "a.npz"),
        (keras_elmo.export_onnx, "a.onnx"),
        (keras_elmo.ElmoLayer.save_to_preset, "a"),
        (keras_elmo.export_saved_model, "1"),
    ],
)
def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path, monkeypatch, capsys, write, name
):
    if write is keras_elmo.export_onnx:
        pytest.importorskip("onnx")
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    mine = path if path.suffix else path / "config.json"
    sync = atomic._sync

    def appear_and_sync(source):  # It is complete now, and is not moved yet.
        if str(source).startswith((f"{path.parent}/.{name}", f"{path}.parts")):
            mine.parent.mkdir(exist_ok=True)
            mine.write_text("mine")
        sync(source)

    monkeypatch.setattr(atomic, "_sync", appear_and_sync)
    with pytest.raises(FileExistsError) as info:
        write(make_shallow_elmo(), path)
    told = f"{info.value}{capsys.readouterr().err}".strip()
    assert f"'{path}' has appeared meanwhile" in told
    kept = pathlib.Path(re.search(r"complete, in '(.*)'\.$", told)[1])
    assert kept.exists() and kept.is_dir() == path.is_dir()
    assert mine.read_text() == "mine"
    assert not [*path.parent.glob(".*")]
