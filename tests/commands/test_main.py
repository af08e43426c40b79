"""Behaviour that all commands share."""

import io
import itertools
import os
import pathlib
import subprocess
import sys
import warnings

import pytest

import keras_elmo
from keras_elmo import quiet_start
from keras_elmo.commands import inspect
from keras_elmo.commands import pretrain
from keras_elmo.commands.main import main
from keras_elmo.files.atomic import refuse_existing
from keras_elmo.models.find_model import find_model

ROOT = pathlib.Path(quiet_start.__file__).parent.parent
_NUMBERS = itertools.count()
HEAVY = "keras", "tensorflow", "numpy", "h5py"
COMMANDS = (
    "embed",
    "tag",
    "train-tagger",
    "pretrain",
    "perplexity",
    "convert",
    "export",
    "inspect",
)

# Commands that need no standard stream.
WRITING = (
    "embed small in.txt out.npz",
    "tag english_pos in.txt out",
    "train-tagger in.conll out.keras",
    "pretrain in.txt out",
    "convert small out",
    "export small out",
)


PROGRAM = f"""
import sys
from keras_elmo.commands.main import main
for arguments, status in (
    (["--help"], 0), (["--version"], 0), ([], 2), (["embed"], 2),
    (["inspect", "a", "--nothing"], 2),
    *[([command, "--help"], 0) for command in {COMMANDS}],
):
    try:
        main(arguments)
    except SystemExit as end:
        assert end.code == status, arguments
print("imported:", *[name for name in {HEAVY} if name in sys.modules])
"""


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        **options,
    )


def test_without_a_command_the_help_is_shown(capsys):
    with pytest.raises(SystemExit) as info:
        main([])
    assert info.value.code == 2
    out, err = capsys.readouterr()
    assert not err and "embed a corpus into a file" in out
    with pytest.raises(SystemExit):
        main(["--nothing"])
    assert "unrecognized arguments: --nothing" in capsys.readouterr().err


def test_messages_name_arguments_as_their_reader_writes_them(
    tmp_path, monkeypatch, fails
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "mine").touch()
    said = fails("export", "english_mini", "old")
    assert said.endswith("'old' exists. To replace it, pass --overwrite.")
    said = fails("export", "english_mini", "new", "--weights", "w")
    assert "error: --weights must be left out: " in said
    with pytest.raises(FileExistsError, match="pass `overwrite=True`"):
        refuse_existing("old/mine", False)
    with pytest.raises(ValueError, match="`weights` must be left out: "):
        find_model("english_mini", "w")


def test_help_and_wrong_usage_import_nothing_heavy():
    done = run("-c", PROGRAM)
    assert done.stdout.endswith("\nimported:\n"), done.stdout + done.stderr
    done = run("-m", "keras_elmo", "--version", check=True)
    assert done.stdout.strip() == keras_elmo.__version__


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("", "embed a corpus into a file"),
        ("embed", "examples: keras-elmo embed english_mini corpus.txt"),
        ("tag", "examples: keras-elmo tag english_pos corpus.txt"),
        ("convert", "keras-elmo convert bilm_tf_checkpoint my_elmo"),
        ("convert", "written atomically"),
        ("export", "keras-elmo export english_mini served/elmo/1"),
        ("export", "written atomically"),
        ("export", "split only on white space"),
        ("perplexity", "one sentence per line, with spaces between the tokens"),
        ("perplexity", "sentences each sentence separately"),
        ("pretrain", "one sentence per line, with spaces between the tokens"),
        ("pretrain", "the same command resumes"),
        ("pretrain", "it is not a perplexity"),
        ("pretrain", "keras-elmo pretrain my_text.txt my_elmo"),
        ("pretrain", "rows of a window per device. Default: 128 (laptop:"),
    ],
)
def test_help_teaches(command, told, capsys):
    with pytest.raises(SystemExit) as info:
        main([*command.split(), "--help"])
    assert info.value.code == 0
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_shows_the_usage_of_its_command(command, capsys):
    needed = {"embed": 3, "tag": 3, "inspect": 1}
    arguments = ["a"] * needed.get(command, 2)
    with pytest.raises(SystemExit) as info:
        main([command, *arguments, "--modle", "x"])
    assert info.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"usage: keras-elmo {command} ")
    assert "unrecognized arguments: --modle x" in shown


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


