import io
import sys

import pytest

from keras_elmo.commands.main import main


@pytest.fixture
def tensorflow_has_begun():
    """Prevents commands from changing the threads of other tests."""
    import tensorflow as tf

    tf.constant(1) + 1


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capfd):
    """A function that runs a command; returns what it prints and reports."""

    def run(*arguments, status=0):
        capfd.readouterr()
        try:
            found = main([*map(str, arguments)])
        except SystemExit as end:  # Of argparse.
            found = end.code
        assert found == status
        return capfd.readouterr()

    return run


@pytest.fixture
def fails(run):
    """A function that runs a command, which must fail.

    It returns the error message.
    """

    def fails(*arguments):
        out, err = run(*arguments, status=1)
        assert not out
        (line,) = err.splitlines()
        assert line.startswith("keras-elmo: error: ")
        return line

    return fails


@pytest.fixture
def shows(run):
    """A function that runs a command, which must report nothing.

    It returns the lines that are printed.
    """

    def shows(*arguments):
        out, err = run(*arguments)
        assert not err
        return out.splitlines()

    return shows


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def open_terminal(monkeypatch):
    """A function that replaces stderr by a terminal, and returns it.

    pytest itself replaces stderr before each test, so that the test must call
    the function.
    """

    def open_terminal():
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        return terminal

    return open_terminal


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of the progress display."""
    clock = Clock()
    monkeypatch.setattr("keras_elmo.commands.progress.time", clock)
    return clock
