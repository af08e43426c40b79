import dataclasses
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import types
from unittest import mock

import pytest
import tensorflow as tf
from conftest import ROOT
from pretraining import small_trainings
from small_models import ENGLISH_TINY

from keras_elmo.commands.arguments import set_threads
from keras_elmo.commands.main import make_parser
from keras_elmo.commands.pretrain_reports import TrainingDisplay
from keras_elmo.commands.pretrain_settings import make_settings
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import TrainingPlan

pytestmark = pytest.mark.usefixtures("tensorflow_has_begun")
SIZES = {"batch_size": 2, "unroll_steps": 3, "all_clip_norm_val": 5.0}
OPTIONS = {**small_trainings.OPTIONS, **SIZES, "bidirectional": True}
OPTIONS |= {"n_epochs": 7, "n_train_tokens": 99}
COMMAND = "pretrain", "train*.txt", "out", "--options", "options.json"
HELDOUT = ["--heldout", "heldout.txt"]
LINES = ["the cat sat on the mat", "a dog ran", "the dog and the cat ran"]


@pytest.fixture
def texts(folder):
    """Files in the current folder: a corpus, a held-out text and options."""
    for i, line in enumerate(LINES):
        (folder / f"train{i}.txt").write_text(f"{line}\n" * 3)
    (folder / "heldout.txt").write_text("the mat sat\na cat\n")
    (folder / "options.json").write_text(json.dumps(OPTIONS))


@pytest.fixture
def pretrain(texts, run):
    """A function that trains on the corpus in the folder `out`."""
    return functools.partial(run, *COMMAND)


def parse(*arguments):
    parser, _ = make_parser()
    return parser.parse_args(["pretrain", "t", "o", *map(str, arguments)])


@pytest.fixture
def show(texts, run, monkeypatch):
    """A function that runs the command, whose training is over at once.

    It takes flags, the exit status, and the progress of the training. It
    returns the arguments of `pretrain`, and what the command shows.
    """

    def show(*flags, status=0, is_finished=True, **progress):
        progress = {"step": 4, "best_step": None, "best": None, **progress}
        training = mock.Mock(is_finished=is_finished)
        training.progress = types.SimpleNamespace(**progress)
        pretrain = mock.Mock(return_value=training)
        name = "keras_elmo.pretraining.pretrain.pretrain"
        monkeypatch.setattr(name, pretrain)
        shown = run("pretrain", "train0.txt", "out", *flags, status=status)
        return pretrain.call_args.kwargs, shown

    return show


@pytest.mark.in_graphs(False)
def test_a_training_from_the_start_to_the_end(folder, pretrain, run):
    heldout = [*HELDOUT, "--evaluate-every", 2]
    out, err = pretrain(*heldout, "--steps", 4, "--log-every", 2)
    # Of 45 words and 9 boundaries, each step predicts six.
    assert "training from the start: 4 steps of 6 tokens, 0.4 passes ov" in err
    told = [line for line in err.splitlines() if "held-out perplexity" in line]
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

    # Run again, there is nothing left to do; with more steps, there is.
    out, err = pretrain(*heldout, "--steps", 4)
    assert "nothing is left to train, as it has 4 steps; to go on" in err
    assert f"'out' contains the best model, of step {best}" in out
    assert not any(pretrain(*heldout, "--steps", 6, "--quiet"))
    log = (folder / "out/log.jsonl").read_text().splitlines()
    assert json.loads(log[-1])["step"] == 6


BEST = {"best_step": 3000, "best": 1169.983}


def test_what_the_folder_contains(show):
    for flags, progress, told in [
        ([], {}, "'out' contains the model of step 4.\n"),
        (HELDOUT, {}, "'out' contains no model before the first evaluation.\n"),
        (HELDOUT, BEST, "of step 3,000: held-out perplexity 1,169.98.\n"),
    ]:
        _, shown = show(*flags, **progress)
        assert shown.out.endswith(told)
    _, shown = show(status=130, is_finished=False)
    assert shown.err.endswith(
        "keras-elmo: interrupted after step 4; the same command, without "
        "--restart, resumes. 'out' contains the model of step 4.\n"
    )


