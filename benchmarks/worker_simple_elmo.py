"""Runs simple_elmo: get_elmo_vectors without warm-up, in a session kept open.

See worker.py.
"""

import logging
import os
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

from kept_session import open_session
from simple_elmo import ElmoModel
from simple_elmo import weight_layers
from worker import serve


def load(folder):
    logging.disable(logging.INFO)
    model = ElmoModel()
    model.load(folder, max_batch_size=128)
    # What get_elmo_vectors does itself if it is given no session.
    model.elmo_sentence_input = weight_layers(
        "input", model.sentence_embeddings_op, use_layers="all"
    )
    session, reset = open_session()

    def vectors(sentences):
        layers = model.get_elmo_vectors(
            sentences, warmup=False, layers="all", session=session
        ).astype("float32")
        return [x[:, : len(s)] for x, s in zip(layers, sentences)]

    return types.SimpleNamespace(vectors=vectors, reset=reset)


if __name__ == "__main__":
    serve(load)
