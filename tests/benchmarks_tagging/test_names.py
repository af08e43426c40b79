"""The programs that train and score the taggers in the package."""

import json

import pytest
from benchmarks_tagging.tagging_data import to_conllu
from benchmarks_tagging.tagging_data import write_files

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
    write_files(folder, to_conllu)
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
@pytest.mark.parametrize(
    ("name", "labels", "part", "measure"),
    [
        ("english_pos", ["PROPN", "PUNCT", "VERB"], "test", "accuracy"),
        ("english_names", ["B-LOC", "B-ORG", "B-PER"], "dev", "f1"),
    ],
)
def test_training(program, data, tmp_path, name, labels, part, measure):
    files = [str(tmp_path / x) for x in ("head", "training.json")]
    program(name).main([str(data), *files])
    training = json.loads((tmp_path / "training.json").read_text())
    assert training[part][measure] > 0.8
    assert training["settings"]["units"] == 100
    head = tmp_path / "head/head.keras"
    found = KerasFile(head, elmo=find_model("english_mini"))
    tagger = Tagger(found.load_for_export(ElmoLayer))
    assert set(tagger.tag_names) >= set(labels)
    assert tagger.scheme == ("BIO" if name == "english_names" else None)


@pytest.mark.exhaustive
def test_scores(program, data, tmp_path):
    training, results = (tmp_path / x for x in ("training.json", "scores.json"))
    training.write_text('{"temperature": 1.5}')
    options = [str(data), str(results), "--training", str(training)]
    program("probabilities").main(options)
    web = json.loads(results.read_text())["files"]["EWT"]
    assert web["scores"]["f1"] > 0.5
    bins = web["reliability"]["bins"]
    errors = [x["count"] * abs(x["probability"] - x["right"]) for x in bins]
    error = sum(errors) / sum(x["count"] for x in bins)
    assert web["reliability"]["error"] == pytest.approx(error)
    best, low, *_, high = web["thresholds"]
    assert best["threshold"] is None and low["threshold"] == 0.05
    assert low["words_recall"] >= high["words_recall"]
