import contextlib
import functools
import json
import pathlib

import pytest

from keras_elmo.commands import perplexity as module
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.perplexity import Perplexity

pytestmark = [
    pytest.mark.usefixtures("tensorflow_has_begun"),
    # A third of the words are outside the small model's vocabulary.
    pytest.mark.filterwarnings("ignore:The vocabulary has [1-9]"),
]


@pytest.fixture
def checkpoint(shared):
    return shared / "reference/bilm_tf_checkpoint"


def test_bilm_tfs_number(checkpoint, monkeypatch, run):
    expected = json.loads((checkpoint / "expected.json").read_text())
    text = checkpoint / "heldout.txt"
    found = json.loads(run("perplexity", checkpoint, text, "--json").out)
    assert found["perplexity"] == pytest.approx(
        expected["heldout_perplexity"], rel=1e-3
    )
    words = text.read_text().split()
    assert found["tokens"] == len(words) + 40
    known = (checkpoint / "vocab.txt").read_text().split()[3:]
    share = sum(word in known for word in words) / len(words)
    assert found["coverage"] == share < 1
    assert found["procedure"] == "stream"
    assert found["model"] == str(checkpoint)

    # The same in readable form.
    measured = Perplexity(*(found[name] for name in Perplexity._fields))
    monkeypatch.setattr(Evaluator, "evaluate", lambda *_: measured)
    out = run("perplexity", checkpoint, text).out.splitlines()
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


def test_options_are_those_of_the_evaluator(checkpoint, evaluations, run):
    text = checkpoint / "heldout.txt"
    for options, *expected in [
        ("--quiet", "float32", "stream", 1),
        ("--procedure sentences", "float32", "sentences", 1),
        ("--rows 4", "float32", "stream", 4),
        # No more than there are sentences.
        ("--rows 4000", "float32", "stream", 40),
        ("--dtype mixed_bfloat16", "bfloat16", "stream", 1),
    ]:
        run("perplexity", checkpoint, text, *options.split())
        dtype, _, *others = evaluations[-1]
        assert [dtype, *others] == [*expected, None]


def test_words_that_count(checkpoint, evaluations, run):
    pathlib.Path("a.txt").write_text("<S>\n</S>\n<UNK>\nthe\nof\n")
    pathlib.Path("b.txt").write_text("<S>\n</S>\n<UNK>\nof\nto\n")
    pathlib.Path("text.txt").write_text("the of of to\n")
    options = ["--vocabulary", "a.txt", "--vocabulary", "b.txt", "--json"]
    # Flags before the model do not take it for their own.
    found = json.loads(run("perplexity", *options, checkpoint, "text.txt").out)
    assert set(evaluations[-1][-1]) == {b"<S>", b"</S>", b"<UNK>", b"of"}
    assert found["coverage"] == 0.5


def test_errors(checkpoint, fails):
    pathlib.Path("lines.txt").write_text("\n\n")
    pathlib.Path("other.txt").write_text("Zyx zyxw\n")
    for path, *options, told in [
        ("other.txt", "The vocabulary has 0.0% of the text's"),
        ("lines.txt", "only empty lines in"),
        ("a", "--rows", 4, "--procedure", "sentences", "needs --procedure str"),
    ]:
        assert told in fails("perplexity", checkpoint, path, *options)


def test_progress(checkpoint, evaluations, monkeypatch, run):
    command = "perplexity", checkpoint, checkpoint / "heldout.txt"
    always = functools.partial(ProgressDisplay, interval=0)
    monkeypatch.setattr(module, "ProgressDisplay", always)
    monkeypatch.setattr(
        ProgressDisplay, "waiting", lambda *_: contextlib.nullcontext()
    )
    first, second = run(*command).err.splitlines()
    assert first == "measuring the perplexity: 256/494 tokens"
    left = "measuring the perplexity: 0:00:00 left, 494/494 tokens, "
    assert second.startswith(left) and second.endswith(" tokens/s")
    assert not run(*command, "--quiet").err
