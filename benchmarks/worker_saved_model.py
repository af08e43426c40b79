"""Runs an exported model of this package, as a server would; see worker.py.

`worker_saved_model.py FOLDER EXPORTED` exports a model that consists of one
`ElmoLayer`.
"""

import json
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf
from worker import serve

import keras_elmo


def prepare(folder, exported):
    """Exports once, in another process, because this one must only serve."""
    if not os.path.exists(exported):
        command = [sys.executable, __file__, folder, exported]
        subprocess.run(command, check=True, stdout=sys.stderr)


def load(folder, exported):
    return Served(folder, exported)


class Served:
    def __init__(self, folder, exported):
        options = json.loads(pathlib.Path(folder, "options.json").read_text())
        self._width = options["char_cnn"]["max_characters_per_token"]
        self._model = tf.saved_model.load(exported)

    def vectors(self, sentences):
        ids = keras_elmo.batch_to_ids(sentences, self._width)
        vectors = tf.cast(self._model.serve(ids), "float32").numpy()
        return [x[None, : len(s)] for x, s in zip(vectors, sentences)]

    def reset(self):
        pass


def export(folder, exported):
    elmo = keras_elmo.ElmoLayer.from_bilm(
        f"{folder}/options.json", f"{folder}/weights.hdf5"
    )
    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    keras.Model(ids, elmo(ids)).export(exported, verbose=False)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        export(*sys.argv[1:])
    else:
        serve(load, prepare)
