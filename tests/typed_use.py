# mypy: disallow-untyped-calls, disallow-untyped-defs, disallow-any-generics
# mypy: warn-return-any, check-untyped-defs, strict-equality
"""Code as users write it, only for mypy: tests the types in the wheel."""

from typing import assert_type

import keras
import numpy as np

from keras_elmo import CRF
from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import CRFDecoder
from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import Highway
from keras_elmo import ScalarMix


def make_layers() -> list[keras.layers.Layer]:
    token_encoder = CharCNNEmbedding(4, [(1, 4), [2, 8]], activation="tanh")
    encoder = BiLMEncoder(8, projection_dim=4, cell_clip=None, name="encoder")
    mixes = [ScalarMix(fixed_weights=[0, 0, 1]), ScalarMix(regularizer="l2")]
    elmo = ElmoLayer(
        token_encoder,
        encoder,
        scalar_mix=mixes,
        num_representations=2,
        dropout=0.5,
    )
    ids = token_encoder.make_vectorization().batch_to_ids([["a", b"b"]])
    assert_type(ids, np.ndarray)
    elmo.all_layers(ids)
    elmo(ids, initial_state=elmo.get_initial_state(1), return_state=True)
    crf = CRF(3, tag_names=("O", "B-A", "I-A"), scheme="BIO")
    crf.decode(crf(ids))
    return [elmo, Highway(), crf, CRFDecoder(return_marginals=True)]


def embed() -> list[np.ndarray]:
    elmo = ElmoLayer.from_preset("english_mini")
    assert_type(elmo, ElmoLayer)
    elmo.save_to_bilm("options.json", "weights.hdf5")
    embedder = ElmoEmbedder(elmo, layers="average")
    return list(embedder.embed_sentences([["a", "b"]]))


# A wrong argument type must be an error, or `warn_unused_ignores` reports it.
CRF("3")  # type: ignore[arg-type]
