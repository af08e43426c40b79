import h5py
import numpy as np
import pytest
from keras import ops
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo import TokenEmbedding
from keras_elmo import batch_to_ids


def test_a_row_for_each_word(tmp_path):
    elmo = make_elmo(dtype="mixed_bfloat16")
    words = [f"word{i}" * (1 + i % 4) for i in range(1500)]
    path = tmp_path / "words.txt"
    path.write_text("!!!MAXTERMID\n".join(w + "\n" for w in ["<S>", *words]))
    elmo.dump_token_embeddings(path, tmp_path / "rows.hdf5")
    with h5py.File(tmp_path / "rows.hdf5") as store:
        rows = store["embedding"][()]
    assert rows.dtype == "float32" and rows.shape == (1501, 6)
    for i in (0, 1, 700, 1500):
        ids = batch_to_ids([[["<S>", *words][i]]], 12)
        expected = ops.cast(elmo.token_encoder(ids), "float32")[0, 0]
        np.testing.assert_allclose(
            rows[i], ops.convert_to_numpy(expected), atol=0.05
        )


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "rows.hdf5"
    for elmo, words, told in [
        (ElmoLayer(), ["the"], "has no weights yet"),
        (make_elmo(), [], "must hold words"),
        (make_elmo(), "no_file.txt", "no vocabulary file"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=told):
            elmo.dump_token_embeddings(words, path)
    elmo = ElmoLayer(TokenEmbedding(9, 512))
    elmo.build((None, None))
    with pytest.raises(ValueError, match="pass it `vocabulary`"):
        elmo.dump_token_embeddings(["the"], path)
    assert not path.exists()
