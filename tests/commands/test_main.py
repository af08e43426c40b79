"""Behaviour that all commands share."""

import io
import itertools
import os
import subprocess
import sys
import warnings
from unittest import mock

import pytest
from conftest import ROOT

import keras_elmo
from keras_elmo import quiet_start
from keras_elmo.commands import inspect
from keras_elmo.commands.main import main
from keras_elmo.models.find_model import find_model

_NUMBERS = itertools.count()
HEAVY = "keras", "tensorflow", "numpy", "h5py"
COMMANDS = "embed tag train-tagger evaluate pretrain perplexity convert export"
PROGRAM = f"""
import sys
from keras_elmo.commands.main import main
for arguments, status in (
    (["--help"], 0), (["--version"], 0), ([], 2), (["embed"], 2),
    (["inspect", "a", "--nothing"], 2),
    *[([command, "--help"], 0) for command in "{COMMANDS} inspect".split()],
):
    try:
        main(arguments)
    except SystemExit as end:
        assert end.code == status, arguments
print("imported:", *[name for name in {HEAVY} if name in sys.modules])
"""


def python(*arguments, **options):
    """Runs Python in the root of the repository; returns its process."""
    pipes = dict.fromkeys(["stdout", "stderr"], subprocess.PIPE)
    options = {"cwd": ROOT, "text": True, **pipes, **options}
    return subprocess.run([sys.executable, *arguments], **options)


def replace_run(monkeypatch, command, run):
    name = command.split()[0].replace("-", "_")
    monkeypatch.setattr(f"keras_elmo.commands.{name}.run", run)


def test_without_a_command_the_help_is_shown(run):
    out, err = run(status=2)
    assert not err and "embed a corpus into a file" in out
    told = "unrecognized arguments: --nothing"
    assert told in run("--nothing", status=2).err


def test_help_and_wrong_usage_import_nothing_heavy():
    done = python("-c", PROGRAM)
    assert done.stdout.endswith("\nimported:\n"), done.stdout + done.stderr
    done = python("-m", "keras_elmo", "--version", check=True)
    assert done.stdout.strip() == keras_elmo.__version__


def test_help_teaches(run):
    for command, told in [
        ("embed", "examples: keras-elmo embed english_mini corpus.txt"),
        ("convert", "written atomically"),
        ("pretrain", "rows of a window per device. Default: 128 (laptop:"),
    ]:
        assert told in " ".join(run(command, "--help").out.split())


def test_an_unknown_option_shows_the_usage_of_its_command(run):
    shown = run("train-tagger", "a", "b", "--modle", "x", status=2).err
    assert shown.startswith("usage: keras-elmo train-tagger ")
    assert "unrecognized arguments: --modle x" in shown


def test_arguments_are_called_flags_while_a_command_runs(fails):
    said = fails("export", "english_mini", "new", "--weights", "w")
    assert "error: --weights must be left out: " in said
    with pytest.raises(ValueError, match="`weights` must be left out: "):
        find_model("english_mini", "w")


def error_of(name, text):
    """Returns an error whose class is found only with some backend."""
    return type(name, (Exception,), {})(text)


MEMORY = "error: there is not enough memory. Use smaller batches or a smaller"
SMALLER = "error: there is not enough memory. Use a smaller --batch-size or"
NO_TENSORFLOW = ModuleNotFoundError("No module", name="tensorflow")
STOP, AGAIN = KeyboardInterrupt(), "interrupted; run the same command again"


@pytest.mark.parametrize(
    ("command", "error", "status", "told"),
    [
        # As in `keras-elmo inspect | head -1`.
        ("inspect", BrokenPipeError(32, "Broken pipe"), 1, ""),
        ("inspect", ValueError("one\ntwo"), 1, "error: one two\n"),
        ("inspect", OSError(2, "No file"), 1, "error: No file\n"),
        ("inspect", NO_TENSORFLOW, 1, "error: TensorFlow is not installed. "),
        ("inspect", STOP, 130, "interrupted.\n"),
        ("embed a b c", STOP, 130, f"{AGAIN} to resume.\n"),
        ("embed a b c --restart", STOP, 130, f"{AGAIN}, without --restart, t"),
        ("inspect", MemoryError("9 TB"), 1, f"{MEMORY} model. 9 TB\n"),
        ("inspect", error_of("ResourceExhaustedError", ""), 1, MEMORY),
        ("inspect", error_of("OutOfMemoryError", "CUDA"), 1, MEMORY),
        ("inspect", error_of("JaxError", "RESOURCE_EXHAUSTED"), 1, MEMORY),
        ("pretrain a b", MemoryError(), 1, SMALLER),
    ],
)
def test_errors_are_told_in_a_line(
    monkeypatch, run, command, error, status, told
):
    replace_run(monkeypatch, command, mock.Mock(side_effect=error))
    shown = run(*command.split(), status=status).err
    assert shown.startswith(told and f"keras-elmo: {told}")
    assert shown.count("\n") == bool(told)