@pytest.mark.filterwarnings("always:The training has not")
def test_a_training_that_has_improved_nothing(show):
    model = str(ENGLISH_TINY)
    _, (out, err) = show("--from", model, *HELDOUT, best_step=0, best=9.0)
    assert "'out' contains the best model, of step 0" in out
    assert f"has not improved '{model}'" in err
    assert "try --learning-rate 0.0003" in err


def test_files_and_flags_are_passed_on(show, fails):
    model = str(ENGLISH_TINY)
    keeps = "pretrain", "t", "out", "--from", model, "--min-count", 2
    assert "--min-count needs --new-softmax here" in fails(*keeps)
    flags = ["--from", model, "--new-softmax", "--restart", *HELDOUT]
    passed, _ = show(*flags, "--vocabulary", "words")
    assert passed.pop("initial").path == model
    assert isinstance(passed.pop("report"), TrainingDisplay)
    files = {"heldout": ["heldout.txt"], "vocabulary": "words"}
    others = {"min_count": 3, "new_softmax": True, "restart": True}
    assert passed == {**files, **others}


def test_a_recipe_for_small_texts_is_named(show):
    for flags, is_told in [
        ([], True),
        (["--recipe", "paper"], False),
        (["--options", "options.json"], False),
    ]:
        _, shown = show(*flags)
        assert ("--recipe laptop" in shown.err) == is_told


@pytest.mark.in_graphs(False)
def test_a_restart_that_cannot_begin_discards_nothing(folder, pretrain, fails):
    pretrain("--steps", 1, "--quiet", "--negatives", 100)
    before = {x.name: x.read_bytes() for x in (folder / "out").iterdir()}
    # Weights that are cut off, which only reading them shows.
    shutil.copytree("out", "cut")
    os.truncate("cut/weights.hdf5", 2000)
    restart = ["pretrain", "train0.txt", "out", "--restart", "--quiet"]
    for command, told in [
        ([*restart, "--from", "cut", "--new-softmax"], "cut/weights.hdf5"),
        ([*restart, "--from", "./out"], "must not be the folder of --from"),
        ([*COMMAND, "--steps", 2, "--seed", 1, "--quiet"], "must have the --s"),
    ]:
        assert told in fails(*command)
    after = {x.name: x.read_bytes() for x in (folder / "out").iterdir()}
    assert after == before


@pytest.mark.in_graphs(False)
@pytest.mark.filterwarnings("default:The vocabulary has")
def test_the_words_of_a_treebank(folder, texts, run):
    rest = "\t_" * 4 + "\t0\troot\t_\t_\n"
    text = "# text = a cat\n" + f"1\ta{rest}2\tcat{rest}\n" * 3
    (folder / "train.txt").write_text(f"{text}1\tdog{rest}\n")
    (folder / "heldout.txt").write_text(f"1\tdog{rest}\n{text}")
    command = "pretrain train.txt out --options options.json --steps 1"
    command += " --min-count 2 --heldout heldout.txt"
    told = run(*command.split()).err
    assert "the vocabulary has 85.7% of the words\n" in told
    assert "warning: The vocabulary has 85.7% of the text's words. The" in told
    assert "vocabulary has 85.7% of the held-out text's words. The pe" in told
    words = (folder / "out/vocab.txt").read_text().split()
    assert words[3:] == ["a", "cat"]
    corpus = json.loads((folder / "out/training.json").read_text())["corpus"]
    assert (corpus["sentences"], corpus["tokens"]) == (4, 7)


def test_another_backend(monkeypatch, fails):
    monkeypatch.setattr("keras.backend.backend", lambda: "torch")
    told = "`KERAS_BACKEND` must be one of ['tensorflow', 'jax']. Received: "
    assert f"{told}'torch'" in fails(*COMMAND)


