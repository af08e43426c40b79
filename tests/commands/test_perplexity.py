import contextlib
import functools
import json
import pathlib
import shutil

import pytest

from keras_elmo.commands import perplexity as module
from keras_elmo.commands.main import main
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.perplexity import Perplexity

pytestmark = [
    pytest.mark.usefixtures("tensorflow_has_begun"),
    # A third of the words are outside the small model's vocabulary.
    pytest.mark.filterwarnings("ignore:The vocabulary has [1-9]"),
]


@pytest.fixture
def checkpoint(shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shared / "reference/bilm_tf_checkpoint"


def run(capsys, *arguments):
    assert main(["perplexity", *map(str, arguments)]) == 0
    return capsys.readouterr()


def test_bilm_tfs_number(checkpoint, monkeypatch, capsys):
    expected = json.loads((checkpoint / "expected.json").read_text())
    text = checkpoint / "heldout.txt"
    found = json.loads(run(capsys, checkpoint, text, "--json").out)
    assert found["perplexity"] == pytest.approx(
        expected["heldout_perplexity"], rel=1e-3
    )
    mean = (found["forward"] * found["backward"]) ** 0.5
    assert mean == pytest.approx(found["perplexity"], rel=1e-6)
    assert found["tokens"] == len(text.read_text().split()) + 40
    known = (checkpoint / "vocab.txt").read_text().split()[3:]
    words = text.read_text().split()
    share = sum(word in known for word in words) / len(words)
    assert found["coverage"] == share < 1
    assert found["procedure"] == "stream"
    assert found["model"] == str(checkpoint)

    # The same in readable form.
    measured = Perplexity(*(found[name] for name in Perplexity._fields))
    monkeypatch.setattr(Evaluator, "evaluate", lambda *_: measured)
    out = run(capsys, checkpoint, text).out.splitlines()
    assert out == [
        f"perplexity 54.21 (forward {found['forward']:.1f}, "
        f"backward {found['backward']:.1f})",
        "494 predictions in each direction, including a BOS or EOS token for "
        "each sentence (--procedure stream)",
        f"The vocabulary has {share:.1%} of the text's words.",
    ]


@pytest.fixture
def evaluations(monkeypatch):
    """The arguments of each `Evaluator` after the model, and its dtype."""
    calls = []

    class Recorder:
        def __init__(self, model, *arguments):
            calls.append((model.compute_dtype, *arguments))

        def evaluate(self, sentences, on_progress):
            on_progress(256)
            on_progress(494)
            return Perplexity(1.0, 1.0, 1.0, 1)

    monkeypatch.setattr("keras_elmo.pretraining.perplexity.Evaluator", Recorder)
    return calls


def test_options_are_those_of_the_evaluator(checkpoint, evaluations, capsys):
    text = checkpoint / "heldout.txt"
    for options in (
        [],
        ["--procedure", "sentences"],
        ["--rows", 4],
        ["--rows", 4000],
        ["--dtype", "mixed_bfloat16"],
    ):
        run(capsys, checkpoint, text, *options)
    assert [(x[0], *x[2:]) for x in evaluations] == [
        ("float32", "stream", 1, None),
        ("float32", "sentences", 1, None),
        ("float32", "stream", 4, None),
        ("float32", "stream", 40, None),  # No more than there are sentences.
        ("bfloat16", "stream", 1, None),
    ]


def test_words_that_count(checkpoint, evaluations, capsys):
    pathlib.Path("a.txt").write_text("<S>\n</S>\n<UNK>\nthe\nof\n")
    pathlib.Path("b.txt").write_text("<S>\n</S>\n<UNK>\nof\nto\n")
    pathlib.Path("text.txt").write_text("the of of to\n")
    options = ["--vocabulary", "a.txt", "--vocabulary", "b.txt", "--json"]
    # Flags before the model do not take it for their own.
    found = json.loads(run(capsys, *options, checkpoint, "text.txt").out)
    assert set(evaluations[-1][-1]) == {b"<S>", b"</S>", b"<UNK>", b"of"}
    assert found["coverage"] == 0.5


def test_errors(checkpoint, fails):
    pathlib.Path("empty.txt").touch()
    pathlib.Path("lines.txt").write_text("\n\n")
    pathlib.Path("other.txt").write_text("Zyx zyxw\n")
    pathlib.Path("more.txt").write_text("<S>\n</S>\n<UNK>\nzyx\n")
    for name, left_out in [("bare", "model.*"), ("silent", "vocab.txt")]:
        names = shutil.ignore_patterns(left_out, "checkpoint", "softmax.hdf5")
        shutil.copytree(checkpoint, name, ignore=names)
    text = checkpoint / "heldout.txt"
    for model, path, *options, told in [
        (checkpoint, "none.txt", "There is no corpus file 'none.txt'"),
        (checkpoint, "other.txt", "The vocabulary has 0.0% of the text's"),
        (checkpoint, "empty.txt", "Received: empty files ['empty.txt']"),
        (checkpoint, "lines.txt", "only empty lines in"),
        ("bare", text, "The model 'bare' has no softmax"),
        ("silent", text, "has no vocab.txt. Put the vocabulary"),
        (
            *(checkpoint, text, "--vocabulary", "more.txt"),
            "Received: 1 others, such as zyx",
        ),
        (
            *(checkpoint, text, "--rows", 4, "--procedure", "sentences"),
            "--rows needs --procedure stream. Received: --procedure sentences",
        ),
    ]:
        assert told in fails("perplexity", model, path, *options)


def test_progress(checkpoint, evaluations, monkeypatch, capsys):
    text = checkpoint / "heldout.txt"
    always = functools.partial(ProgressDisplay, interval=0)
    monkeypatch.setattr(module, "ProgressDisplay", always)
    monkeypatch.setattr(
        ProgressDisplay, "waiting", lambda *_: contextlib.nullcontext()
    )
    first, second = run(capsys, checkpoint, text).err.splitlines()
    assert first == "measuring the perplexity: 256/494 tokens"
    assert second.startswith(
        "measuring the perplexity: 0:00:00 left, 494/494 tokens, "
    )
    assert second.endswith(" tokens/s")
    assert not run(capsys, checkpoint, text, "--quiet").err
