"""Times this package; see worker.py for how it is driven."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
from worker import serve

import keras_elmo


def load(folder, compiled=True, dtype=None):
    elmo = keras_elmo.ElmoLayer.from_bilm(
        f"{folder}/options.json", f"{folder}/weights.hdf5", dtype=dtype
    )
    if compiled:
        spec = tf.TensorSpec((None, None, 50), "int32")
        call = tf.function(elmo, input_signature=[spec])
    else:
        call = elmo
    return lambda ids: tf.cast(call(ids), "float32").numpy()


if __name__ == "__main__":
    serve(load)
