"""The code of the pages runs as a reader would run it."""

import json
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import threading
import urllib.request
from unittest import mock
from urllib.error import HTTPError

import numpy as np
import pytest
import tensorflow as tf
from conftest import ON_TENSORFLOW
from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from serving import rest_server

import keras_elmo
from keras_elmo.commands.main import main
from keras_elmo.text import tokenize

pytestmark = [
    ON_TENSORFLOW,
    pytest.mark.usefixtures("portable_path", "built_optimizers"),
]


@pytest.fixture
def run_page(tmp_path, monkeypatch, capsys):
    """Runs blocks of a page; returns their variables and what they print."""
    monkeypatch.chdir(tmp_path)

    def run(page, chosen=slice(None), names=None, mark="python"):
        names = {"__name__": "page"} if names is None else names
        run_blocks(read_blocks(page, mark)[chosen], names)
        return names, capsys.readouterr().out

    return run


def test_the_readme_prints_what_it_says(run_page):
    (code,) = read_blocks("README.md")[:1]
    names, printed = run_page("README.md", slice(1))
    stated = re.findall(r"^# (.*)$", code, re.MULTILINE)
    assert printed.splitlines() == stated
    assert f"# shape {tuple(names['vectors'].shape)}" in code
    assert read_blocks("docs/start.md")[0] in code


def test_whole_tokens_of_a_treebank(run_page, tmp_path):
    rows = [
        ("2-3", "do", "_"),
        ("2", "de", "ADP"),
        ("3", "o", "DET"),
        ("3.1", "x", "X"),
        ("4", "mar", "NOUN"),
    ]
    lines = ["\t".join((n, w, w, p)) for n, w, p in rows]
    text = "\n".join(("# text = do mar", *lines, "", ""))
    (tmp_path / "train.conllu").write_text(text, "utf-8")
    run_page("docs/languages.md")
    found = (tmp_path / "train.conll").read_text("utf-8")
    assert found == "do\tADP+DET\nmar\tNOUN\n\n"


@pytest.mark.exhaustive
def test_a_classifier_of_the_rows_of_a_table(
    run_page, tmp_path, monkeypatch, capsys
):
    rows = ["text,label", *["Good film.,good", "Dull!,bad", ",bad", "x,"] * 9]
    (tmp_path / "reviews.csv").write_text("\n".join(rows), "utf-8")
    names, _ = run_page("docs/classify.md")
    served = tf.saved_model.load("served/reviews/1").signatures
    strange = "Naïve\xa0café_2?\x85:-) 😀e\u0301 ½٣\u2003\x1f\u200b\vx"
    texts = ["Good film.", "Dull!", "", strange, "नमस्ते दुनिया। வணக்கம் don't"]
    answer = served["serving_default"](tf.constant(texts))
    words = [*map(names["words_of"], texts)]
    found = [[x.decode() for x in row if x] for row in answer["tokens"].numpy()]
    assert found == words
    found = answer["label_labels"].numpy().astype(str).tolist()
    assert found[:2] == ["good", "bad"]
    assert names["classify"](texts) == found
    vectors = names["embedder"].embed_sentence_vectors(words)
    expected = names["head"].predict(np.stack([*vectors]), verbose=0)
    np.testing.assert_allclose(answer["label"], expected, atol=1e-5)
    assert words[-1] == ["नमस्ते", "दुनिया", "।", "வணக்கம்", "don", "'", "t"]
    assert names["classify"]([]) == []
    check_client(monkeypatch, capsys)
    check_server(texts, found)


def wrong(instances):
    return json.dumps({"instances": instances}).encode()


def check_client(monkeypatch, capsys):
    """Asks for labels with the client of TensorFlow Serving."""
    urlopen = rest_server.opener(reviews="served/reviews/1")
    command = ["client.py", "--server", rest_server.URL, "--model", "reviews"]
    with monkeypatch.context() as patch:
        patch.setattr(urllib.request, "urlopen", urlopen)
        patch.setattr(sys, "argv", [*command, "Good film.", "Dull!"])
        path = str(ROOT / "examples/serving/client.py")
        runpy.run_path(path, run_name="__main__")
    printed = capsys.readouterr().out
    assert re.findall("label_labels: (.*)", printed) == ["good", "bad"]


def check_server(texts, labels):
    """Asks the server on the page, on a free port."""
    (code,) = read_blocks("docs/classify.md", "python server")
    code, call = code.replace("8501", "0").rsplit("\n", 2)[:2]
    assert call == "server.serve_forever()"
    names = run_blocks([code])
    server = names["server"]
    threading.Thread(target=server.serve_forever).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        for asked, expected in ((texts, labels), ([], [])):
            body = json.dumps({"instances": asked}).encode()
            with urllib.request.urlopen(url, body) as answer:
                assert json.load(answer) == {"predictions": expected}
        for body in (b"{", b"[]", b"{}", *map(wrong, ("a", [["a"]], [1]))):
            with pytest.raises(HTTPError, match="400") as info:
                urllib.request.urlopen(url, body)
            info.value.close()
    finally:
        server.shutdown()
        server.server_close()