def test_no_message_shows_a_whole_vocabulary(monkeypatch, fails):
    error = ValueError(f"Received: {[str(i) for i in range(9999)]}")
    replace_run(monkeypatch, "inspect", mock.Mock(side_effect=error))
    shown = fails("inspect", "a")
    assert shown.startswith("keras-elmo: error: Received: ['0', '1', ")
    assert shown.endswith(" '9998']") and len(shown) < 1100


@pytest.fixture
def noisy(tmp_path, monkeypatch):
    """Creates a module that bypasses `sys.stderr`; returns its name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)

    def make(end=""):
        name = f"noisy_{next(_NUMBERS)}"
        text = f"import os\nos.write(2, b'start-up lines\\n')\n{end}\n"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return make


@pytest.mark.parametrize("level", [None, "0", "1"])
def test_start_up_lines_are_shown_on_demand(noisy, level, monkeypatch, capfd):
    if level:
        monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", level)
    quiet_start.import_quietly(noisy())
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == (level or "3")
    shown = "start-up lines\n" if level == "0" else ""
    assert capfd.readouterr().err == shown
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "later\n"


def test_a_failure_shows_what_was_written(noisy, monkeypatch, capfd):
    with pytest.raises(ImportError, match="no_such_module"):
        quiet_start.import_quietly(noisy("import no_such_module"))
    assert capfd.readouterr().err == "start-up lines\n"
    monkeypatch.setattr(sys, "stderr", None)
    quiet_start.import_quietly(noisy())
    assert capfd.readouterr().err == "start-up lines\n"


@pytest.mark.filterwarnings("always:told")
@pytest.mark.parametrize(
    ("command", "stream", "is_needed"),
    [
        ("embed small - out.npz", "stdin", True),
        ("tag english_pos - -", "stdout", True),
        ("perplexity small in.txt", "stdout", True),
        ("evaluate english_pos in.txt", "stdout", True),
        ("inspect", "stdout", True),
        ("inspect", "stderr", False),
        ("tag english_pos in.txt out", "stdin", False),
        ("tag english_pos in.txt out", "stdout", False),
    ],
)
def test_a_closed_stream(monkeypatch, capsys, command, stream, is_needed):
    def write(arguments):
        print("result", sys.stdout.isatty())
        print("progress", sys.stderr.isatty(), file=sys.stderr, flush=True)
        warnings.warn("told", stacklevel=1)
        ran.append(arguments)

    ran = []
    replace_run(monkeypatch, command, write)
    monkeypatch.setattr(sys, stream, None)
    status = main(command.split())
    getattr(sys, stream).close()
    assert status == is_needed != len(ran)
    if is_needed:
        told = capsys.readouterr().err
        assert f"error: {stream} must be open. Received: closed\n" in told


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="It needs a shell.")
def test_the_numbers_of_closed_streams_are_not_those_of_files(tmp_path):
    (tmp_path / "in.txt").write_text("The cat sat .\n")
    files = f"'{tmp_path}/in.txt' '{tmp_path}/out.npz'"
    command = f"'{sys.executable}' -m keras_elmo embed english_mini {files}"
    done = subprocess.run(
        f"{command} <&- >&- 2>&-", shell=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0
    assert (tmp_path / "out.npz").stat().st_size > 10_000


@pytest.mark.exhaustive
def test_a_pipe_that_is_closed():
    read, write = os.pipe()
    os.close(read)
    variables = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = "-m", "keras_elmo", "inspect", "english_mini"
    done = python(*command, env=variables, stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_backend_that_there_is_not():
    variables = {**os.environ, "KERAS_BACKEND": "none"}
    done = python("-m", "keras_elmo", "inspect", "small", env=variables)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("keras-elmo: error: ") and "none" in last


def test_a_word_that_the_output_cannot_show(monkeypatch):
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, "ascii"))
    monkeypatch.setattr(inspect, "run", lambda arguments: print("été"))
    assert main(["inspect", "small"]) == 0
    sys.stdout.flush()
    assert output.getvalue() == b"\\xe9t\\xe9\n"
