"""Training of taggers."""

import re
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
from conftest import ROOT
from models.same_bilm import check_same_bilm
from peak_memory import DEFINE_PEAK
from peak_memory import ON_LINUX
from small_models import make_elmo
from tiers import quick_first

from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo import WordVectors
from keras_elmo.tagging import training
from keras_elmo.tagging import training_data
from keras_elmo.tagging.training_data import hold_out

pytestmark = [
    # Most trainings here are short.
    pytest.mark.filterwarnings("ignore:The best val_"),
    # There are only a few different sentences.
    pytest.mark.filterwarnings("ignore:.* sentences to validate on are in "),
]

ON_TENSORFLOW = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="Slow, and the same on all backends.",
)
NAMES = ["Ann", "Bo", "Cy", "Dee"]
PLACES = ["Rome", "Lima", "Oslo", "Bern"]


def make_data(number, seed=0):
    """Sentences in which the tag of a name depends on the words around it."""
    generator = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(number):
        a, b = generator.choice([*NAMES, *PLACES], 2)
        if generator.random() < 0.5:
            sentences.append([a, b, "lives", "in", a, "."])
            tags.append(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])
        else:
            sentences.append(["in", b, "!"])
            tags.append(["O", "B-LOC", "O"])
    return sentences, tags


@pytest.fixture(scope="module")
def elmo(tmp_path_factory):
    path = tmp_path_factory.mktemp("elmo") / "small"
    # The outputs of the preset do not matter to a tagger.
    make_elmo(
        num_representations=2, keep_sentence_boundaries=True
    ).save_to_preset(path)
    return path


def train(elmo, data, dev=None, seed=1, **kwargs):
    keras.utils.set_random_seed(seed)
    options = {"units": 8, "verbose": 0, "learning_rate": 0.02, **kwargs}
    return Tagger.train(*data, dev, elmo=elmo, **options)


@pytest.fixture(scope="module")
def tagger(elmo):
    return train(elmo, make_data(120), make_data(40, 1), epochs=12)


def test_a_tagger_of_entities(elmo, tagger):
    assert tagger.tag_names == ["O", "B-LOC", "B-PER", "I-PER"]
    assert tagger.scheme == "BIO"
    sentences, tags = make_data(40, 1)
    scores = tagger.evaluate(sentences, tags)
    assert scores["f1"] > 0.9 and scores["types"].keys() == {"LOC", "PER"}
    assert scores["accuracy"] > 0.9
    iob1 = [[x.replace("B-", "I-") for x in row] for row in tags]
    given = map(iter, sentences), map(iter, iob1)
    assert tagger.evaluate(*given) == scores
    check_same_bilm(tagger.model.get_layer("elmo"), ElmoLayer.from_preset(elmo))


def test_saving(tagger, tmp_path):
    path = tmp_path / "ner.keras"
    with pytest.raises(ValueError, match=r"must end in .keras"):
        tagger.save(tmp_path / "ner.h5")
    path.write_text("old")
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        tagger.save(path)
    assert path.read_text() == "old"
    tagger.save(path, overwrite=True)
    assert [*tmp_path.iterdir()] == [path]
    data = make_data(40, 1)
    # The layers are shared: nothing of the training is left out.
    assert Tagger.load(path).evaluate(*data) == tagger.evaluate(*data)


def test_labels_of_no_scheme_and_a_tenth_held_out(elmo):
    sentences, tags = make_data(40)
    tags = [[x[-1] for x in row] for row in tags]
    data = map(iter, sentences), map(iter, tags)
    tagger = train(elmo, data, epochs=24, learning_rate=0.03)
    assert tagger.scheme is None and tagger.tag_names == ["O", "C", "R"]
    scores = tagger.evaluate(sentences, tags)
    assert scores["accuracy"] > 0.9 and "f1" not in scores
    assert scores["types"].keys() == {"O", "C", "R"}


class Batches(keras.utils.PyDataset):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def __len__(self):
        return self.number

    def __getitem__(self, i):
        return np.ones((1, 2)), np.ones((1, 1))