def look_up(run_page, tmp_path, folder):
    for name in ("train.conll", "test.conll"):
        shutil.copy(folder / name, tmp_path / name)
    return run_page("docs/scoring.md")


def test_a_dictionary_as_a_baseline(run_page, tmp_path):
    _, printed = look_up(run_page, tmp_path, ROOT / "examples/ner_data")
    page = (ROOT / "docs/scoring.md").read_text("utf-8")
    assert f"this prints {printed.strip()}." in page


def test_a_dictionary_finds_nothing_in_wnut_2017(run_page, tmp_path, shared):
    names, _ = look_up(run_page, tmp_path, shared / "data/wnut17")
    assert names["wanted"]
    assert not names["found"]


@pytest.mark.exhaustive
def test_the_readmes_model(run_page):
    names, _ = run_page("README.md", slice(1, 2))
    sentence = ["Ann", "Lee", "slept", "."]
    (tags,) = keras_elmo.Tagger.load("ner.keras").predict([sentence])
    served = tf.saved_model.load("served/ner/1").signatures["default"]
    answer = served(tf.constant([" ".join(sentence)]))["tags_labels"]
    assert answer.numpy()[0].astype(str).tolist() == tags
    assert set(tags) <= set(names["labels"])


@pytest.mark.exhaustive
def test_the_start(run_page):
    names, printed = run_page("docs/start.md")
    code = "".join(read_blocks("docs/start.md"))
    stated = re.findall(r"^(?:print.*  )?# (.*)$", code, re.MULTILINE)
    assert printed.splitlines() == stated
    assert names["vectors"].shape == (2, 3, 512)
    assert pathlib.Path("served/tagger/1/saved_model.pb").is_file()


@pytest.mark.exhaustive
def test_the_layer(run_page):
    names, _ = run_page("docs/layer.md", slice(2))
    model = names["model"]
    assert model.output_shape == (None, None, 3)
    # Padding counts neither in the vectors nor in the loss.
    x, y = names["x"][1:], names["y"][1:]
    losses = [model.evaluate(x[:, :n], y[:, :n], verbose=0) for n in (1, 4)]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    names, _ = run_page("docs/layer.md", slice(2, None), names)
    model, x = names["model"], names["x"]
    assert x.shape == (2, 2, 4, 50)
    # Padding does not count.
    np.testing.assert_allclose(model(x[1:, :1, :2])[0], model(x)[1], atol=1e-5)


@pytest.mark.exhaustive
def test_the_crf(run_page):
    names, printed = run_page("docs/crf.md", slice(2))
    found, labels = names["found"], names["labels"]
    assert str([[labels[i] for i in row] for row in found]) in printed
    served = tf.saved_model.load("served/1")
    np.testing.assert_array_equal(served.serve(names["x"]), found)
    names, _ = run_page("docs/crf.md", slice(2, None), names)
    assert names["tags"].shape == (2, 4)
    assert np.isfinite(float(names["loss"]))


def test_the_questions(run_page):
    names, printed = run_page("docs/faq.md")
    assert "[[True, True, True], [True, True, False]]\n" in printed
    pooled = names["model"](names["ids"])
    np.testing.assert_allclose(pooled, names["vectors"], atol=1e-5)
    assert names["cropped"] == [(0, 0, "a" * 60)]


@pytest.mark.exhaustive
def test_onnx(run_page):
    pytest.importorskip("onnxruntime")
    names, printed = run_page("docs/onnx.md")
    assert names["vectors"]["elmo"].shape == (2, 3, 512)
    tags, numbers = names["tags"], names["scores"].argmax(axis=-1)
    assert printed.splitlines()[1:] == [
        str([tags[number] for number in numbers[0]]),
        str([tags[numbers[1, 0]]]),
    ]


def embed(text, layers="top"):
    embedder = keras_elmo.ElmoEmbedder.from_preset(
        "english_mini", layers=layers
    )
    return embedder.embed_sentence(text.split())


@pytest.mark.exhaustive
def test_spacy(run_page):
    pytest.importorskip("spacy", reason="spaCy is optional.")
    names, printed = run_page("docs/ecosystem.md", mark="python spacy")
    assert printed == "(14, 512)\n0.59\n"
    empty, doc = names["nlp"].pipe(["", "She has an account. Hello"])
    assert len(empty) == 0
    expected = [embed("She has an account ."), embed("Hello")]
    np.testing.assert_allclose(doc.tensor, np.concatenate(expected), atol=1e-5)


