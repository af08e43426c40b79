"""What all writers do; and models loaded in a process that has nothing else."""

import json
import os
import pathlib
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from small_models import make_shallow_elmo

import keras_elmo
from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo import batch_to_ids
from keras_elmo import export_onnx
from keras_elmo import export_saved_model
from keras_elmo.commands.main import main
from keras_elmo.files import atomic

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="One backend shows it.",
)
SENTENCES = [["Save", "me", "."], ["Héllo"], ["東京", "へ"]]

LOAD = """
import sys, keras_elmo, numpy as np, keras  # In this order.
import json, tensorflow as tf
tf.config.optimizer.set_experimental_options(json.loads(sys.argv[2]))
model = keras.saving.load_model("model.keras")
np.save("loaded.npy", model.predict(np.load("ids.npy"), verbose=0))
assert len(model.trainable_weights) == int(sys.argv[1])
"""


@pytest.mark.exhaustive
def test_reload_in_a_fresh_process_without_the_weight_files(
    shared, tmp_path, built_optimizers
):
    import tensorflow as tf

    elmo = ElmoLayer.from_bilm(shared / "reference/bilm_tf_english")
    inputs = keras.Input((None, 50), dtype="int32")
    x = keras.layers.LSTM(4, return_sequences=True)(elmo(inputs))
    x = keras.layers.Dense(3, activation="softmax")(x)
    model = keras.Model(inputs, x)
    model.compile("adam", "sparse_categorical_crossentropy")
    ids = batch_to_ids(SENTENCES)
    model.fit(ids, np.zeros((3, 3), "int32"), verbose=0)
    expected = model.predict(ids, verbose=0)
    np.save(tmp_path / "ids.npy", ids)
    model.save(tmp_path / "model.keras")
    # The same options, so that both processes round alike.
    options = json.dumps(tf.config.optimizer.get_experimental_options())
    arguments = [str(len(model.trainable_weights)), options]
    root = str(pathlib.Path(keras_elmo.__file__).parent.parent)
    subprocess.run(
        [sys.executable, "-c", LOAD, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        check=True,
        timeout=300,
    )
    np.testing.assert_array_equal(np.load(tmp_path / "loaded.npy"), expected)


@pytest.mark.filterwarnings("ignore:You are saving")
@pytest.mark.parametrize("part", ["elmo", "token encoder"])
def test_the_former_format_of_keras_is_refused(tmp_path, part):
    elmo = make_shallow_elmo()
    layer = elmo if part == "elmo" else elmo.token_encoder
    ids = keras.Input((None, 12), dtype="int32")
    inner = keras.Model(ids, keras.layers.LSTM(3)(layer(ids)))
    for model in (inner, keras.Model(ids, inner(ids))):
        with pytest.raises(ValueError, match=r'`model.save\("model.keras"\)`'):
            model.save(tmp_path / "model.h5")
        model.save_weights(tmp_path / "model.weights.h5")


def save_tagger(elmo, path, **options):
    ids = keras.Input((None, 12), dtype="int32")
    model = keras.Model(ids, keras.layers.Dense(2)(elmo(ids)))
    Tagger(model, ["A", "B"]).save(path, **options)


def save_to_bilm(elmo, path, **options):
    elmo.save_to_bilm(path.parent / "options.json", path, **options)


def embed_file(elmo, path, **options):
    ElmoEmbedder(elmo).embed_file(["Two words"], path, **options)


def embed(elmo, path, overwrite=False):
    (path.parent / "in.txt").write_text("Two words")
    elmo.save_to_preset(path.parent / "elmo", overwrite=True)
    names = [str(path.parent / name) for name in ("elmo", "in.txt")]
    flags = ["--overwrite"] if overwrite else []
    if main(["embed", *names, str(path), "--quiet", *flags]):
        raise FileExistsError


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (save_tagger, "a.keras"),
        (save_to_bilm, "a.hdf5"),
        (embed_file, "a.npz"),
        (embed, "a.npz"),
        (export_onnx, "a.onnx"),
        (ElmoLayer.save_to_preset, "a"),
        (export_saved_model, "1"),
    ],
)
def test_a_file_that_appears_meanwhile_is_not_replaced(
    tmp_path, monkeypatch, capsys, write, name
):
    if write is export_onnx:
        pytest.importorskip("onnx")
    elmo, folder = make_shallow_elmo(), tmp_path / "folder"
    folder.mkdir()
    path = folder / name
    mine = path if path.suffix else path / "config.json"
    sync = atomic._sync

    def appear_and_sync(source):  # It is complete now, and is not moved yet.
        if str(source).startswith(str(folder / f".{name}")) or (
            source == f"{path}.parts/output"
        ):
            mine.parent.mkdir(exist_ok=True)
            mine.write_text("mine")
        sync(source)

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_sync", appear_and_sync)
        with pytest.raises(FileExistsError) as info:
            write(elmo, path)
    told = f"{info.value}{capsys.readouterr().err}".strip()
    assert f"'{path}' has appeared meanwhile" in told
    kept = pathlib.Path(re.search(r"complete, in '(.*)'\.$", told)[1])
    assert mine.read_text() == "mine"
    assert not [x for x in folder.iterdir() if x.name.startswith(".")]
    write(elmo, path, overwrite=True)
    if path.suffix == ".npz":
        assert mine.read_bytes() != b"mine"
        assert not kept.exists() or kept.read_bytes() == path.read_bytes()
    else:
        assert kept.is_dir() == path.is_dir()
        assert kept.is_dir() or kept.suffix == path.suffix
    with pytest.raises(FileExistsError):
        write(elmo, path)