def fit(number, scores):
    """Trains on batches; returns the best epoch, and the weights of all.

    Args:
        number: Integer, the batches of an epoch.
        scores: Function that returns the score of an epoch, from 0.
    """
    head = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    head.compile("sgd", "mse")
    weights = []

    def validate(epoch, logs):
        weights.append(head.get_weights()[0].copy())
        logs["val_f1"] = scores(epoch)

    best = training.fit(head, Batches(number), validate, "val_f1", 50, 0)
    np.testing.assert_array_equal(
        head.get_weights()[0], weights[best.best_epoch]
    )
    return best, head, weights


@pytest.mark.parametrize(
    ("number", "patience"), quick_first([(20, 10), (50, 6)])
)
def test_the_best_epoch_is_kept(number, patience):
    # Of equal scores, the later one is better.
    scores = {1: 0.5, 2: 0.5}
    best, head, weights = fit(number, lambda epoch: scores.get(epoch, 0.1))
    assert (best.best, best.best_epoch) == (0.5, 2)
    assert len(weights) == 2 + patience
    # Halved after each third of the patience.
    rate = float(head.optimizer.learning_rate)
    assert rate == pytest.approx(0.01 / 2**3)


def test_an_interrupted_training_keeps_the_best():
    def score(epoch):
        if epoch == 2:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.5)  # A thread handles it.
        return [0.2, 0.6, 0.4][epoch]

    best, _, weights = fit(1, score)
    assert (best.best_epoch, len(weights)) == (1, 3)
    assert best.is_interrupted


def held_out(tags):
    """The tags that are held out, and the rest."""
    pairs = [([str(i)] * len(row), row) for i, row in enumerate(tags)]
    rest, held = hold_out(list(pairs))
    assert sorted(map(str, rest + held)) == sorted(map(str, pairs))
    return [row for _, row in held], [row for _, row in rest]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_held_out(seed):
    keras.utils.set_random_seed(seed)
    plain, name, place = ["O", "O"], ["O", "B-PER"], ["B-LOC"]
    held, rest = held_out([plain] * 98 + [name, name])
    assert len(held) == 10 and name in held and name in rest
    # A label that only one sentence has stays in the training.
    held, rest = held_out([plain] * 17 + [name, name, place])
    assert held in ([name, plain], [plain, name]) and place in rest
    held, rest = held_out([plain] * 19 + [name])
    assert held == [plain] * 2
    two = [["B-X", "B-A"], ["B-X", "B-B"]] + [["O", "B-C"]] * 3 + [plain] * 25
    held, rest = held_out(two)
    assert {x for y in held for x in y} <= {x for y in rest for x in y}
    held, rest = held_out([["A", "B"]] * 20 + [["C"]])
    assert held == [["A", "B"]] * 2
    assert held_out([plain]) == ([], [plain])
    assert held_out([place]) == ([], [place])
    pairs = [([str(i)], ["A"]) for i in range(40)]
    rest, held = hold_out(list(pairs))
    assert held + rest != pairs  # They are shuffled.


def test_what_is_held_out_of_few_sentences():
    plain, name, place = ["O", "O"], ["B-PER"], ["B-LOC", "O"]
    for tags, lost in [
        ([name, place], "(B-PER|B-LOC|O)"),
        ([name, plain], "'O'"),
    ]:
        with pytest.warns(UserWarning, match=f"{lost}'?.* occur only in sent"):
            held, rest = held_out(tags)
        assert len(held) == len(rest) == 1
    assert held == [plain]


def test_sentences_to_validate_on_that_are_trained_on():
    sentences = [[*"abcde", str(i)] for i in range(40)]
    data = sentences, [["A", "B"] * 3] * 40
    dev = [x[30:31] for x in data]
    # A tenth is held out of sentences that are there twice.
    twice = [x * 2 for x in data]
    for given in (data, dev), (twice, None):
        told = " sentences to validate on are in those to train on, too"
        with pytest.warns(UserWarning, match=told):
            training_data.training_data(*given, 16, 9)


