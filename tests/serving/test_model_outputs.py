"""Task models, exported to take strings."""

import os

import keras
import numpy as np
import pytest
from keras import ops
from serving.answers import as_float32
from serving.answers import check
from serving.answers import padded
from small_models import make_shallow_elmo
from small_models import randomize
from tiers import quick_first

from keras_elmo import CharCNNEmbedding
from keras_elmo import SentencePooling
from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo import export_saved_model
from keras_elmo.text.character_indexer import CharacterIndexer

SENTENCES = [["Ann", "met", "Bo", "in", "Århus", "."], [], ["東京", "!"]]
IDS = batch_to_ids(SENTENCES, 12)
STRINGS = {"strings": [" ".join(sentence) for sentence in SENTENCES]}
TAGS = ["O", "PERSON", "PLACE"]


def classify(ids, x, name, number=3):
    layer = keras.layers.Dense(number, activation="softmax", name=name)
    layer.build(x.shape)
    randomize(layer, 5.0)
    # Centred on the mean of the words, so that labels differ.
    vectors = as_float32(keras.Model(ids, x)(IDS))
    mean = vectors[vectors.any(axis=-1)].mean(axis=0)
    layer.bias.assign(-mean @ as_float32(layer.kernel))
    return layer(x)


def encode(ids):
    """Replaces ELMo where only the layers after it are tested."""
    return keras.layers.Rescaling(0.01)(ids)


def tagger(**kwargs):
    ids = keras.Input((None, 12), dtype="int32")
    x = make_shallow_elmo(**kwargs)(ids)
    return keras.Model(ids, classify(ids, x, "tags"))


def words(sentences):
    rows = padded(sentences)["tokens"]
    return np.array([[w.encode() for w in row] for row in rows], object)


def names_of(scores, labels):
    """Returns the labels for the scores of a tagger, computed in Python."""
    best = np.asarray(scores).argmax(axis=-1)
    return np.array(
        [
            [
                labels[best[i, j]].encode() if j < len(sentence) else b""
                for j in range(best.shape[1])
            ]
            for i, sentence in enumerate(SENTENCES)
        ],
        object,
    )


def test_a_tagger_takes_sentences_and_gives_words_and_tags(ask, tmp_path):
    model = tagger()
    export_saved_model(model, tmp_path, tag_names=TAGS)
    scores = as_float32(model(IDS))
    expected = {"tags": scores, "tags_labels": names_of(scores, TAGS)}
    assert len(set(expected["tags_labels"].flat)) > 2
    default, tokens, ids = ask(
        tmp_path,
        ("default", STRINGS),
        ("tokens", padded(SENTENCES)),
        ("character_ids", {"ids": IDS}),
    )
    check(tokens, expected)
    check(ids, expected)
    check(default, {**expected, "tokens": words(SENTENCES)})


@pytest.mark.parametrize(
    "options",
    quick_first(
        [
            {"add_sentence_boundaries": False},
            {"keep_sentence_boundaries": True},
            {
                "add_sentence_boundaries": False,
                "keep_sentence_boundaries": True,
            },
        ]
    ),
    ids=str,
)
def test_labels_of_more_or_fewer_words(ask, tmp_path, options):
    ids = keras.Input((None, 12), dtype="int32")
    x = make_shallow_elmo(**options)(ids)
    x = keras.layers.LSTM(4, return_sequences=True)(x)
    x = keras.layers.Dense(3, activation="softmax", name="scores")(x)
    model = keras.Model(ids, Best(name="tags")(x))
    export_saved_model(model, tmp_path)
    answer, empty, _ = ask(
        tmp_path,
        ("default", {"strings": ["<S> a b </S>", "<S> a </S>"]}),
        ("default", {"strings": ["<S>"]}),
        ("default", {"strings": []}),
    )
    least = options.get("keep_sentence_boundaries", False) * 2
    least += 2 * options.get("add_sentence_boundaries", True)
    labels = answer["tags_labels"]
    assert labels.shape == answer["tags"].shape == (2, least + 2)
    assert labels.astype(bool).tolist() == [
        [True] * (least + 2),
        [True] * (least + 1) + [False],
    ]
    assert empty["tags_labels"].shape == (1, max(least - 1, 0))


