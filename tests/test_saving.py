"""Models saved, and loaded in a process that has nothing else."""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="One backend shows it; TensorFlow has export.",
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
SERVE = """
import sys, numpy as np
sys.modules["keras_elmo"] = None  # Importing it now fails.
import tensorflow as tf
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    load = tf.compat.v1.saved_model.loader.load
    loaded = load(session, ["serve"], "exported")
    signature = loaded.signature_def["serving_default"]
    (source,) = signature.inputs.values()
    (target,) = signature.outputs.values()
    for name in sys.argv[1:]:
        result = session.run(target.name, {source.name: np.load(name)})
        np.save("served_" + name, result)
"""


def run(program, folder, *arguments):
    root = str(pathlib.Path(keras_elmo.__file__).parent.parent)
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root},
        check=True,
        timeout=300,
    )


def tagger(elmo):
    inputs = keras.Input((None, 50), dtype="int32")
    x = keras.layers.LSTM(4, return_sequences=True)(elmo(inputs))
    return keras.Model(inputs, keras.layers.Dense(3, activation="softmax")(x))


@pytest.mark.exhaustive
def test_reload_in_a_fresh_process_without_the_weight_files(
    shared, tmp_path, built_optimizers
):
    import tensorflow as tf

    model = tagger(ElmoLayer.from_bilm(shared / "reference/bilm_tf_english"))
    model.compile("adam", "sparse_categorical_crossentropy")
    ids = batch_to_ids(SENTENCES)
    model.fit(ids, np.zeros((3, 3), "int32"), verbose=0)
    expected = model.predict(ids, verbose=0)
    np.save(tmp_path / "ids.npy", ids)
    model.save(tmp_path / "model.keras")
    # The same options, so that both processes round alike.
    options = json.dumps(tf.config.optimizer.get_experimental_options())
    run(LOAD, tmp_path, str(len(model.trainable_weights)), options)
    np.testing.assert_array_equal(np.load(tmp_path / "loaded.npy"), expected)


@pytest.mark.exhaustive
def test_export_runs_as_a_graph_without_the_package(shared, tmp_path):
    model = tagger(ElmoLayer.from_bilm(shared / "reference/bilm_tf_english"))
    batches = {
        "all": SENTENCES,
        "one": SENTENCES[1:2],
        "long": [["word"] * 300, [], ["x"]],
    }
    for name, sentences in batches.items():
        np.save(tmp_path / f"{name}.npy", batch_to_ids(sentences))
    model.export(tmp_path / "exported", verbose=False)
    run(SERVE, tmp_path, *[f"{name}.npy" for name in batches])
    for name, sentences in batches.items():
        np.testing.assert_allclose(
            np.load(tmp_path / f"served_{name}.npy"),
            model(batch_to_ids(sentences)),
            rtol=1e-5,
            atol=1e-5,
        )
