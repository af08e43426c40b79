import contextlib
import functools
import json
import os
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
def checkpoint(shared):
    return shared / "reference/bilm_tf_checkpoint"


def run(capsys, *arguments):
    assert main(["perplexity", *map(str, arguments)]) == 0
    return capsys.readouterr()


def test_bilm_tfs_number(checkpoint, monkeypatch, capsys):
    expected = json.loads((checkpoint / "expected.json").read_text())
    text = checkpoint / "heldout.txt"
    found = json.loads(run(capsys, checkpoint, text, "--json").out)
    assert set(found) == {
        "perplexity",
        "forward",
        "backward",
        "tokens",
        "coverage",
        "procedure",
        "model",
    }
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


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
def test_other_procedures(checkpoint, fails, capsys):
    text = checkpoint / "heldout.txt"

    def measure(*arguments):
        out = run(capsys, checkpoint, text, "--json", *arguments).out
        found = json.loads(out)
        assert found["tokens"] == 494
        return found

    each = measure("--procedure", "sentences")
    assert each["procedure"] == "sentences"
    rows = measure("--rows", 4)
    said = fails(
        "perplexity", checkpoint, text, "--rows", 4, "--procedure", "sentences"
    )
    assert "--rows needs --procedure stream" in said
    # No more than there are sentences.
    assert measure("--rows", 40) == measure("--rows", 4000)
    half = measure("--dtype", "mixed_bfloat16")
    for found in (rows, half):
        assert found["perplexity"] != pytest.approx(54.2089, rel=1e-6)
        assert found["perplexity"] == pytest.approx(54.2089, rel=0.01)
    # The first words of each sentence have no context.
    assert 60 < each["perplexity"] < 100


@pytest.mark.exhaustive
def test_words_that_count(checkpoint, tmp_path, monkeypatch, fails, capsys):
    monkeypatch.chdir(tmp_path)
    text = "text.txt"
    with open(checkpoint / "heldout.txt") as file, open(text, "w") as few:
        few.writelines(file.readlines()[:12])
    shutil.copytree(checkpoint, "model", ignore=lambda *_: ["vocab.txt"])
    said = fails("perplexity", "model", text)
    assert "has no vocab.txt. Put the vocabulary" in said

    words = (checkpoint / "vocab.txt").read_bytes().splitlines(True)
    for name, some in (
        ("half.txt", words[: len(words) // 2]),
        ("other.txt", [*words[:3], b"zyx\n", *words[3::2]]),
        ("both.txt", [*words[:3], *words[3 : len(words) // 2 : 2]]),
    ):
        with open(name, "wb") as file:
            file.writelines(some)

    def measure(*vocabularies):
        options = [x for path in vocabularies for x in ("--vocabulary", path)]
        options += ["--json", "--rows", 8]
        # Flags before the model do not take it for their own.
        return json.loads(run(capsys, *options, checkpoint, text).out)

    half = measure("half.txt")["perplexity"]
    assert 10 < half < 50
    both = measure("half.txt", "other.txt")
    assert both == measure("both.txt")
    assert both["perplexity"] < half
    options = ["--vocabulary", "other.txt"]
    said = fails("perplexity", checkpoint, text, *options)
    assert "Received: 1 others, such as zyx" in said


def test_errors(checkpoint, tmp_path, monkeypatch, fails):
    monkeypatch.chdir(tmp_path)
    open("empty.txt", "w").close()
    pathlib.Path("other.txt").write_text("Zyx zyxw\n")
    os.mkdir("bare")
    for name in ("options.json", "weights.hdf5", "vocab.txt"):
        shutil.copy(checkpoint / name, "bare")
    text = checkpoint / "heldout.txt"
    for model, path, told in [
        (checkpoint, "none.txt", "There is no corpus file 'none.txt'"),
        (checkpoint, "other.txt", "The vocabulary has 0.0% of the text's"),
        (checkpoint, "empty.txt", "Received: empty files ['empty.txt']"),
        ("none", text, "There is no preset of that name, nor a file"),
        ("bare", text, "The model 'bare' has no softmax"),
    ]:
        assert told in fails("perplexity", model, path)


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
def test_progress(checkpoint, monkeypatch, capsys):
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


@pytest.mark.filterwarnings("default:.* of the lines of the text are empty")
def test_empty_lines_are_told(checkpoint, tmp_path, capsys, fails):
    text = tmp_path / "text"
    text.write_text("the cat\n\n")
    err = run(capsys, checkpoint, text).err
    assert "warning: 50% of the lines of the text are empty" in err
    text.write_text("\n\n")
    assert "only empty lines in" in fails("perplexity", checkpoint, text)
