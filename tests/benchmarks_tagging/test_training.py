import keras
import numpy as np
import pytest
from batches import Batches
from batches import compute_layers
from benchmarks_tagging.tagging_data import write_bilm
from model import Design
from model import build_head
from model import join
from model import load_bilm
from model import mix_weights
from model import vectorization_of
from model import with_tags
from predict import load
from predict import tag
from report import updates_to_reach
from training import SlowAdam
from training import compile_tagger
from training import train

from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.text import ByteSpelling

TAGS = ["O", "B-a", "I-a"]
SENTENCES = [["Ann", "Lee", "met", "Bob"], ["he", "slept"], ["Cy"]] * 4
NUMBERS = [[1, 2, 0, 1], [0, 0], [1]] * 4
READER = WordVectorization(ByteSpelling(12))
SMALL = {"word_dim": 5, "character_units": 3, "units": 4}

pytestmark = pytest.mark.usefixtures("portable_path")


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    return write_bilm(tmp_path_factory.mktemp("bilm") / "model")


def make_model(preset, on_layers, fine_tune=False, **design):
    keras.utils.set_random_seed(3)
    bilm = load_bilm(preset, fine_tune)
    design = Design(**SMALL | design)
    head = build_head(design, TAGS, "BIO", ["he", "met"], bilm)
    return head, bilm, head if on_layers else join(head, bilm)


def fit(model, layers):
    batches = Batches(SENTENCES, READER, 4, layers, NUMBERS, seed=1)
    compile_tagger(model, learning_rate=0.01)
    model.run_eagerly = True  # A graph does not pay off for so few updates.
    history = train(
        model, batches, lambda: 0.0, epochs=2, patience=99,
        evaluate_every=1, decay_patience=99,
    )  # fmt: skip
    return [entry["loss"] for entry in history]


@pytest.mark.exhaustive
def test_on_computed_layers_training_is_the_same(preset, tmp_path):
    _, bilm, whole = make_model(preset, on_layers=False)
    before = bilm.get_weights()
    losses = fit(whole, None)
    for a, b in zip(before, bilm.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)  # It is frozen.
    head, bilm, model = make_model(preset, on_layers=True)
    layers = compute_layers(bilm, SENTENCES)
    assert [x.shape for x in layers[:3]] == [(3, 4, 12), (3, 2, 12), (3, 1, 12)]
    np.testing.assert_allclose(fit(model, layers), losses, rtol=1e-4)
    assert len(set(losses)) > 1
    learned = mix_weights(head)
    for place in ("input", "output"):
        assert np.ptp(learned[place]["weights"]) > 1e-3
        assert learned[place]["gamma"] != 1

    # The whole model has the trained head, also after saving and reloading.
    tagger = with_tags(join(head, bilm), TAGS)
    ids, *layers = next(Batches(SENTENCES, READER, 12, layers).in_order())[1]
    expected = with_tags(head, TAGS)([ids, *layers])
    assert len(np.unique(expected)) > 1
    np.testing.assert_array_equal(tagger(ids), expected)
    tagger.save(tmp_path / "tagger.keras")
    loaded = keras.saving.load_model(tmp_path / "tagger.keras")
    np.testing.assert_array_equal(loaded(ids), expected)
    assert loaded.get_layer("tags").tag_names == TAGS


def test_layers_in_a_folder_are_computed_once(preset, tmp_path, monkeypatch):
    bilm = load_bilm(preset)
    first = compute_layers(bilm, SENTENCES, tmp_path)
    for a, b in zip(compute_layers(bilm, SENTENCES), first, strict=True):
        np.testing.assert_array_equal(a, b)
    monkeypatch.setattr("keras_elmo.ElmoEmbedder.embed_batch", None)
    again = compute_layers(bilm, SENTENCES, tmp_path)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError):  # There is no file for other sentences.
        compute_layers(bilm, SENTENCES[1:], tmp_path)


@pytest.mark.parametrize(
    ("design", "number"),
    [
        ({"elmo_at": "none"}, 0),
        ({"elmo_at": "input"}, 1),
        ({"elmo_at": "output", "mix": "top"}, 1),
        ({"mix": "0", "characters": False}, 2),
        ({"mix": "average", "words": False, "units": 0}, 2),
    ],
)
@pytest.mark.exhaustive
def test_designs(preset, design, number):
    head, _, whole = make_model(preset, on_layers=False, **design)
    learned = mix_weights(head)
    assert len(learned) == number
    weights = {"top": [0, 0, 1], "0": [1, 0, 0]}.get(design.get("mix"))
    for mix in learned.values():
        np.testing.assert_allclose(mix["weights"], weights or [1 / 3] * 3)
    scores = whole(batch_to_ids(SENTENCES[:2], 12))
    assert tuple(scores.shape) == (2, 4, 4, 3)


def test_layer_0_knows_no_context(preset):
    _, _, whole = make_model(
        preset, on_layers=False, elmo_at="input", mix="0", units=0,
        words=False, characters=False,
    )  # fmt: skip
    sentences = [["Ann", "Lee"], ["met", "Lee"]]
    scores = np.asarray(whole(batch_to_ids(sentences, 12)))
    # The first rows differ because the words before them do.
    np.testing.assert_allclose(scores[0, 1], scores[1, 1], atol=1e-5)