class Best(keras.layers.Layer):
    """A layer that selects tags, like a CRF, and knows their names."""

    tag_names = TAGS
    supports_masking = True

    def call(self, x, mask=None):
        return ops.argmax(x, axis=-1)

    def compute_output_spec(self, x, mask=None):
        return keras.KerasTensor(x.shape[:-1], dtype="int32")


class Known(keras.layers.Identity):
    tag_names = TAGS


def test_a_layer_that_knows_its_tags_brings_them(ask, tmp_path):
    ids = keras.Input((None, 12), dtype="int32")
    scores = classify(ids, encode(ids), "scores")
    scores = Known()(scores)  # Scores are not tags.
    model = keras.Model(ids, {"best": Best()(scores), "scores": scores})
    expected = names_of(model(IDS)["scores"], TAGS)
    export_saved_model(model, tmp_path / "1")
    export_saved_model(
        model, tmp_path / "2", tag_names={"best": ["a", "b", "c"]}
    )
    (answer,) = ask(tmp_path / "1", ("default", STRINGS))
    assert set(answer) == {"tokens", "best", "scores", "best_labels"}
    np.testing.assert_array_equal(answer["best_labels"], expected)
    (answer,) = ask(tmp_path / "2", ("default", STRINGS))
    assert set(answer["best_labels"].flat) <= {b"a", b"b", b"c", b""}


def test_a_sentence_classifier(ask, tmp_path):
    ids = keras.Input((None, 12), dtype="int32")
    pooled = SentencePooling()(make_shallow_elmo()(ids))
    model = keras.Model(ids, classify(ids, pooled, "genre", 2))
    export_saved_model(model, tmp_path, tag_names=["news", "novel"])
    (answer,) = ask(tmp_path, ("default", STRINGS))
    scores = as_float32(model(IDS))
    assert np.isfinite(scores).all()  # An empty text gets zeros, not NaN.
    np.testing.assert_allclose(answer["genre"], scores, atol=1e-5)
    best = np.array([b"news", b"novel"], object)[scores.argmax(-1)]
    np.testing.assert_array_equal(answer["genre_labels"], best)


@pytest.mark.parametrize(
    "kind", quick_first(["dictionary", "list", "one layer twice"])
)
def test_outputs_keep_their_names(ask, tmp_path, kind):
    ids = keras.Input((None, 12), dtype="int32", name="the_ids")
    a, b = (classify(ids, encode(ids), name) for name in "ab")
    twice = keras.layers.Identity(name="same")
    outputs, names = {
        "list": ([b, a], ["b", "a"]),
        "dictionary": ({"first": b, "last": a}, ["first", "last"]),
        "one layer twice": ([twice(a), twice(b)], ["same", "same_1"]),
    }[kind]
    model = keras.Model({"the_ids": ids}, outputs)
    export_saved_model(model, tmp_path)
    (answer,) = ask(tmp_path, ("tokens", padded(SENTENCES)))
    expected = keras.tree.flatten(model({"the_ids": IDS}))
    check(answer, dict(zip(names, map(as_float32, expected))))


@pytest.mark.exhaustive
def test_models_of_all_kinds(ask, tmp_path):
    elmo = make_shallow_elmo()

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.elmo = elmo
            self.dense = keras.layers.Dense(3)

        def call(self, ids):
            return {"scores": self.dense(self.elmo(ids))}

    subclassed = Subclassed()
    subclassed(IDS)
    sequential = keras.Sequential(
        [
            keras.Input((None, 12), dtype="int64"),
            keras.layers.Rescaling(0.01),
            keras.layers.Dense(3, name="scores"),
        ]
    )
    for i, model in enumerate((subclassed, sequential)):
        export_saved_model(model, tmp_path / str(i))
        (answer,) = ask(tmp_path / str(i), ("character_ids", {"ids": IDS}))
        expected = model(IDS.astype("int64" if i else "int32"))
        expected = expected if i else expected["scores"]
        check(answer, {"scores": as_float32(expected)})


