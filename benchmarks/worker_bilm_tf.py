"""Runs bilm-tf: its Batcher and its biLM in one session that is kept open.

Needs a Python in which `import bilm` works, for example with TensorFlow 2 and a
bilm-tf that uses `tensorflow.compat.v1`. See worker.py.
"""

import os
import tempfile
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import tensorflow.compat.v1 as tf
from bilm import Batcher
from bilm import BidirectionalLanguageModel
from kept_session import open_session
from worker import serve


def load(folder):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as vocabulary:
        vocabulary.write("<S>\n</S>\n<UNK>\n")
        vocabulary.flush()
        batcher = Batcher(vocabulary.name, 50)
    ids = tf.placeholder("int32", (None, None, 50))
    bilm = BidirectionalLanguageModel(
        f"{folder}/options.json", f"{folder}/weights.hdf5"
    )
    output = bilm(ids)["lm_embeddings"]
    session, reset = open_session()

    def vectors(sentences):
        feed = {ids: batcher.batch_sentences(sentences)}
        layers = session.run(output, feed)
        return [x[:, : len(s)] for x, s in zip(layers, sentences)]

    return types.SimpleNamespace(vectors=vectors, reset=reset)


if __name__ == "__main__":
    serve(load)