@pytest.mark.parametrize(
    "arguments, told",
    [
        ("--new-softmax", "--new-softmax needs --from. Received: none"),
        ("--patience 1", "--patience needs --heldout"),
        ("--evaluate-every 1", "--evaluate-every needs --heldout"),
        ("--heldout pipe", "must be in regular files. Received: 'pipe'"),
        ("--vocabulary words", "has 0.0% of the text's words"),
        ("--options train0.txt", "'train0.txt' is not JSON"),
    ],
)
def test_errors(texts, fails, arguments, told):
    pathlib.Path("words").write_text("<S>\n</S>\n<UNK>\nThe\nzyx\n")
    os.mkfifo("pipe")
    assert told in fails(*COMMAND, *arguments.split(), "--quiet")
    assert not os.path.exists("out/training.json")
    assert not os.path.exists("out/vocab.txt")


@pytest.mark.parametrize(
    "arguments, told",
    [
        ("--min-count 0", "an integer of at least 1. Received: '0'"),
        ("--min-count x", "an integer of at least 1. Received: 'x'"),
        ("--from x", "--from: not allowed with argument --options"),
        ("--vocabulary v --min-count 2", "--min-count: not allowed with argu"),
        ("--steps 1 --epochs 1", "--epochs: not allowed with argument --step"),
    ],
)
def test_usage(run, arguments, told):
    assert told in run(*COMMAND, *arguments.split(), status=2).err


def test_settings_are_the_recipes_but_for_what_is_typed():
    assert make_settings(parse()) == RECIPES["paper"]
    assert make_settings(parse("--recipe", "laptop")) == RECIPES["laptop"]
    flags = (
        "--batch-size 3 --steps 6 --learning-rate 0.5 --warmup-steps 7 --dtype "
        "mixed_bfloat16 --seed 10 --dropout 0.25 --negatives 11 --patience 2"
    )
    paper = RECIPES["paper"]
    options = {"dropout": 0.25, "n_negative_samples_batch": 11}
    changes = {"batch_size": 3, "steps": 6, "learning_rate": 0.5, "seed": 10}
    changes |= {"warmup_steps": 7, "dtype": "mixed_bfloat16", "patience": 2}
    changes["options"] = paper.options | options
    expected = dataclasses.replace(paper, **changes)
    assert make_settings(parse(*flags.split())) == expected


def test_settings_of_an_options_file(texts):
    flags = ["--options", "options.json", "--recipe", "gpu"]
    made = make_settings(parse(*flags))
    assert (made.batch_size, made.unroll_steps) == (2, 3)
    assert (made.clip_norm, made.epochs) == (5.0, 7)
    model = {"bidirectional", "char_cnn", "dropout", "lstm"}
    assert set(made.options) == {*model, "n_negative_samples_batch"}
    made = make_settings(parse(*flags, "--batch-size", 4, "--epochs", 1.5))
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
        report = TrainingDisplay(progress)
        report.counted(0, 0, 0.0)
        clock.now += 11
        report.counted(20_000, 300_000, 0.5)
        clock.now += 1
        changes = {"unroll_steps": 50, "steps": 6, "log_every": 2}
        settings = dataclasses.replace(RECIPES["laptop"], **changes)
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
        report.stopping()
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
        "stopping after this step, with a checkpoint; a second Ctrl-C stops at "
        "once",
    ]


@pytest.mark.parametrize(
    "gpus, processors, set_to", [(0, 6, (2, 3)), (0, 1, (1, 1)), (1, 6, ())]
)
def test_threads(monkeypatch, gpus, processors, set_to):
    numbers, config = {}, tf.config
    threading = types.SimpleNamespace(
        set_inter_op_parallelism_threads=lambda n: numbers.update(inter=n),
        set_intra_op_parallelism_threads=lambda n: numbers.update(intra=n),
    )
    monkeypatch.setattr(config, "threading", threading)
    monkeypatch.setattr(config, "list_physical_devices", lambda _: [0] * gpus)
    name = "keras_elmo.commands.arguments._usable_processors"
    monkeypatch.setattr(name, lambda: processors)
    set_threads()
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
