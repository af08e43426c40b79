"""A model saved, and loaded in a process that has nothing else."""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
from small_models import make_shallow_elmo

import keras_elmo
from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids

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
