"""`examples/serving/client.py`, against a server of the same format."""

import json
import runpy
import sys
import types
import urllib.request

import keras
import numpy as np
import pytest
from comparisons import check_answer
from conftest import ROOT
from serving import rest_server
from serving.answers import hub_answer

from keras_elmo import batch_to_ids
from keras_elmo import export_saved_model

SENTENCES = [["The", "café", "."], ["東京"], ["a", "b", "c", "d"]]
TEXTS = [" ".join(sentence) for sentence in SENTENCES]
TAGS = ["O", "PLACE"]
SERVER = rest_server.URL


@pytest.fixture(scope="module")
def client():
    names = runpy.run_path(str(ROOT / "examples/serving/client.py"))
    return types.SimpleNamespace(**names)


@pytest.fixture(scope="module")
def tagger():
    ids = keras.Input((None, 12), dtype="int32")
    dense = keras.layers.Dense(2, name="tags", bias_initializer="ones")
    # Replaces ELMo, because the vectors do not matter to the client.
    return keras.Model(ids, dense(keras.layers.Rescaling(0.01)(ids)))


@pytest.fixture(scope="module", autouse=True)
def server(exported, tagger, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    export_saved_model(tagger, folder / "scores/1")
    export_saved_model(tagger, folder / "tagger/1", tag_names=TAGS)
    taggers = {name: folder / name / "1" for name in ("tagger", "scores")}
    urlopen = rest_server.opener(elmo=exported, **taggers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urllib.request, "urlopen", urlopen)
        yield


@pytest.fixture
def run(client, monkeypatch, capsys):
    def run(*arguments):
        """Runs the program; returns its output and its error."""
        command = ["client.py", "--server", SERVER, *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", command)
        error = None
        try:
            client.main()
        except (client.ServerError, OSError, ValueError) as raised:
            error = str(raised)
        return capsys.readouterr().out, error

    return run


def saved(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("rows", [False, True])
def test_the_only_output_comes_without_its_name(client, tagger, rows):
    inputs = client.of_tokens([[b"a", b"b"]])
    url = f"{SERVER}/v1/models/scores"
    found = client.predict(url, inputs, "tokens", rows)
    assert set(found) == {"output"}
    expected = tagger(batch_to_ids([["a", "b"]], 12))
    np.testing.assert_allclose(found["output"], expected, atol=1e-5)


@pytest.mark.parametrize("options", [["--batch", "2"], ["--rows"], ["--uncut"]])
def test_vectors_are_saved_without_padding(run, elmo, tmp_path, options):
    path = tmp_path / "answers.jsonl"
    assert run(*TEXTS, "--save", path, *options) == ("", None)
    for answer, sentence in zip(saved(path), SENTENCES, strict=True):
        assert answer.pop("words") == sentence
        # The longest one adds padding.
        rows = [sentence, SENTENCES[-1]][: 1 + (options == ["--uncut"])]
        expected = {k: x[0] for k, x in hub_answer(elmo, rows).items()}
        answer = {k: np.array(v, "float32") for k, v in answer.items()}
        check_answer(answer, expected)
    assert list(tmp_path.iterdir()) == [path]


def test_words_with_spaces_and_of_any_bytes(run, elmo, tmp_path):
    words = [b"New York", b"\xff\xfe", b"", b"rains"]
    (tmp_path / "text.tsv").write_bytes(b"\t".join(words) + b"\n\na\n")
    path = tmp_path / "answers.jsonl"
    assert run(
        *("--file", tmp_path / "text.tsv", "--tokens", "--save", path)
    ) == ("", None)
    first, empty, last = saved(path)
    assert first["words"] == ["New York", "\ufffd\ufffd", "", "rains"]
    expected = hub_answer(elmo, [words])
    np.testing.assert_allclose([first["elmo"]], expected["elmo"], atol=1e-5)
    assert empty["words"] == empty["elmo"] == []
    assert last["words"] == ["a"]


def test_tags_are_shown(run, tagger):
    best = np.asarray(tagger(batch_to_ids(SENTENCES, 12))).argmax(axis=-1)
    expected = ""
    for words, numbers in zip(SENTENCES, best):
        pairs = [f"{w}/{TAGS[k]}" for w, k in zip(words, numbers)]
        expected += f"{' '.join(words)}\n  tags_labels: {' '.join(pairs)}\n"
    for more in ([], ["--version", 1]):
        assert run("--model", "tagger", *TEXTS, *more) == (expected, None)


def test_vectors_are_described(run, elmo):
    shown = run(TEXTS[0])[0].splitlines()
    assert shown[0] == TEXTS[0]
    vector = hub_answer(elmo, SENTENCES[:1])["elmo"][0, 0]
    numbers = ", ".join(f"{x:.4f}" for x in vector[:4])
    assert f"  elmo: [3, 12] {numbers}, ..." in shown
    assert any(line.startswith("  default: [12] ") for line in shown)


def test_numbers_of_tags_are_cut_where_they_have_names(client):
    outputs = {"tags": [[1, 0, 0]], "tags_labels": [["PLACE", "", ""]]}
    outputs |= {"genre": [[0.1, 0.9]], "genre_labels": ["novel"]}
    outputs |= {"tokens": [["Oslo", "", ""]]}
    (answer,) = client.answers_of_sentences([[b"Oslo"]], outputs)
    expected = {"words": ["Oslo"], "tags": [1], "tags_labels": ["PLACE"]}
    expected |= {"genre": [0.1, 0.9], "genre_labels": "novel"}
    assert answer == expected


def test_the_servers_errors_are_told(run, client, tmp_path):
    path = tmp_path / "answers.jsonl"
    for arguments, told in [
        (["a", "--model", "no"], "404 Not Found: Servable not found for"),
        (["a", "--version", 9], "Specific('elmo', '9')"),
        ([], "No sentences were given"),
        (["--file", tmp_path / "none.txt"], "none.txt"),
        (["a", "--server", "http://127.0.0.1:1"], "cannot be reached"),
    ]:
        out, error = run(*arguments, "--save", path)
        assert told in error
        assert not out and list(tmp_path.iterdir()) == []
    wrong = {"tokens": [["a"]], "sequence_len": [2]}
    told = "(?s)400 Bad Request.* must have one number per sentence"
    with pytest.raises(client.ServerError, match=told):
        client.predict(f"{SERVER}/v1/models/elmo", wrong, "tokens")
