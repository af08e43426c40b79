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
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from hdf5_arrays import all_arrays

import keras_elmo
from keras_elmo.commands import arguments as shared_arguments
from keras_elmo.commands import pretrain as module
from keras_elmo.commands import pretrain_reports
from keras_elmo.commands.main import main
from keras_elmo.commands.pretrain_reports import TrainingProgress
from keras_elmo.commands.pretrain_settings import make_settings
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import TrainingPlan

pytestmark = pytest.mark.usefixtures("tensorflow_has_begun")
OPTIONS = {
    "bidirectional": True,
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 4], [2, 8]],
        "max_characters_per_token": 10,
        "n_characters": 261,
        "n_highway": 0,
    },
    "dropout": 0.1,
    "lstm": {
        "cell_clip": 3,
        "dim": 8,
        "n_layers": 1,
        "proj_clip": 3,
        "projection_dim": 4,
        "use_skip_connections": True,
    },
    "n_negative_samples_batch": 5,
    "batch_size": 2,
    "unroll_steps": 3,
    "all_clip_norm_val": 5.0,
    "n_epochs": 7,
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


def log_entries():
    lines = pathlib.Path("out/log.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


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

    entries = log_entries()
    found = {
        entry["step"]: entry["heldout_perplexity"]
        for entry in entries
        if "heldout_perplexity" in entry
    }
    best = min(found, key=found.get)
    assert f"perplexity {found[2]:,.2f} (forward" in told[0]
    assert out == (
        f"'out' contains the best model, of step {best}: "
        f"held-out perplexity {found[best]:,.2f}.\n"
    )
    elmo = keras_elmo.ElmoLayer.from_bilm("out")
    assert elmo(keras_elmo.batch_to_ids([["cat"]], 10)).shape == (1, 1, 8)

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
    at = 3

    def __init__(self, progress):
        super().__init__(progress)
        self.answered = threading.Event()

    def stepped(self, step, loss):
        if step == self.at:
            signal.raise_signal(signal.SIGINT)
            assert self.answered.wait(60)

    def stopping(self):
        self.answered.set()


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
def test_an_interrupted_training_goes_on_as_if_nothing_had_been(
    folder, capsys, monkeypatch
):
    arguments = ["--steps", 6, "--seed", 3, "--quiet"]
    run(*arguments, output="whole")
    with monkeypatch.context() as patch:
        patch.setattr(pretrain_reports, "TrainingProgress", Interrupting)
        run(*arguments, status=130)
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        # The loss of step 3 is reported when step 4 has begun.
        "keras-elmo: interrupted after step 4; the same command, without "
        "--restart, resumes. 'out' contains the model of step 4."
    ]
    run(*arguments)
    streams = capsys.readouterr()
    assert not (out or streams.out or streams.err)
    whole = all_arrays("whole/weights.hdf5")
    parts = all_arrays("out/weights.hdf5")
    for key, array in whole.items():
        np.testing.assert_array_equal(parts[key], array, err_msg=key)

    # The best model is that of an earlier step.
    arguments += [*HELDOUT, "--evaluate-every", 3, "--restart"]
    with monkeypatch.context() as patch:
        patch.setattr(pretrain_reports, "TrainingProgress", Interrupting)
        patch.setattr(Interrupting, "at", 4)
        run(*arguments, status=130)
    said = capsys.readouterr().err
    (found,) = (e for e in log_entries() if "heldout_perplexity" in e)
    found = found["heldout_perplexity"]
    assert "interrupted after step 5" in said
    assert f"of step 3: held-out perplexity {found:,.2f}.\n" in said


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
def test_an_interruption_before_the_first_evaluation(
    folder, capsys, monkeypatch
):
    monkeypatch.setattr(pretrain_reports, "TrainingProgress", Interrupting)
    run(*HELDOUT, "--steps", 9, "--evaluate-every", 9, status=130)
    said = capsys.readouterr().err
    assert "contains no model before the first evaluation." in said


@pytest.mark.in_graphs(False)
def test_without_a_held_out_text_the_last_model_stays(folder, capsys):
    run("--steps", 2, "--negatives", "100")
    assert capsys.readouterr().out == "'out' contains the model of step 2.\n"


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
def test_patience(folder, capsys):
    arguments = [*HELDOUT, "--evaluate-every", 1]
    arguments += ["--steps", 9, "--patience", 1, "--learning-rate", 1e-30]
    run(*arguments)
    assert "'out' contains the best model, of step 1" in capsys.readouterr().out
    assert log_entries()[-1]["step"] == 2
    run(*arguments)
    assert log_entries()[-1]["step"] == 2


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