@pytest.mark.exhaustive
def test_a_model_without_boundaries_is_asked_for_nothing(ask, tmp_path):
    ids = keras.Input((None, 12), dtype="int32")
    encoder = CharCNNEmbedding(
        6, [(1, 4), (3, 8)], 1, 4, max_characters_per_token=12
    )
    model = keras.Model(ids, encoder(ids))
    export_saved_model(model, tmp_path)
    blank, empty = ask(
        tmp_path,
        ("default", {"strings": [" "]}),
        ("default", {"strings": []}),
    )
    name = encoder.name
    assert blank[name].shape == (1, 0, 6) and empty[name].shape == (0, 0, 6)


@pytest.mark.exhaustive
def test_a_stateful_model_is_exported_stateless(ask, tmp_path):
    ids = keras.Input(batch_shape=(3, None, 12), dtype="int32")
    x = make_shallow_elmo()(ids)
    lstm = keras.layers.LSTM(4, stateful=True, return_sequences=True)
    model = keras.Model(ids, lstm(x))
    first = as_float32(model(IDS))
    export_saved_model(model, tmp_path)
    assert lstm.stateful
    one = {"strings": STRINGS["strings"][:1]}
    *both, alone = ask(tmp_path, *[("default", STRINGS)] * 2, ("default", one))
    for answer in both:
        np.testing.assert_allclose(answer[lstm.name], first, atol=1e-5)
    np.testing.assert_allclose(alone[lstm.name], first[:1], atol=1e-5)


@pytest.mark.exhaustive
def test_half_precision_comes_out_in_full(ask, tmp_path):
    model = tagger(dtype="mixed_bfloat16")
    bfloat16 = keras.Model(model.input, model.layers[1].output)
    export_saved_model(bfloat16, tmp_path)
    (answer,) = ask(tmp_path, ("default", STRINGS))
    (name,) = set(answer) - {"tokens"}
    assert answer[name].dtype == "float32"
    np.testing.assert_allclose(
        answer[name], as_float32(bfloat16(IDS)), atol=0.05
    )


def two_inputs():
    ids = keras.Input((None, 12), dtype="int32")
    mask = keras.Input((None,), dtype="bool")
    return keras.Model([ids, mask], make_shallow_elmo()(ids, mask=mask))


def of_input(shape, dtype="int32"):
    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, keras.layers.Identity()(x))


class OtherWords(keras.layers.Identity):
    """Reads ids of the same width that stand for other words."""

    def make_vectorization(self):
        special = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
        return WordVectorization(CharacterIndexer(special, None, 12))


def of_two_vectorizations():
    ids = keras.Input((None, 12), dtype="int32")
    return keras.Model(ids, make_shallow_elmo()(OtherWords()(ids)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: keras.Sequential([keras.layers.Dense(2)]), "no weights yet"),
        (two_inputs, "with 2 inputs"),
        (
            lambda: of_input((None,)),
            r"of shape=\(None, None\), dtype=int32",
        ),
        (lambda: of_input((None, 12), "float32"), "dtype=float32"),
        (lambda: of_input((), "string"), "dtype=string"),
        (
            lambda: of_input((None, None)),
            r"of shape=\(None, None, None\).* no token encoder that defines",
        ),
        (of_two_vectorizations, "with different ids for words"),
        (lambda: of_input((5, 12)), "must allow any number of words"),
    ],
)
def test_models_of_something_else_are_refused(tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        export_saved_model(make(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["tokens", "tags_labels"])
def test_an_output_may_not_take_a_name_that_is_needed(tmp_path, name):
    ids = keras.Input((None, 12), dtype="int32")
    tags = classify(ids, encode(ids), "tags")
    model = keras.Model(ids, {"tags": tags, name: tags})
    with pytest.raises(ValueError, match=f"rename it. Received: .*'{name}'"):
        export_saved_model(model, tmp_path / "model", tag_names={"tags": TAGS})
    assert os.listdir(tmp_path) == []