def test_no_message_shows_a_whole_vocabulary(monkeypatch, capsys):
    def run(arguments):
        raise ValueError(f"Received: {[str(i) for i in range(9999)]}")

    monkeypatch.setattr("keras_elmo.commands.inspect.run", run)
    assert main(["inspect", "a"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("keras-elmo: error: Received: ['0', '1', ")
    assert shown.endswith(" '9998']\n") and len(shown) < 1100


def test_start_up_lines_are_not_shown(noisy, capfd):
    quiet_start.import_quietly(noisy())
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "3"
    assert capfd.readouterr().err == ""
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "later\n"


@pytest.mark.parametrize("level", ["0", "1"])
def test_start_up_lines_that_are_asked_for(noisy, level, monkeypatch, capfd):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", level)
    quiet_start.import_quietly(noisy())
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == level
    shown = capfd.readouterr().err
    assert shown == ("start-up lines\n" if level == "0" else "")


def test_a_failure_shows_what_was_written(noisy, capfd):
    with pytest.raises(ImportError, match="no_such_module"):
        quiet_start.import_quietly(noisy("import no_such_module"))
    assert capfd.readouterr().err == "start-up lines\n"


def test_without_standard_error(noisy, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    quiet_start.import_quietly(noisy())


def test_a_reader_that_has_read_enough(monkeypatch, capfd):
    """As in `keras-elmo inspect small | head -1`."""

    def run(arguments):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(inspect, "run", run)
    assert main(["inspect", "small"]) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("always:told")
@pytest.mark.parametrize(
    ("command", "stream", "is_needed"),
    [
        ("embed small - out.npz", "stdin", True),
        ("tag english_pos - out", "stdin", True),
        ("tag english_pos in.txt out", "stdin", False),
        ("tag english_pos - -", "stdout", True),
        ("perplexity small in.txt", "stdout", True),
        ("inspect", "stdout", True),
        ("inspect", "stderr", False),
        *[(command, "stdout", False) for command in WRITING],
        *[(command, "stderr", False) for command in WRITING],
    ],
)
def test_a_closed_stream(monkeypatch, capsys, command, stream, is_needed):
    def run(arguments):
        print("result", sys.stdout.isatty())
        print("progress", sys.stderr.isatty(), file=sys.stderr, flush=True)
        warnings.warn("told", stacklevel=1)
        ran.append(arguments)

    ran, name = [], command.split()[0].replace("-", "_")
    monkeypatch.setattr(f"keras_elmo.commands.{name}.run", run)
    monkeypatch.setattr(sys, stream, None)
    status = main(command.split())
    getattr(sys, stream).close()
    assert status == is_needed
    assert len(ran) == (not is_needed)
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


def test_an_interrupted_command_that_does_not_resume(monkeypatch, capsys):
    def run(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(inspect, "run", run)
    assert main(["inspect", "small"]) == 130
    assert capsys.readouterr().err == "keras-elmo: interrupted.\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MemoryError", ""),
        ("ResourceExhaustedError", ""),
        ("OutOfMemoryError", "CUDA out of memory. "),
        ("JaxRuntimeError", "RESOURCE_EXHAUSTED: "),
    ],
)
def test_too_little_memory(monkeypatch, capsys, name, text):
    error = type(name, (Exception,), {})

    def run(arguments):
        raise error(f"{text}allocating 9 TB")

    for command, arguments, told in (
        (inspect, ["inspect", "small"], "Use smaller batches"),
        (pretrain, ["pretrain", "text", "out"], "Use a smaller --batch-size"),
    ):
        monkeypatch.setattr(command, "run", run)
        assert main(arguments) == 1
        shown = capsys.readouterr().err
        start = "keras-elmo: error: there is not enough memory. "
        assert shown.startswith(start + told)
        assert shown.endswith("allocating 9 TB\n")


@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.exhaustive
def test_a_pipe_that_is_closed(variables):
    environment = {**os.environ, "PYTHONUNBUFFERED": "", **variables}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "keras_elmo", "inspect", "english_mini"],
        cwd=ROOT,
        env=environment,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_backend_that_there_is_not():
    done = run(
        *["-m", "keras_elmo", "inspect", "small"],
        env={**os.environ, "KERAS_BACKEND": "none"},
    )
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
