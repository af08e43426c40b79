"""Models that read words, and vocabularies whose vectors are looked up."""

import gzip
import shutil

import h5py
import keras
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from keras.ops import convert_to_numpy as numpy
from small_models import make_elmo
from small_models import randomize

from keras_elmo import BiLMEncoder
from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import TokenEmbedding
from keras_elmo import batch_to_ids

pytestmark = [
    pytest.mark.slow_on_jax,
    pytest.mark.usefixtures("portable_path"),
]

WORDS = ["the", "<S>", "cat", "<UNK>", "</S>", "東京"]
SENTENCES = [["the", "cat"], ["東京", "dog", "the"]]


@pytest.fixture
def characters(tmp_path):
    """The files of a model that reads characters, and its layer."""
    elmo = make_elmo()
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    elmo.save_to_bilm(*files)
    elmo.dump_token_embeddings(WORDS, tmp_path / "rows.hdf5")
    return elmo, files, {
        "token_embeddings": tmp_path / "rows.hdf5",
        "vocabulary": WORDS,
    }  # fmt: skip


@pytest.fixture
def words(tmp_path):
    """The folder of a model that reads words, and its layer."""
    elmo = ElmoLayer(
        TokenEmbedding(6, 6, WORDS),
        BiLMEncoder(7, 6, num_layers=2, cell_clip=3.0),
    )
    elmo.build((None, None))
    randomize(elmo)
    folder = tmp_path / "words"
    folder.mkdir()
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return elmo, folder


def check_embeds(elmo, expected, sentences=SENTENCES, tolerance=1e-6):
    """Checks the vectors; `expected` maps a sentence to its layers."""
    found = ElmoEmbedder(elmo).embed_batch(sentences)
    for sentence, vectors in zip(sentences, found, strict=True):
        alone = numpy(expected(sentence))[0]
        np.testing.assert_allclose(vectors, alone, atol=tolerance, rtol=0)


def test_vectors_are_those_of_the_rows(characters, tmp_path):
    elmo, files, arguments = characters
    with h5py.File(tmp_path / "rows.hdf5", "a") as store:
        store["embedding"][0] += 1
    changed = ElmoEmbedder.from_bilm(*files, **arguments)
    before, after = (
        e.embed_sentence(["the", "cat"])[0]
        for e in (ElmoEmbedder(elmo), changed)
    )
    np.testing.assert_allclose(after[0], before[0] + 1, atol=1e-5)
    np.testing.assert_allclose(after[1], before[1], atol=1e-5)


@pytest.mark.parametrize("copy", ["file", "preset", "config"])
def test_copies_know_their_words(characters, tmp_path, copy):
    elmo, files, arguments = characters
    loaded = ElmoLayer.from_bilm(*files, **arguments)
    if copy == "preset":
        loaded.save_to_preset(tmp_path / "preset")
        loaded = ElmoLayer.from_preset(tmp_path / "preset")
    elif copy == "file":
        inputs = keras.Input((None,), dtype="int32")
        model = keras.Model(inputs, loaded(inputs))
        model.save(tmp_path / "model.keras")
        model = keras.saving.load_model(tmp_path / "model.keras")
        loaded = model.layers[-1]
    else:
        weights = loaded.get_weights()
        loaded = ElmoLayer.from_config(loaded.get_config())
        loaded.build((None, None))
        loaded.set_weights(weights)
    check_embeds(
        loaded,
        lambda s: elmo.all_layers(batch_to_ids([s], 12)),
        [["the", "cat"], ["東京"]],
    )
    with pytest.raises(ValueError, match=r"no vector .*Received: 'dog'"):
        ElmoEmbedder(loaded).embed_sentence(["dog"])


@pytest.mark.parametrize("way", ["unk", "error", None])
def test_ids_of_words_alone(characters, way):
    elmo, files, arguments = characters
    loaded = ElmoLayer.from_bilm(*files, **arguments, unknown_words=way)
    assert isinstance(loaded.token_encoder, TokenEmbedding)
    ids = np.array([[1, 3, 6], [6, 0, 0]], "int32")
    sentences = [["the", "cat", "東京"], ["東京"]]
    np.testing.assert_allclose(
        numpy(loaded.all_layers(ids)),
        numpy(elmo.all_layers(batch_to_ids(sentences, 12))),
        atol=1e-6,
        rtol=0,
    )
    embedder = ElmoEmbedder(loaded)
    if way != "unk":  # Nothing is unknown without a word.
        with pytest.raises(ValueError, match=r"no vector .*Received: 'dog'"):
            embedder.embed_sentence(["the", "dog"])
    else:
        found = embedder.embed_batch([["the", "dog"], ["the", "<UNK>"]])
        np.testing.assert_allclose(*found, atol=1e-6)