def test_nothing_to_read():
    design = Design(elmo_at="none", words=False, characters=False)
    with pytest.raises(ValueError, match="must have words, characters or ELMo"):
        build_head(design, TAGS, "BIO", [])


def test_no_such_layer(preset):
    with pytest.raises(ValueError, match="must be one of 3 layers"):
        make_model(preset, on_layers=True, mix="3")


@pytest.mark.exhaustive
def test_fine_tuned_at_a_lower_rate(preset):
    def changes(factor):
        _, bilm, whole = make_model(preset, on_layers=False, fine_tune=True)
        before = bilm.get_weights()
        compile_tagger(whole, learning_rate=0.01, fine_tune_factor=factor)
        whole.run_eagerly = True
        x, y = next(
            iter(Batches(SENTENCES, READER, 12, None, NUMBERS).dataset())
        )
        others = [w.copy() for w in whole.layers[-1].get_weights()]
        whole.train_on_batch(x, y)
        after = whole.layers[-1].get_weights()
        assert max(np.abs(a - b).max() for a, b in zip(others, after)) > 5e-3
        pairs = zip(before, bilm.get_weights())
        return [np.abs(b - a).max() for a, b in pairs]

    full, slow = changes(1.0), changes(0.1)
    assert max(full) == pytest.approx(0.01, rel=0.01)
    assert max(slow) == pytest.approx(0.001, rel=0.01)


def test_slow_adam_is_saved():
    optimizer = SlowAdam(slow_layers=["a"], slow_factor=0.3, learning_rate=0.2)
    copy = SlowAdam.from_config(optimizer.get_config())
    assert (copy.slow_layers, copy.slow_factor) == (["a"], 0.3)
    assert float(copy.learning_rate) == pytest.approx(0.2)


@pytest.mark.exhaustive
def test_the_best_weights_are_left():
    design = Design(elmo_at="none", characters=False, units=0, word_dim=5)
    head = build_head(design, TAGS, "BIO", ["he"])
    compile_tagger(head, learning_rate=0.1)
    scores = iter([0.2, 0.5, 0.4, 0.5, 0.1, 0.9])
    kept = []

    def evaluate():
        kept.append([w.copy() for w in head.get_weights()])
        return next(scores)

    batches = Batches(SENTENCES, WordVectorization(), 4, None, NUMBERS)
    lines = []
    history = train(
        head, batches, evaluate, epochs=9, patience=3, decay_patience=2,
        evaluate_every=2, score_name="F1",
        report=lambda line, **_: lines.append(line),
    )  # fmt: skip
    assert [e["dev_score"] for e in history] == [0.2, 0.5, 0.4, 0.5, 0.1]
    assert [e["update"] for e in history] == [2, 4, 6, 8, 10]
    rates = [e["learning_rate"] for e in history]
    assert rates == pytest.approx([0.1] * 4 + [0.05])
    assert len(lines) == 5
    assert "  dev F1  20.00  rate" in lines[0]
    trained = {v.path for v in head.trainable_variables}
    for variable, weight in zip(head.weights, kept[1]):
        if variable.path in trained:
            np.testing.assert_array_equal(variable.numpy(), weight)
    assert updates_to_reach(history, 0.3) == 4
    assert updates_to_reach(history, 0.6) is None


def test_batches_cover_all_sentences_in_each_epoch():
    tags = [[i] * len(words) for i, words in enumerate(SENTENCES)]
    batches = Batches(SENTENCES, READER, 5, None, tags, seed=2)
    assert len(batches) == 3
    data = iter(batches.dataset())
    orders = []
    for _ in range(2):
        seen = []
        for _ in range(3):
            ids, padded = next(data)
            assert padded.shape == ids.shape[:2]
            seen.extend(padded[:, 0].numpy().tolist())
            mask = np.any(ids.numpy() != 0, axis=-1)
            np.testing.assert_array_equal(mask, padded.numpy() >= 0)
        assert sorted(seen) == list(range(12))
        orders.append(seen)
    assert orders[0] != orders[1]


@pytest.mark.exhaustive
def test_a_bilm_with_characters_of_its_own(shared, tmp_path):
    """As in ELMoForManyLangs. The biLM is also found in a saved tagger."""
    path = shared / "reference/elmo_for_many_langs/char_and_word"
    bilm = load_bilm(path)
    with pytest.raises(ValueError, match="--no-words --no-characters"):
        build_head(Design(**SMALL), TAGS, "BIO", ["he"], bilm)
    design = Design(words=False, characters=False, units=4)
    whole = join(build_head(design, TAGS, "BIO", [], bilm), bilm)
    batches = Batches(SENTENCES, vectorization_of(bilm), 12, tags=NUMBERS)
    compile_tagger(whole)
    whole.run_eagerly = True
    train(whole, batches, lambda: 0.5, epochs=1)
    tagger = with_tags(whole, TAGS)
    expected = tag(tagger, SENTENCES[:3])
    assert [len(names) for names in expected] == [4, 2, 1]
    tagger.save(tmp_path / "tagger.keras")
    assert tag(load(tmp_path), SENTENCES[:3]) == expected