@ON_TENSORFLOW
@pytest.mark.filterwarnings("always::UserWarning")
def test_no_entities_to_validate_on(elmo, capsys):
    """The training loss decides, so that the tagger learns something."""
    sentences, tags = make_data(30)
    dev = [["in", "Rome", "!"]] * 3, [["O"] * 3] * 3
    with pytest.warns(UserWarning, match="lowest training loss is kept"):
        tagger = train(elmo, (sentences, tags), dev, epochs=20, verbose=1)
    out = capsys.readouterr().out
    assert not {*"\b\r\x1b"} & {*out}  # This is no terminal.
    losses = map(float, re.findall(r"- loss: ([\d.]+)", out))
    _, epoch = min((loss, -i) for i, loss in enumerate(losses, start=1))
    assert f"The best epoch is {-epoch}: loss " in out
    assert tagger.evaluate(sentences, tags)["f1"] > 0.2


@ON_TENSORFLOW
@pytest.mark.filterwarnings("always::UserWarning")
@pytest.mark.parametrize(
    ("part", "told"),
    quick_first([(slice(None), "val_f1 is 0.0000. T"), (-1, "val_accuracy")]),
)
def test_a_tagger_of_no_use(elmo, part, told):
    sentences, tags = make_data(20)
    tags = [[x[part] for x in row] for row in tags]
    dev = sentences, [[x.replace("LOC", "X") for x in row] for row in tags]
    with pytest.warns(UserWarning, match=f"The best {told}"):
        options = {"units": 1, "epochs": 1, "learning_rate": 1e-9}
        train(elmo, (sentences, tags), dev, **options)


def data_of(train, dev=None, max_labels=300):
    """What a tagger is trained on."""
    np.random.seed(0)
    return training_data.training_data(train, dev, 16, max_labels)


def test_the_data_of_a_training():
    sentences, tags = make_data(20)
    iob1 = [[x.replace("B-", "I-") for x in row] for row in tags]
    given = map(iter, sentences), map(iter, iob1)
    pairs, held, labels, scheme = data_of(given, max_labels=4)
    assert labels == ["O", "B-LOC", "B-PER", "I-PER"] and scheme == "BIO"
    assert sorted(pairs + held) == sorted(zip(sentences, tags))
    bioes = [["a", "b", "c"], ["d"]] * 9, [["B-X", "I-X", "E-X"], ["S-X"]] * 9
    assert data_of(bioes)[2] == ["O", "B-X", "E-X", "I-X", "S-X"]
    dev = sentences, [[x.replace("LOC", "X") for x in row] for row in tags]
    with pytest.warns(UserWarning, match=r"cannot be predicted: \['B-X'\]"):
        assert data_of((sentences, tags), dev)[1] == [*zip(*dev)]


WORDS = [[str(i) for i in range(j, j + 7)] for j in range(0, 301, 7)] * 2


@pytest.mark.parametrize(
    ("tags", "dev", "message"),
    [
        ([["B-X", "PER"]], 0, r"Received: \['B-X'\] and \['PER'\]"),
        ([["A", "A"]], 0, r"two labels or more.*\['A'\]"),
        ([["O", 1]], 0, "sentence 0"),
        ([["O", "B-X"]], None, "Received, .*: 1 and 0"),
        ([["O", "B-X"]] * 9, ([[]], [[]]), "Received, .*: 9 and 0"),
        ([["O", "B-X"]], {}, "must be a tuple of two: sent.*: dict"),
        (
            WORDS,
            None,
            "at most 300 labels. .*pass `max_labels=301`.* 0.6 GB.*: 301 "
            r"labels, such as \['0', '1', '10'",
        ),
    ],
)
def test_bad_data(tags, dev, message):
    sentences = WORDS if tags is WORDS else [["a", "b"]] * len(tags)
    dev = (sentences[:1], tags[:1]) if dev == 0 else dev
    with pytest.raises(ValueError, match=message):
        data_of((sentences, tags), dev)


def test_bad_arguments(elmo):
    data = make_data(10)
    for name in ("units", "batch_size", "epochs"):
        with pytest.raises(ValueError, match=f"`{name}`"):
            train(elmo, data, **{name: 0})
    with pytest.raises(ValueError, match="at most 3 labels"):
        train(elmo, data, max_labels=3)