def test_weights_need_no_character_cnn(characters):
    _, files, arguments = characters
    expected = ElmoLayer.from_bilm(*files, **arguments)
    with h5py.File(files[1], "a") as store:
        for key in [key for key in store if not key.startswith("RNN")]:
            del store[key]
    loaded = ElmoLayer.from_bilm(*files, **arguments)
    for a, b in zip(loaded.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"that are missing: .'CNN"):
        ElmoLayer.from_bilm(*files)


def test_a_model_of_words(words, tmp_path):
    elmo, folder = words
    places = {word: i for i, word in enumerate(WORDS, start=1)}

    def expected(sentence):
        ids = [places.get(w, places["<UNK>"]) for w in sentence]
        return elmo.all_layers(np.array([ids], "int32"))

    shutil.make_archive(tmp_path / "zipped", "zip", tmp_path, "words")
    loaded = ElmoLayer.from_bilm(folder)
    assert loaded.token_encoder.boundary_ids.tolist() == [2, 5]
    check_embeds(loaded, expected)
    check_embeds(ElmoLayer.from_bilm(tmp_path / "zipped.zip"), expected)
    files = folder / "options.json", folder / "weights.hdf5"
    packed = tmp_path / "words.txt.gz"
    packed.write_bytes(gzip.compress((folder / "vocab.txt").read_bytes()))
    for vocabulary in (packed, WORDS, [w.encode() for w in WORDS]):
        loaded = ElmoLayer.from_bilm(*files, vocabulary=vocabulary)
        check_embeds(loaded, expected)
    loaded = ElmoLayer.from_bilm(folder, unknown_words="error")
    with pytest.raises(ValueError, match="Received: 'dog'"):
        check_embeds(loaded, expected)
    loaded.save_to_bilm(tmp_path / "o", tmp_path / "w")
    assert set(all_arrays(tmp_path / "w")) == set(all_arrays(files[1]))


def test_a_model_of_words_without_its_vocabulary(words):
    _, folder = words
    (folder / "vocab.txt").unlink()
    elmo = ElmoLayer.from_bilm(folder)
    assert elmo.token_encoder.boundary_ids.tolist() == [1, 2]
    assert tuple(elmo(np.array([[3, 4]], "int32")).shape) == (1, 2, 12)
    with pytest.raises(ValueError, match="pass it `vocabulary`"):
        ElmoEmbedder(elmo)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"vocabulary": None}, "pass `vocabulary`, the file from which"),
        ({"vocabulary": WORDS[:5]}, "a row for each word .*, 5. Received: 6"),
        ({"token_embeddings": None}, "this model reads the characters"),
        ({"unknown_words": "<UNK>"}, "`unknown_words` must be 'unk'"),
        ({"unknown_words": "characters"}, "`unknown_words` must be 'unk'"),
        (
            {"vocabulary": [*"abcdef"], "unknown_words": "unk"},
            "`unknown_word` must be a word of `vocabulary`",
        ),
        (
            {"vocabulary": [*"abcdef"], "unknown_words": "error"},
            "must hold <S> and </S>",
        ),
        (
            {
                "token_embeddings": None,
                "vocabulary": None,
                "unknown_words": "unk",
            },
            "can only be used with `vocabulary`",
        ),
    ],
)
def test_what_does_not_go_together(characters, changes, told):
    _, files, arguments = characters
    with pytest.raises(ValueError, match=told):
        ElmoLayer.from_bilm(*files, **arguments | changes)


def test_what_is_wrong_with_files(characters, words, tmp_path):
    _, files, arguments = characters
    with h5py.File(tmp_path / "bad.hdf5", "w") as store:
        store["embedding"] = np.zeros((6, 5), "float32")
    arguments["token_embeddings"] = tmp_path / "bad.hdf5"
    with pytest.raises(ValueError, match=r"bad.hdf5.*must have the shape"):
        ElmoLayer.from_bilm(*files, **arguments)
    _, folder = words
    with pytest.raises(ValueError, match=r"n_tokens_vocab=6. Received: 2"):
        ElmoLayer.from_bilm(folder, vocabulary=["<S>", "</S>"])
    (folder / "vocab.txt").rename(folder / "vocab.txt.gz")
    with pytest.raises(ValueError, match=r"vocab.txt.gz' cannot be unpacked"):
        ElmoLayer.from_bilm(folder)