@pytest.mark.exhaustive
def test_scikit_learn(run_page, tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn is optional.")
    monkeypatch.syspath_prepend(tmp_path)
    page = "docs/ecosystem.md"
    (module,) = read_blocks(page, "python sklearn_class")
    (tmp_path / "elmo_vectors.py").write_text(module)
    names, printed = run_page(page, mark="python sklearn")
    assert printed == "(3,)\n[1 0]\n"
    vectors = names["classifier"][0].transform(["Another .", None])
    expected = embed("Another .", "average").mean(axis=0)
    np.testing.assert_allclose(vectors, [expected, 0 * expected], atol=1e-5)


def test_datasets(run_page):
    pytest.importorskip("datasets", reason="datasets is optional.")
    names, printed = run_page("docs/ecosystem.md", mark="python datasets")
    assert printed == "(3, 512)\n"
    found = names["dataset"].with_format("numpy")[1]["vectors"]
    np.testing.assert_allclose(found, embed("Another ."), atol=1e-5)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:The best val_f1 is")
def test_labelling(run_page, tmp_path, monkeypatch):
    for name, value in {"folds": 2, "epochs": 2}.items():
        monkeypatch.setitem(keras_elmo.check_labels.__kwdefaults__, name, value)
    blocks = (ROOT / "examples/ner_data/train.conll").read_text("utf-8")
    blocks = [x for x in blocks.split("\n\n") if x.count("\n") < 9][:60]
    (tmp_path / "train.conll").write_text("\n\n".join(blocks), "utf-8")
    tagger = keras_elmo.Tagger.load("english_names")
    tagger.save(tmp_path / "ner.keras")
    lines = ["Ann Lee met Bo Xu in Ohio .", "", "It is ."]
    (tmp_path / "unlabelled.txt").write_text("\n".join(lines))
    names, printed = run_page("docs/label.md")
    assert printed.splitlines()[-3:] == [lines[0], lines[2], ""]
    assert names["x"].suggested_probability > names["x"].probability
    (code,) = read_blocks("docs/label.md", "sh")[1:]
    suggest, train = code.splitlines()
    (tmp_path / "texts.txt").write_text("Ann Lee met Bo.\nIt is.\n")
    assert main(suggest.split()[1:]) == 0
    (tmp_path / "suggested.jsonl").rename("exported.jsonl")
    trains = mock.Mock(return_value=tagger)
    monkeypatch.setattr(keras_elmo.Tagger, "train", trains)
    assert main(train.split("  #")[0].split()[1:]) == 0
    tags = trains.call_args[0][1]
    assert tags[0][:2] == ["B-PER", "I-PER"] and tags[1] == ["O"] * 3


TEXT = "Dear Maria Lopez,\n\n  I met Peter Lind in Ohio. \U0001f44d  Bye!\nx"
REDACTED = "Dear [PER],\n\n  I met [PER] in [LOC]. \U0001f44d  Bye!\nx"


@pytest.mark.exhaustive
def test_redaction(run_page):
    pytest.importorskip("spacy", reason="It divides text into words.")
    names, printed = run_page("docs/redaction.md")
    assert printed == "[PER] moved to [LOC].\nDid she know [PER]?\n"
    assert names["redact"](TEXT, 0.3) == REDACTED
    assert names["redact"](" \n") == " \n"
    # What the page says that it does not find.
    for x in ("<p>Maria&nbsp;Lopez</p>", "我叫Maria", "Peter\ufeffLind left."):
        assert names["redact"](x) == x


@pytest.mark.parametrize(
    "text, language, words",
    [
        ("नमस्ते दुनिया।", "en", "नमस्ते दुनिया ।"),
        ("வணக்கம் உலகம்.", "en", "வணக்கம் உலகம் ."),
        ("L'homme.", "en", "L'homme ."),
        ("L'homme.", "fr", "L' homme ."),
        ("ጥሩ ነው።", "en", "ጥሩ ነው።"),
        ("ጥሩ ነው።", "am", "ጥሩ ነው ።"),
        ("നല്ലതാണ്.", "ml", "നല്ലതാണ്."),
        ("你好。", "zh", "你 好 。"),
    ],
)
def test_scripts_that_need_a_language(text, language, words):
    pytest.importorskip("spacy", reason="It divides text into words.")
    (found,) = tokenize(text, language)
    assert found == words.split()


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
@pytest.mark.exhaustive
def test_redaction_in_a_shell(tmp_path, monkeypatch):
    pytest.importorskip("spacy", reason="It divides text into words.")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letter.txt").write_bytes(TEXT.encode())
    (code,) = read_blocks("docs/redaction.md", "sh")
    _, tag, replace = code.split("\n", 2)
    assert main(tag.replace("0.1", "0.3").split()[1:]) == 0
    subprocess.run(replace, shell=True, check=True)
    assert (tmp_path / "redacted.txt").read_bytes().decode() == REDACTED