@pytest.mark.in_graphs(False)
@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore:The vocabulary has [35]")
def test_fine_tuning(folder, shared, fails):
    checkpoint = shared / "reference/bilm_tf_checkpoint"
    names = ["train0.txt", "out", "--from", checkpoint, "--batch-size", 1]
    names += ["--steps", 1, "--learning-rate", 1e-6, "--quiet"]
    assert main(["pretrain", *map(str, names)]) == 0
    before = all_arrays(checkpoint / "weights.hdf5")
    after = all_arrays("out/weights.hdf5")
    for key, array in before.items():
        np.testing.assert_allclose(after[key], array, atol=1e-5, err_msg=key)
    key = "RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B"
    assert (after[key] != before[key]).any()
    words = (checkpoint / "vocab.txt").read_bytes()
    assert pathlib.Path("out/vocab.txt").read_bytes() == words
    options = json.loads(pathlib.Path("out/options.json").read_text())
    assert options["n_negative_samples_batch"] == 256
    assert options["batch_size"] == 1

    # Another vocabulary of the same size.
    words = words.split(b"\n")
    words[5] = b"not-there-before"
    pathlib.Path("vocab.txt").write_bytes(b"\n".join(words))
    pathlib.Path("short.txt").write_bytes(b"<S>\n</S>\n<UNK>\nthe\n")
    names[1] = "other"
    for name, told in [
        ("vocab.txt", "Received: one with other words"),
        ("short.txt", "which has 1503 words. Received: one with other"),
    ]:
        said = fails("pretrain", *names, "--vocabulary", name)
        assert told in said
        assert "a new softmax over another vocabulary, run keras-elmo" in said
    assert not os.path.exists("other/training.json")
    names += ["--vocabulary", "short.txt"]
    assert main(["pretrain", *map(str, names), "--new-softmax"]) == 0
    assert all_arrays("other/softmax.hdf5")["softmax/W"].shape == (4, 32)

    # A model without a softmax, like the published ones.
    os.mkdir("bare")
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(checkpoint / name, "bare")
    names[1], names[3] = "third", "bare"
    said = fails("pretrain", *names)
    assert "to train a new one, run keras-elmo pretrain" in said
    assert "Put the vocabulary" in fails("pretrain", *names[:-2])


@pytest.mark.in_graphs(False)
def test_a_model_has_a_folder_of_its_own(folder, fails):
    run("--steps", 2, output="english_mini")
    said = fails(
        "pretrain",
        *["train0.txt", "english_mini"],
        *["--from", "./english_mini", "--restart"],
    )
    assert "FOLDER must not be the folder of --from" in said


@pytest.mark.in_graphs(False)
def test_a_restart_that_cannot_begin_discards_nothing(folder, fails):
    run("--steps", 1, "--quiet")
    before = {
        path.name: path.read_bytes() for path in (folder / "out").iterdir()
    }
    # Weights that are cut off, which only reading them shows.
    shutil.copytree("out", "cut")
    weights = pathlib.Path("cut/weights.hdf5")
    weights.write_bytes(weights.read_bytes()[:2000])
    said = fails(
        "pretrain",
        *["train0.txt", "out", "--restart", "--quiet"],
        *["--from", "cut", "--new-softmax"],
    )
    assert "cut/weights.hdf5" in said
    after = {
        path.name: path.read_bytes() for path in (folder / "out").iterdir()
    }
    assert after == before


@pytest.mark.in_graphs(False)
def test_the_words_of_a_treebank(folder, capsys):
    rest = "\t_" * 4 + "\t0\troot\t_\t_\n"
    rows = "".join(f"{i}\t{w}{rest}" for i, w in enumerate(["a", "cat"], 1))
    for name in ("train.conllu", "train.txt"):
        pathlib.Path(name).write_text(f"# text = a cat\n{rows}\n" * 3)
        out = f"{name}.out"
        names = ["pretrain", name, out, "--options", "options.json"]
        assert main([*names, "--steps", "1", "--heldout", name]) == 0
        assert "has 100.0% of the words" in capsys.readouterr().err
        words = pathlib.Path(out, "vocab.txt").read_text().split()
        assert words[3:] == ["a", "cat"]
        corpus = json.loads(pathlib.Path(out, "training.json").read_text())
        corpus = corpus["corpus"]
        assert (corpus["sentences"], corpus["tokens"]) == (3, 6)


@pytest.mark.parametrize(
    "words, flags, told",
    [
        (None, ["--min-count", "13"], "has 0.0% of the text's words. The"),
        ("", ["--vocabulary", "words"], "has 0.0% of the text's words"),
        ("The\nzyx\n", ["--vocabulary", "words"], "has 0.0% of the text's"),
        ("the 5\nand 3\n", ["--vocabulary", "words"], "word 4: b'the 5'"),
    ],
)
def test_a_vocabulary_of_no_word_of_the_text(folder, fails, words, flags, told):
    pathlib.Path("words").write_text(f"<S>\n</S>\n<UNK>\n{words or ''}")
    assert told in fails(*command(*flags, "--steps", 1, "--quiet"))
    assert not os.path.exists("out/vocab.txt")


