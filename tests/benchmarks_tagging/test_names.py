"""The programs that train and score `english_names`, on a few sentences."""

import json

import pytest

from keras_elmo import ElmoLayer
from keras_elmo import Tagger
from keras_elmo.models.find_model import find_model
from keras_elmo.models.keras_file import KerasFile

WEB = """\
# newdoc id = n01
# sent_id = n01-1
# text = Ann Lee ran.
1\tAnn\tB-PER\t-\tx
2\tLee\tI-PER\t-\tx
3\tran\tO\t-\t-
4\t#\tB-OTH\t-\tx

# sent_id = w01-2
1\tOslo\tB-LOC\t-\tx
"""
TWEETS = "@\tB-PER\nann\tB-PER\nin\tO\nRio\tB-LOC\n\tO\n\n\n"
TWEETS += "Acme\tB-ORG\nInc\tI-ORG\n"
SOCIAL = "Sony\tB-corporation\nand\tO\nR2\tB-product\n\t\nU2\tB-group\n"
WIKIPEDIA = "-DOCSTART- O\n\nBo I-PER\nof I-MISC\nRome I-LOC\n"


@pytest.fixture
def data(tmp_path):
    """A folder with all data sets."""
    folder = tmp_path / "data"
    files = {
        "UNER_English-EWT/en_ewt-ud-{}.iob2": (WEB, ("train", "dev", "test")),
        "broad_twitter_corpus/{}.conll": (TWEETS, "abefgh"),
        "wnut17/{}.conll": (SOCIAL, ("train", "dev", "test")),
        "UNER_English-PUD/en_pud-ud-{}.iob2": (WEB, ["test"]),
        "wikigold.conll{}": (WIKIPEDIA, [".txt"]),
    }
    for name, (text, parts) in files.items():
        for part in parts:
            path = folder / name.format(part)
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
    return folder


def test_the_data_sets(program, data):
    names_data = program("names_data")
    train, dev = names_data.read_training(data)
    web = [["Ann", "Lee", "ran", "#"], ["Oslo"]]
    web_tags = [["B-PER", "I-PER", "O", "O"], ["B-LOC"]]
    # User names are no persons.
    tweets = [["@ann", "in", "Rio"], ["Acme", "Inc"]]
    tweet_tags = [["O", "O", "B-LOC"], ["B-ORG", "I-ORG"]]
    social_tags = [["B-ORG", "O", "O"], ["B-ORG"]]
    assert train[0][:11] == [*web, *tweets * 4, tweets[0]]
    assert train[1] == [*web_tags, *tweet_tags * 4, tweet_tags[0], *social_tags]
    assert dev[0] == [*web, tweets[1], ["Sony", "and", "R2"], ["U2"]]
    tests = names_data.read_tests(data)
    assert tests["Broad Twitter Corpus"] == (tweets, tweet_tags)
    assert tests["PUD, news"] == (web[:1], web_tags[:1])
    assert tests["PUD, Wikipedia"] == (web[1:], web_tags[1:])
    expected = [["Bo", "of", "Rome"]], [["B-PER", "O", "B-LOC"]]
    assert tests["Wikigold"] == expected


@pytest.mark.exhaustive
def test_training_and_scores(program, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["head", "training.json", "--epochs", "8"]
    program("english_names").main([str(data), *arguments])
    training = json.loads((tmp_path / "training.json").read_text())
    assert training["training_sentences"] == 13
    elmo = find_model("english_mini")
    found = KerasFile("head/head.keras", elmo=elmo)
    tagger = Tagger(found.load_for_export(ElmoLayer))
    assert tagger.scheme == "BIO"
    tagger.save("names.keras")
    options = ["--model", "names.keras", "--training", "training.json"]
    program("probabilities").main([str(data), "scores.json", *options])
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["temperature"] == training["temperature"]
    web = scores["files"]["EWT"]
    assert web["scores"]["f1"] > 0.5
    bins = web["reliability"]["bins"]
    errors = [x["count"] * abs(x["probability"] - x["right"]) for x in bins]
    error = sum(errors) / sum(x["count"] for x in bins)
    assert web["reliability"]["error"] == pytest.approx(error)
    best, low, *_, high = web["thresholds"]
    assert best["threshold"] is None and low["threshold"] == 0.05
    assert low["words_recall"] >= high["words_recall"]
