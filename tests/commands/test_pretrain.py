import argparse
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
import tensorflow as tf
from conftest import ROOT
from hdf5_arrays import all_arrays
from pretraining import small_trainings
from small_models import ENGLISH_TINY

from keras_elmo.commands import arguments as shared_arguments
from keras_elmo.commands import pretrain as module
from keras_elmo.commands import pretrain_reports
from keras_elmo.commands.main import main
from keras_elmo.commands.pretrain_reports import TrainingProgress
from keras_elmo.commands.pretrain_settings import make_settings
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import TrainingPlan

pytestmark = pytest.mark.usefixtures("tensorflow_has_begun")
OPTIONS = {
    **small_trainings.OPTIONS,
    "bidirectional": True,
    "batch_size": 2,
    "unroll_steps": 3,
    "all_clip_norm_val": 5.0,
    "n_epochs": 7,
    "n_train_tokens": 99,
}
HELDOUT = ["--heldout", "heldout.txt"]
LINES = ["the cat sat on the mat", "a dog ran", "the dog and the cat ran"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a corpus, a held-out text and options."""
    monkeypatch.chdir(tmp_path)
    for i, line in enumerate(LINES):
        pathlib.Path(f"train{i}.txt").write_text(f"{line}\n" * 3)
    pathlib.Path("heldout.txt").write_text("the mat sat\na cat\n")
    pathlib.Path("options.json").write_text(json.dumps(OPTIONS))
    return tmp_path


def command(*arguments, output="out"):
    names = ["train*.txt", output, "--options", "options.json", *arguments]
    return ["pretrain", *map(str, names)]


def run(*arguments, status=0, **kwargs):
    assert main(command(*arguments, **kwargs)) == status


def parse(*arguments):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return parser.parse_args(["t", "o", *map(str, arguments)])


def show(
    monkeypatch, capsys, *arguments, status=0, is_finished=True, **progress
):
    """Runs the command, whose training is over at once with some progress.

    Returns the arguments of `pretrain`, and what the command shows.
    """
    calls = []
    progress = {"step": 4, "best_step": None, "best": None, **progress}
    training = types.SimpleNamespace(
        is_finished=is_finished, progress=types.SimpleNamespace(**progress)
    )

    def pretrain(*_, **options):
        calls.append(options)
        return training

    monkeypatch.setattr("keras_elmo.pretraining.pretrain.pretrain", pretrain)
    assert main(["pretrain", "train0.txt", "out", *arguments]) == status
    return calls[0], capsys.readouterr()


@pytest.mark.in_graphs(False)
def test_a_training_from_the_start_to_the_end(folder, capsys):
    heldout = [*HELDOUT, "--evaluate-every", 2]
    run(*heldout, "--steps", 4, "--log-every", 2)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    (told,) = [x for x in lines if x.startswith("training from the start")]
    assert re.search(r": 4 steps of 6 tokens, \d\.\d passes over the", told)
    told = [line for line in lines if "held-out perplexity" in line]
    assert [line.split(":")[0] for line in told] == ["step 2", "step 4"]
    assert told[0].endswith("), the best so far")

    log = (folder / "out/log.jsonl").read_text().splitlines()
    key = "heldout_perplexity"
    entries = [x for x in map(json.loads, log) if key in x]
    found = {entry["step"]: entry[key] for entry in entries}
    best = min(found, key=found.get)
    assert f"perplexity {found[2]:,.2f} (forward" in told[0]
    assert out == (
        f"'out' contains the best model, of step {best}: "
        f"held-out perplexity {found[best]:,.2f}.\n"
    )
    # Two short sentences in one stream or in two give nearly the same result.
    assert main(["perplexity", "out", "heldout.txt"]) == 0
    exact = float(capsys.readouterr().out.split()[1])
    np.testing.assert_allclose(exact, found[best], rtol=0.05)

    # Run again, there is nothing left to do; with more steps, there is.
    run(*heldout, "--steps", 4)
    out, err = capsys.readouterr()
    assert "nothing is left to train, as it has 4 steps; to go on" in err
    assert f"'out' contains the best model, of step {best}" in out
    run(*heldout, "--steps", 6)
    assert "step 6: held-out" in capsys.readouterr().err


class Interrupting(TrainingProgress):
    def __init__(self, progress):
        super().__init__(progress)
        self.answered = threading.Event()

    def stepped(self, step, loss):
        if step == 3:
            signal.raise_signal(signal.SIGINT)
            assert self.answered.wait(60)

    def stopping(self):
        super().stopping()
        self.answered.set()


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
def test_an_interrupted_training_is_resumed(folder, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(pretrain_reports, "TrainingProgress", Interrupting)
        run("--steps", 6, status=130)
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "stopping after this step, with a checkpoint; a second Ctrl-C stops at "
        "once",
        # The loss of step 3 is reported when step 4 has begun.
        "keras-elmo: interrupted after step 4; the same command, without "
        "--restart, resumes. 'out' contains the model of step 4.",
    ]
    run("--steps", 6)
    assert "training after step 4: 6 steps" in capsys.readouterr().err
    run("--steps", 7, "--quiet")
    assert not any(capsys.readouterr())


@pytest.mark.parametrize(
    ("flags", "best", "told"),
    [
        ([], {}, "the model of step 4.\n"),
        (HELDOUT, {}, "no model before the first evaluation.\n"),
        (
            HELDOUT,
            {"best_step": 3000, "best": 1169.983},
            "the best model, of step 3,000: held-out perplexity 1,169.98.\n",
        ),
    ],
)
@pytest.mark.parametrize("is_finished", [True, False])
def test_what_the_folder_contains(
    folder, monkeypatch, capsys, flags, best, told, is_finished
):
    options = {"status": 0 if is_finished else 130, "is_finished": is_finished}
    _, shown = show(monkeypatch, capsys, *flags, **options, **best)
    assert shown[not is_finished].endswith(f"'out' contains {told}")


@pytest.mark.in_graphs(False)
@pytest.mark.filterwarnings("always:The training has not")
def test_a_model_that_further_training_makes_worse_is_kept(folder, capsys):
    rate = "--learning-rate", 0.1
    run(*HELDOUT, "--steps", 20, "--batch-size", 2, *rate, "--quiet")
    names = ["train0.txt", "worse", "--from", "out", *HELDOUT]
    names += ["--steps", 2, "--batch-size", 2, "--learning-rate", 50]
    assert main(["pretrain", *map(str, names)]) == 0
    said = capsys.readouterr()
    assert "'worse' contains the best model, of step 0" in said.out
    assert "has not improved 'out'" in said.err
    assert "try --learning-rate 0.0003" in said.err
    before, after = map(all_arrays, ("out/weights.hdf5", "worse/weights.hdf5"))
    for key, array in before.items():
        np.testing.assert_array_equal(after[key], array, err_msg=key)


def test_files_and_flags_are_passed_on(folder, monkeypatch, capsys):
    model = str(ENGLISH_TINY)
    flags = ["--from", model, "--new-softmax", "--restart", *HELDOUT]
    passed, _ = show(monkeypatch, capsys, *flags, "--vocabulary", "words")
    assert passed.pop("initial").path == model
    assert isinstance(passed.pop("report"), TrainingProgress)
    assert passed == {
        "heldout": ["heldout.txt"],
        "vocabulary": "words",
        "min_count": 3,
        "new_softmax": True,
        "restart": True,
    }


@pytest.mark.parametrize(
    "flags, is_told",
    [([], True), (["--recipe", "paper"], False), (["--options", "o"], False)],
)
def test_a_recipe_for_small_texts_is_named(
    folder, monkeypatch, capsys, flags, is_told
):
    (folder / "o").write_text(json.dumps(OPTIONS))
    _, shown = show(monkeypatch, capsys, *flags)
    assert ("--recipe laptop" in shown.err) == is_told


@pytest.mark.in_graphs(False)
def test_a_restart_that_cannot_begin_discards_nothing(folder, fails):
    run("--steps", 1, "--quiet", "--negatives", 100)
    before = {x.name: x.read_bytes() for x in (folder / "out").iterdir()}
    # Weights that are cut off, which only reading them shows.
    shutil.copytree("out", "cut")
    weights = pathlib.Path("cut/weights.hdf5")
    weights.write_bytes(weights.read_bytes()[:2000])
    restart = ["pretrain", "train0.txt", "out", "--restart", "--from"]
    said = fails(*restart, "cut", "--quiet", "--new-softmax")
    assert "cut/weights.hdf5" in said
    said = fails(*restart, "./out", "--quiet")
    assert "FOLDER must not be the folder of --from" in said
    said = fails(*command("--steps", 2, "--seed", 1, "--quiet"))
    assert "must have the --seed that it started with, 0. Received: 1" in said
    after = {x.name: x.read_bytes() for x in (folder / "out").iterdir()}
    assert after == before


@pytest.mark.in_graphs(False)
@pytest.mark.filterwarnings("default:The vocabulary has")
def test_the_words_of_a_treebank(folder, capsys):
    rest = "\t_" * 4 + "\t0\troot\t_\t_\n"
    text = "# text = a cat\n" + f"1\ta{rest}2\tcat{rest}\n" * 3
    pathlib.Path("train.txt").write_text(f"{text}1\tdog{rest}\n")
    names = ["pretrain", "train.txt", "out", "--options", "options.json"]
    names += ["--steps", "1", "--min-count", "2", "--heldout", "train.txt"]
    assert main(names) == 0
    told = capsys.readouterr().err
    assert "the vocabulary has 85.7% of the words\n" in told
    assert "warning: The vocabulary has 85.7% of the text's words. The" in told
    words = pathlib.Path("out/vocab.txt").read_text().split()
    assert words[3:] == ["a", "cat"]
    corpus = json.loads(pathlib.Path("out/training.json").read_text())["corpus"]
    assert (corpus["sentences"], corpus["tokens"]) == (4, 7)


def test_another_backend(folder, monkeypatch, fails):
    monkeypatch.setattr("keras.backend.backend", lambda: "torch")
    told = "`KERAS_BACKEND` must be one of ['tensorflow', 'jax']. Received: "
    assert f"{told}'torch'" in fails(*command())


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--new-softmax"], "--new-softmax needs --from. Received: none"),
        (["--patience", 1], "--patience needs --heldout"),
        (["--evaluate-every", 1], "--evaluate-every needs --heldout"),
        (["--heldout", "none*"], "There is no corpus file 'none*'"),
        (["--heldout", "latin1.txt"], "'latin1.txt' must be UTF-8"),
        (["--heldout", "pipe"], "must be in regular files. Received: 'pipe'"),
        (["--min-count", "13"], "has 0.0% of the text's words. The"),
        (["--vocabulary", "words"], "has 0.0% of the text's words"),
        (["--options", "train0.txt"], "'train0.txt' is not JSON"),
        (["--batch-size", 0], "--batch-size must be an integer of at least 1"),
        (["--log-every", 0], "--log-every must be an integer of at least 1"),
        (["--learning-rate", 0], "--learning-rate must be a positive number"),
    ],
)
def test_errors(folder, fails, arguments, told):
    pathlib.Path("latin1.txt").write_bytes(b"\xe9\n")
    pathlib.Path("words").write_text("<S>\n</S>\n<UNK>\nThe\nzyx\n")
    os.mkfifo("pipe")
    assert told in fails(*command(*arguments, "--quiet"))
    assert not os.path.exists("out/training.json")
    assert not os.path.exists("out/vocab.txt")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--min-count", 0], "an integer of at least 1. Received: '0'"),
        (["--min-count", "x"], "an integer of at least 1. Received: 'x'"),
        (["--from", "x"], "--from: not allowed with argument --options"),
        (
            ["--vocabulary", "v", "--min-count", 2],
            "--min-count: not allowed with argument --vocabulary",
        ),
        (
            ["--steps", 1, "--epochs", 1],
            "--epochs: not allowed with argument --steps",
        ),
        (["--steps", "1.5"], "invalid int value: '1.5'"),
        (["--learning-rate", "x"], "invalid float value: 'x'"),
    ],
)
def test_usage(capsys, arguments, told):
    with pytest.raises(SystemExit) as info:
        main(command(*arguments))
    assert info.value.code == 2
    assert told in capsys.readouterr().err


def test_settings_are_the_recipes_but_for_what_is_typed(folder):
    assert make_settings(parse()) == RECIPES["paper"]
    assert make_settings(parse("--recipe", "laptop")) == RECIPES["laptop"]
    flags = (
        "--batch-size 3 --steps 6 --learning-rate 0.5 --warmup-steps 7 --dtype "
        "mixed_bfloat16 --seed 10 --dropout 0.25 --negatives 11 --patience 2"
    )
    paper = RECIPES["paper"]
    assert make_settings(parse(*flags.split())) == dataclasses.replace(
        paper,
        options={
            **paper.options,
            "dropout": 0.25,
            "n_negative_samples_batch": 11,
        },
        batch_size=3,
        steps=6,
        learning_rate=0.5,
        warmup_steps=7,
        dtype="mixed_bfloat16",
        seed=10,
        patience=2,
    )


def test_settings_of_an_options_file(folder):
    made = make_settings(parse("--options", "options.json"))
    assert (made.batch_size, made.unroll_steps) == (2, 3)
    assert (made.clip_norm, made.epochs) == (5.0, 7)
    model = {"bidirectional", "char_cnn", "dropout", "lstm"}
    assert set(made.options) == {*model, "n_negative_samples_batch"}
    made = make_settings(
        parse("--options", "options.json", "--batch-size", 4, "--epochs", 1.5)
    )
    assert (made.batch_size, made.unroll_steps, made.epochs) == (4, 3, 1.5)
    assert made.steps is None


def test_settings_of_the_model_to_start_from():
    made = make_settings(parse("--from", "x"), find_model(ENGLISH_TINY))
    content = json.loads((ENGLISH_TINY / "options.json").read_text())
    left_out = content.keys() - made.options.keys()
    assert left_out == {"batch_size", "unroll_steps", "all_clip_norm_val"}
    assert made.options == {k: content[k] for k in made.options}
    assert made.batch_size == RECIPES["paper"].batch_size


def test_lines_from_time_to_time(clock, capsys):
    """Steps of five seconds, and a slow evaluation."""
    with ProgressDisplay() as progress:
        report = TrainingProgress(progress)
        report.counted(0, 0, 0.0)
        clock.now += 11
        report.counted(20_000, 300_000, 0.5)
        clock.now += 1
        settings = dataclasses.replace(
            RECIPES["laptop"], unroll_steps=50, steps=6, log_every=2
        )
        plan = TrainingPlan(settings, 15_000, rows=100)
        report.begun(0, plan)
        for step in range(1, 7):
            clock.now += 60 if step == 1 else 5  # The first is slow.
            report.stepped(step, float(step))
            if step == 3:
                with report.working("measuring the held-out perplexity"):
                    clock.now += 1000
                found = Perplexity(169.98, 170.1, 169.9, 7)
                report.evaluated(step, found, True)
        report.begun(4, plan)
    assert capsys.readouterr().err.splitlines() == [
        "reading the text: 0:00:11 left, 50/100 %, 27,273 tokens/s, 20,000 "
        "sentences",
        "training from the start: 6 steps of 5,000 tokens, 2.0 passes over "
        "the text",
        "1/6 steps, loss 1.000",
        "0:00:15 left, 3/6 steps, 1,000 tokens/s, loss 2.500",
        "step 3: held-out perplexity 169.98 (forward 170.1, backward 169.9), "
        "the best so far",
        "0:00:10 left, 4/6 steps, 1,000 tokens/s, loss 3.500",
        "0:00:00 left, 6/6 steps, 1,000 tokens/s, loss 5.500",
        "training after step 4: 6 steps of 5,000 tokens, 2.0 passes over the "
        "text",
    ]


@pytest.mark.parametrize(
    "gpus, processors, set_to", [(0, 6, (2, 3)), (0, 1, (1, 1)), (1, 6, ())]
)
def test_threads(monkeypatch, gpus, processors, set_to):
    numbers = {}
    monkeypatch.setattr(
        shared_arguments, "_usable_processors", lambda: processors
    )
    config = tf.config
    monkeypatch.setattr(config, "list_physical_devices", lambda _: [0] * gpus)
    for kind in ("inter", "intra"):
        monkeypatch.setattr(
            config.threading,
            f"set_{kind}_op_parallelism_threads",
            lambda number, kind=kind: numbers.update({kind: number}),
        )
    shared_arguments.set_threads()
    assert tuple(numbers.values()) == set_to


@pytest.mark.exhaustive
def test_threads_are_set_before_tensorflow_begins():
    code = """
from keras_elmo.commands import arguments
arguments._usable_processors = lambda: 6
from keras_elmo.commands.main import main
main(["perplexity", "nothing", "nothing"])
import tensorflow as tf
get = tf.config.threading
print(get.get_inter_op_parallelism_threads())
print(get.get_intra_op_parallelism_threads(), len(tf.range(3)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.split() == ["2", "3", "3"], done.stderr