@pytest.mark.in_graphs(False)
@pytest.mark.filterwarnings("default:The vocabulary has")
def test_a_vocabulary_of_few_words_of_the_text(folder, capsys):
    # "the" occurs 4 * 3 times among 15 * 3 words.
    run("--min-count", 8, "--steps", 1)
    told = "warning: The vocabulary has 26.7% of the text's words. The"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags, is_told",
    [([], True), (["--recipe", "paper"], False), (["--options", "o"], False)],
)
def test_a_recipe_for_small_texts_is_named(
    folder, monkeypatch, capsys, flags, is_told
):
    (folder / "o").write_text(json.dumps(OPTIONS))
    name = "keras_elmo.pretraining.pretrain.pretrain"
    training = mock.Mock(is_finished=False)
    monkeypatch.setattr(name, lambda *_, **__: training)
    names = ["pretrain", "train0.txt", "out"]
    training.progress.step = 0
    assert main([*names, *flags]) == 130
    assert ("--recipe laptop" in capsys.readouterr().err) == is_told


def test_without_tensorflow(folder, monkeypatch, fails):
    monkeypatch.setattr("keras.backend.backend", lambda: "torch")
    said = fails(*command())
    told = "`KERAS_BACKEND` must be one of ['tensorflow', 'jax']. Received: "
    assert f"{told}'torch'" in said

    def fail(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr("importlib.import_module", lambda _: fail("tensorflow"))
    said = fails(*command())
    assert "TensorFlow is not installed. Install it (pip install" in said
    assert "KERAS_BACKEND to jax or torch" in said


@pytest.mark.parametrize(
    "names",
    [
        ["latin1.txt", "out"],
        ["train0.txt", "latin1.txt", "out"],
        ["train0.txt", "out", "--heldout", "latin1.txt"],
        ["--vocabulary", "latin1.txt", "train0.txt", "out"],
    ],
)
def test_text_must_be_utf8(folder, fails, names):
    text = "a\nb\né\n<S>\n</S>\n<UNK>\n"
    (folder / "latin1.txt").write_bytes(text.encode("latin1"))
    said = fails("pretrain", *names, "--quiet")
    assert "'latin1.txt' must be UTF-8" in said and "in line 3" in said
    assert not os.path.exists("out/vocab.txt")
    assert fails("perplexity", "out", "latin1.txt") == said


def test_text_from_a_pipe_is_refused(folder, fails):
    os.mkfifo("pipe")
    for names in (["pipe", "out"], ["train0.txt", "out", "--heldout", "pipe"]):
        said = fails("pretrain", *names, "--recipe", "laptop")
        assert "must be in regular files. Received: 'pipe'" in said


@pytest.mark.in_graphs(False)
def test_what_is_there_is_not_overwritten(folder, fails):
    os.mkdir("out")
    shutil.copy("options.json", "out")
    for flags in ([], ["--restart"]):
        said = fails(*command(*flags))
        assert "no training wrote, and this one would replace them" in said
        assert "them: options.json. Choose another folder" in said
    os.remove("out/options.json")
    run("--steps", 1, "--quiet")
    assert os.path.exists("out/training.json")

    # A training with another seed cannot resume it either.
    said = fails(*command("--steps", 2, "--seed", 1))
    assert "must have the --seed that it started with, 0. Received: 1" in said
    # Nor one that starts from other words.
    said = fails(*command("--steps", 2, "--min-count", 2))
    assert "the --min-count that it started with, 3. Received: 2" in said
    # The training length in an options file is not part of the model.
    content = {**OPTIONS, "n_epochs": 8, "n_train_tokens": 99}
    pathlib.Path("options.json").write_text(json.dumps(content))
    run("--quiet", "--steps", 1)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--new-softmax"], "--new-softmax needs --from"),
        (["--patience", 1], "--patience needs --heldout"),
        (["--evaluate-every", 1], "--evaluate-every needs --heldout"),
        (["--heldout", "none*"], "There is no corpus file 'none*'"),
        (["--options", "none.json"], "none.json"),
        (["--options", "train0.txt"], "'train0.txt' is not JSON"),
        (
            ["--options", "list.json"],
            "must contain a JSON object. Received: list",
        ),
        (["--batch-size", 0], "--batch-size must be an integer of at least 1"),
        (["--steps", -1], "--steps must be an integer"),
        (
            ["--dropout", 1],
            "'dropout' must be a number of at least 0 and below 1",
        ),
        (["--log-every", 0], "--log-every must be an integer of at least 1"),
        (["--learning-rate", 0], "--learning-rate must be a positive number"),
    ],
)
def test_errors(folder, fails, arguments, told):
    pathlib.Path("list.json").write_text("[1]")
    pathlib.Path("words.txt").write_text("<S>\n</S>\n<UNK>\n")
    assert told in fails(*command(*arguments))
    assert not os.path.exists("out/training.json")


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--min-count", 0], "an integer of at least 1. Received: '0'"),
        (["--from", "x"], "--from: not allowed with argument --options"),
        (
            ["--vocabulary", "v", "--min-count", 2],
            "--min-count: not allowed with argument --vocabulary",
        ),
        (
            ["--steps", 1, "--epochs", 1],
            "--epochs: not allowed with argument --steps",
        ),
        (["--batch-size", "x"], "invalid int value: 'x'"),
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
    typed = {
        "batch_size": 3,
        "steps": 6,
        "learning_rate": 0.5,
        "warmup_steps": 7,
        "dtype": "mixed_bfloat16",
        "seed": 10,
    }
    flags = [
        text
        for name, value in typed.items()
        for text in (f"--{name.replace('_', '-')}", value)
    ]
    flags += ["--dropout", 0.25, "--negatives", 11]
    made = make_settings(parse(*flags))
    assert {name: getattr(made, name) for name in typed} == typed
    assert made.options == {
        **RECIPES["paper"].options,
        "dropout": 0.25,
        "n_negative_samples_batch": 11,
    }
    assert make_settings(parse("--epochs", 2.5)).epochs == 2.5
    assert make_settings(parse("--patience", 2)).patience == 2


