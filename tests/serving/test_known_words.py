"""Vocabularies in an exported model."""

import gzip

import keras
import numpy as np
import pytest
import tensorflow as tf
from serving.answers import as_float32
from serving.answers import check
from serving.answers import hub_answer
from serving.answers import padded
from small_models import make_elmo

from keras_elmo import CharCNNEmbedding
from keras_elmo import batch_to_ids
from keras_elmo import export_saved_model
from keras_elmo.ops.known_rows import use_known_rows
from keras_elmo.serving.known_words import know_words

# Two words that are cropped to the same one, and one there twice.
WORDS = ["the", b"cat", "é", "the", "x" * 30, "x" * 40, "<S>", "", "東京"]
SENTENCES = [
    ["the", "dog", "é", "cat", ""],
    [],
    ["the"],
    ["x" * 50, "y" * 50, "<S>", "東京", "\0", "ca"],
]


def answers(ask, folder, elmo):
    found = ask(
        folder,
        ("tokens", padded(SENTENCES)),
        ("character_ids", {"ids": batch_to_ids(SENTENCES, 12)}),
        ("tokens", padded([["the", "cat"]])),  # No other words.
        ("tokens", padded([["dogs", "bark"]])),  # None but others.
    )
    check(found[0], hub_answer(elmo, SENTENCES))
    check(found[1], hub_answer(elmo, SENTENCES))
    check(found[2], hub_answer(elmo, [["the", "cat"]]))
    check(found[3], hub_answer(elmo, [["dogs", "bark"]]))


@pytest.mark.parametrize("vocabulary", [WORDS, [], iter(WORDS)])
def test_the_answers_are_the_same(ask, elmo, tmp_path, vocabulary):
    folder = export_saved_model(elmo, tmp_path, vocabulary=vocabulary)
    answers(ask, folder, elmo)


def test_a_file_of_words(ask, elmo, tmp_path):
    path = tmp_path / "vocab.txt.gz"
    path.write_bytes(gzip.compress("<S>\n</S>\n<UNK>\nthe\ncat\né\n".encode()))
    folder = export_saved_model(elmo, tmp_path / "elmo", vocabulary=path)
    answers(ask, folder, elmo)
    found = variables(folder)
    assert found["known_vectors"] == [[7, 6]]


def variables(folder):
    """Shapes of the words' variables by name, from the SavedModel alone."""
    model = tf.saved_model.load(folder)
    found = {}
    for variable in model._all_variables:
        name = variable.name.split(":")[0]
        if name.startswith("known_"):
            found.setdefault(name, []).append(variable.shape.as_list())
    return found


def test_words_are_stored_once(elmo, tmp_path):
    folder = export_saved_model(elmo, tmp_path, vocabulary=WORDS)
    # Cropped and repeated words are one; `</S>` and padding come with them.
    assert variables(folder) == {
        "known_hash_values": [[9]],
        "known_rows": [[9, 12]],
        "known_vectors": [[9, 6]],
    }
    found = tf.train.load_checkpoint(f"{folder}/variables/variables")
    shapes = list(found.get_variable_to_shape_map().values())
    assert shapes.count([9, 6]) == 1


def test_the_encoder_runs_on_other_words_alone(elmo):
    """Rows that are known get the vectors that were kept."""
    encoder = elmo.token_encoder
    ((owner, replace),) = know_words(elmo, ["the", "cat"])
    assert owner is encoder
    seen = []

    def embed(rows):
        seen.append(np.asarray(rows))
        return tf.zeros((len(rows), 6))

    ids = batch_to_ids([["the", "new", "cat", "<S>", "other", "</S>"]], 12)[0]
    ids = np.concatenate([ids, np.zeros((1, 12), "int32")])
    vectors = np.asarray(replace(embed)(tf.constant(ids)))
    np.testing.assert_array_equal(np.concatenate(seen), ids[[1, 4]])
    expected = np.array(as_float32(encoder(ids)))
    expected[[1, 4]] = 0
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_words_of_one_hash_value_are_told_apart(elmo, monkeypatch):
    module = "keras_elmo.serving.known_words._hash_values"
    monkeypatch.setattr(module, lambda rows: tf.zeros(len(rows), tf.int64))
    pairs = know_words(elmo, ["the", "cat", "sat"])
    ids = batch_to_ids([["cat", "the", "dog", "sat"]], 12)
    expected = as_float32(elmo.token_encoder(ids))
    with use_known_rows(pairs):
        found = as_float32(elmo.token_encoder(ids))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_layer_itself_stays_as_it_was(elmo, tmp_path):
    ids = batch_to_ids(SENTENCES, 12)
    before = as_float32(elmo(ids))
    number = len(elmo.weights)
    export_saved_model(elmo, tmp_path, vocabulary=WORDS)
    assert len(elmo.weights) == number
    elmo.token_encoder.projection_bias.assign_add(np.ones(6))
    try:
        assert np.abs(as_float32(elmo(ids)) - before).max() > 0.1
    finally:
        elmo.token_encoder.projection_bias.assign_sub(np.ones(6))


def test_in_half_precision(ask, tmp_path):
    elmo = make_elmo(dtype="mixed_bfloat16")
    folder = export_saved_model(elmo, tmp_path, vocabulary=WORDS)
    (answer,) = ask(folder, ("tokens", padded(SENTENCES)))
    check(answer, hub_answer(elmo, SENTENCES), tolerance=0.1)


def test_two_encoders_in_a_model(ask, tmp_path):
    ids = keras.Input((None, 12), dtype="int32")
    other = CharCNNEmbedding(
        3, [(2, 5)], 0, 4, max_characters_per_token=12, name="other"
    )
    model = keras.Model(ids, [make_elmo(name="elmo")(ids), other(ids)])
    folder = export_saved_model(model, tmp_path, vocabulary=["the", "cat"])
    assert len(variables(folder)["known_vectors"]) == 2
    (answer,) = ask(folder, ("tokens", padded(SENTENCES)))
    expected = map(as_float32, model(batch_to_ids(SENTENCES, 12)))
    check(answer, dict(zip(["elmo", "other"], expected)))


def test_what_is_no_vocabulary(elmo, tmp_path):
    with pytest.raises(ValueError, match="`vocabulary` must hold words"):
        export_saved_model(elmo, tmp_path / "a", vocabulary=["the", 3])
    with pytest.raises(FileNotFoundError):
        export_saved_model(elmo, tmp_path / "a", vocabulary="no_file.txt")
    ids = keras.Input((None, 12), dtype="int32")
    model = keras.Model(ids, keras.layers.Rescaling(2)(ids))
    with pytest.raises(ValueError, match="such as a `CharCNNEmbedding`"):
        export_saved_model(model, tmp_path / "a", vocabulary=WORDS)
    assert list(tmp_path.iterdir()) == []
