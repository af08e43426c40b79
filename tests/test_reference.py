"""Comparison with stored results of bilm-tf and AllenNLP: `tests/reference`."""

import json

import h5py
import numpy as np
import pytest
from backend_gradients import weight_gradients
from comparisons import assert_close
from comparisons import assert_equal
from conftest import ROOT
from keras import ops

from keras_elmo import ElmoLayer
from keras_elmo import batch_to_ids
from keras_elmo.formats.array_tables import stored_arrays
from keras_elmo.formats.bilm_variables import BILM_TABLE
from keras_elmo.models.bilm_weights import bilm_arrays
from keras_elmo.models.variables import find_variable

pytestmark = pytest.mark.in_graphs(False)

BILM_TF = ROOT / "tests/reference/bilm_tf"
ALLENNLP = ROOT / "tests/reference/allennlp"


def load(folder, **kwargs):
    return ElmoLayer.from_bilm(
        folder / "options.json", folder / "lm_weights.hdf5", **kwargs
    )


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "folder, name",
    [
        (BILM_TF, "lm_embeddings_sentences.json"),
        (ALLENNLP, "sentences.json"),
    ],
    ids=["bilm-tf", "AllenNLP"],
)
@pytest.mark.in_graphs(True)
def test_stored_embeddings(folder, name, path_taken):
    """They carry the state from sentence to sentence, so this does it too."""
    texts = json.loads((folder / name).read_text())
    elmo = load(folder, return_all_layers=True)
    shares = []
    for k, sentences in enumerate(texts):
        state = elmo.get_initial_state(1)
        with h5py.File(folder / f"lm_embeddings_{k}.hdf5") as stored:
            assert len(stored) == len(sentences)
            for i, sentence in enumerate(sentences):
                ids = batch_to_ids([sentence.split()])
                layers, *state = elmo(
                    ids, initial_state=state, return_state=True
                )
                expected = np.concatenate([*stored[str(i)][...]], axis=-1)
                assert_close(ops.convert_to_numpy(layers)[0, -1], expected)
                if i and folder == ALLENNLP:
                    alone = ops.convert_to_numpy(elmo(ids))[0, -1]
                    difference = np.linalg.norm(alone - expected)
                    shares.append(difference / np.linalg.norm(expected))
    if shares:  # Without the state, as docs/migrating says.
        assert f"{min(shares):.0%} {max(shares):.0%}" == "14% 45%"


def stored_gradients(folder):
    """Returns arrays, and for each weight part of its gradient, and where."""
    with h5py.File(folder / "gradients.hdf5") as file:
        data = {
            key: file[key][...] for key in ("character_ids", "elmo", "mask")
        }
        gradients = {}

        def visit(key, item):
            if isinstance(item, h5py.Dataset):
                gradients[key] = item[...], item.attrs.get("step", 1)

        file["gradients"].visititems(visit)
        return data, gradients, file.attrs["loss"]


def test_allennlp_mix_and_gradients_of_every_weight(path_taken):
    check_mix_and_gradients(ALLENNLP)


@pytest.mark.exhaustive
def test_allennlp_whole_gradients(shared):
    check_mix_and_gradients(shared / "reference/allennlp")


def check_mix_and_gradients(folder):
    data, expected, expected_loss = stored_gradients(folder)
    elmo = load(ALLENNLP, trainable=True)
    ids = data["character_ids"]
    vectors = elmo(ids)
    assert_close(
        ops.convert_to_numpy(vectors) * data["mask"][..., None],
        data["elmo"] * data["mask"][..., None],
    )
    assert_equal(vectors._keras_mask, data["mask"])

    factors = np.sin(np.arange(data["elmo"].size)).reshape(data["elmo"].shape)
    factors = (factors * data["mask"][..., None]).astype("float32")
    factors = ops.convert_to_tensor(factors)
    loss, gradients = weight_gradients(
        elmo, lambda vectors: ops.sum(factors * vectors), ids
    )
    assert loss == pytest.approx(expected_loss, rel=1e-4)
    found = {
        name: gradients[find_variable(elmo, name).path]
        for name in bilm_arrays(elmo)
    }
    found = stored_arrays(BILM_TABLE, found)
    mix = elmo.scalar_mixes[0]
    found["scalar_mix/weights"] = gradients[mix.scalars.path]
    found["scalar_mix/gamma"] = gradients[mix.gamma.path]
    assert set(found) == set(expected)
    for key, (value, step) in expected.items():
        difference = np.abs(found[key].ravel()[::step] - value.ravel()).max()
        assert difference <= 1e-3 * np.abs(value).max(), key