def test_batches_have_all_sentences(elmo):
    sentences, tags = make_data(37)
    pairs = training_data.tagged_pairs(sentences, tags, None)
    labels = sorted({x for row in tags for x in row})
    layer = ElmoLayer.from_preset(elmo)
    features = training.word_features([pairs], layer, None, 0)
    batches = training.TaggedBatches(pairs, labels, features, 8)
    assert batches.width == 36
    found = []
    for i in range(len(batches)):
        (x, mask), ids = batches[-i]  # The shortest come first.
        assert x.shape[:2] == mask.shape == ids.shape and x.shape[1] == 8
        found += [
            (v[m], [labels[j] for j in row[m]])
            for v, m, row in zip(x, mask, ids)
        ]
    order = sorted(range(37), key=lambda i: len(tags[i]))
    vectors = ElmoEmbedder(layer).embed_batch(sentences)
    for i, (x, labels_of_words) in zip(order, found, strict=True):
        assert labels_of_words == tags[i]
        np.testing.assert_allclose(
            x, np.concatenate([*vectors[i]], axis=1), rtol=1e-3, atol=1e-4
        )


def test_word_vectors_beside_elmo(elmo, tmp_path):
    # They alone tell names from places: the words are new ones in the test.
    words = {**dict.fromkeys(NAMES, 1), **dict.fromkeys(PLACES, -1)}
    new = {name[::-1].title(): x for name, x in words.items()}
    path = tmp_path / "vectors.txt"
    table = {**words, **new, "lives": 0, "in": 0.5}
    path.write_text("".join(f"{w} {x} {-x}\n" for w, x in table.items()))
    sentences = [[w, "in"] for w in words] * 8
    tags = [["PER" if x > 0 else "LOC", "in"] for x in words.values()] * 8
    data = sentences, tags
    tagger = train(elmo, data, data, epochs=12, word_vectors=path)
    dev = [[w, "in"] for w in new]
    expected = [["PER" if x > 0 else "LOC", "in"] for x in new.values()]
    assert tagger.predict(dev) == expected
    sizes = tagger.model.get_layer("word_vectors").sizes
    assert sizes["vectors"][1:] == [18, 2]
    path.unlink()
    tagger.save(tmp_path / "tagger.keras")
    loaded = Tagger.load(tmp_path / "tagger.keras")
    assert loaded.predict(dev) == expected


@ON_TENSORFLOW
@pytest.mark.filterwarnings("always::UserWarning")
def test_which_word_vectors_fit(elmo, tmp_path, capsys):
    pairs = [(["Ann", "sings"], ["A", "B"]), (["Bo"], ["A"])]

    def layer(*words, width=12):
        return WordVectors(
            words, np.ones((len(words), 2)), max_characters_per_token=width
        )

    def check(*words):
        table = training.look_up(layer(*words), [pairs, pairs])
        training.check_coverage(table, pairs, verbose=2)

    check("ann", "bo")
    assert "66.7% of the words to train on have a" in capsys.readouterr().out
    with pytest.warns(UserWarning, match=r"33.3% of the words.*same language"):
        check("sings")
    with pytest.raises(ValueError, match=r"0.0% of .*: they may be of another"):
        check("singt")

    for word_vectors, told in (
        (layer("sings", width=5), "same ids as ELMo.*12.*Received: .*5"),
        ({"sings": [1.0]}, "must be a file or .*Received: dict"),
    ):
        with pytest.raises(ValueError, match=told):
            train(elmo, [*zip(*pairs)], word_vectors=word_vectors)


@pytest.mark.exhaustive
@ON_LINUX
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="The page is about it"
)
def test_the_memory_on_the_page_about_named_entities():
    code = f"""{DEFINE_PEAK}
import keras_elmo
from keras_elmo.text import read_conll
train = read_conll("examples/ner_data/train.conll")
dev = read_conll("examples/ner_data/dev.conll")
keras_elmo.Tagger.train(*train, dev, epochs=1, verbose=0)
print(peak())
"""
    peak = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT)
    assert 0.5e9 < int(peak) < 2e9
    page = (ROOT / "docs/tutorials/named-entities.md").read_text()
    assert "and less than 2 GB of memory" in " ".join(page.split())
