import io
import sys
import threading
import time

import pytest

from keras_elmo.commands.status_line import StatusLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch):
    # In the test itself: pytest sets another before it begins.
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def wait_for(terminal, number, text):
    for _ in range(3000):
        if terminal.getvalue().count(text) >= number:
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} is not in {terminal.getvalue()!r}")


def test_what_takes_long_is_shown_until_it_is_over(monkeypatch):
    terminal = open_terminal(monkeypatch)
    threads = threading.active_count()
    line = StatusLine()
    with line.waiting("compiling"):
        wait_for(terminal, 2, "\r\x1b[Kcompiling, 0:00:0")
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert threading.active_count() == threads
    line.say("done")
    assert terminal.getvalue().endswith("\r\x1b[Kdone\n")


def test_an_error_ends_it_too(monkeypatch):
    open_terminal(monkeypatch)
    threads = threading.active_count()
    with pytest.raises(ValueError), StatusLine().waiting("compiling"):
        raise ValueError
    assert threading.active_count() == threads


def test_something_else_takes_its_place(monkeypatch):
    terminal = open_terminal(monkeypatch)
    threads = threading.active_count()
    line = StatusLine()
    with line.waiting("compiling"):
        wait_for(terminal, 1, "compiling")
        line.say("step 1")
        assert threading.active_count() == threads
        with line.waiting("reading"):
            wait_for(terminal, 1, "reading")
    assert threading.active_count() == threads


def test_quiet_and_what_is_over_at_once(capsys):
    threads = threading.active_count()
    with StatusLine(quiet=True).waiting("compiling"):
        assert threading.active_count() == threads
    with StatusLine(interval=60).waiting("compiling"):
        pass
    assert capsys.readouterr().err == ""