def test_settings_of_an_options_file(folder):
    made = make_settings(parse("--options", "options.json"))
    assert (made.batch_size, made.unroll_steps) == (2, 3)
    assert (made.clip_norm, made.epochs) == (5.0, 7)
    model = {"bidirectional", "char_cnn", "dropout", "lstm"}
    assert set(made.options) == {*model, "n_negative_samples_batch"}
    made = make_settings(
        parse("--options", "options.json", "--batch-size", 4, "--epochs", 1)
    )
    assert (made.batch_size, made.unroll_steps, made.epochs) == (4, 3, 1)


def show_training(clock, first=0, last=6, total=6):
    """Shows a training with steps of five seconds and a slow evaluation."""
    with ProgressDisplay() as progress:
        report = TrainingProgress(progress)
        report.counted(0, 0, 0.0)
        clock.now += 11
        report.counted(20_000, 300_000, 0.5)
        clock.now += 1
        settings = dataclasses.replace(
            RECIPES["laptop"], unroll_steps=50, steps=total, log_every=2
        )
        report.begun(first, TrainingPlan(settings, 15_000, rows=100))
        for step in range(first + 1, last + 1):
            clock.now += 60 if step == first + 1 else 5  # The first is slow.
            report.stepped(step, float(step))
            if step == 3:
                with report.working("measuring the held-out perplexity"):
                    clock.now += 1000
                found = Perplexity(169.98, 170.1, 169.9, 7)
                report.evaluated(step, found, True)


def test_lines_from_time_to_time(clock, capsys):
    show_training(clock)
    out, err = capsys.readouterr()
    assert not out
    assert err.splitlines() == [
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
    ]


def test_a_bar_on_a_terminal(clock, open_terminal, monkeypatch, capsys):
    terminal = open_terminal()
    monkeypatch.setenv("COLUMNS", "80")
    show_training(clock, first=1000, last=1004, total=1010)
    shown = terminal.getvalue()
    assert not capsys.readouterr().out
    told = "training after step 1,000: 1,010 steps of 5,000 tokens, 336.7 "
    assert f"{told}passes over the text\n" in shown
    assert shown.endswith(
        "\r\x1b[K[============] 0:00:30 left, 1,004/1,010 steps, "
        "1,000 tokens/s, loss 1003.500\r\n"
    )


def test_a_terminal_keeps_held_out_lines(clock, open_terminal):
    terminal = open_terminal()
    show_training(clock)
    lines = terminal.getvalue().replace("\r", "\n").splitlines()
    line = next(line for line in lines if "step 3: held-out" in line)
    assert line.startswith("\x1b[Kstep 3: held-out perplexity 169.98 (")


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
    code = (
        "import sys; from keras_elmo.commands import arguments; "
        "arguments._usable_processors = lambda: 6; "
        "from keras_elmo.commands.main import main; "
        "sys.argv[1:] and main(sys.argv[1:]); import tensorflow as tf; "
        "get = tf.config.threading; "
        "print(get.get_inter_op_parallelism_threads(), "
        "get.get_intra_op_parallelism_threads(), len(tf.range(3)))"
    )
    root = pathlib.Path(keras_elmo.__file__).parent.parent
    arguments = ["perplexity", "nothing", "nothing"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["2", "3", "3"], done.stderr
