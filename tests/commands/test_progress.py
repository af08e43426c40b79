import io
import sys

import pytest

from keras_elmo.commands import progress as module
from keras_elmo.commands.progress import CorpusProgress


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets: `clock.now`."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    monkeypatch.setattr(module, "time", Clock())
    return module.time


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_from_time_to_time(clock, capsys):
    with CorpusProgress().shown() as progress:
        progress.total = 10_000
        progress.embedded(1000, 30_000, True)
        clock.now = 102
        progress.start_clock()
        for second in range(1, 26):
            clock.now = 102 + second
            progress.embedded(1000 + 40 * second, 30_000 + 1000 * second, False)
        clock.now = 140
        progress.merged(2000)
    assert capsys.readouterr().err.splitlines() == [
        "1,320/10,000 sentences, 1,000 tokens/s, 0:00:08, 0:03:37 left",
        "1,720/10,000 sentences, 1,000 tokens/s, 0:00:18, 0:03:27 left",
        "2,000 sentences written",
    ]
    assert progress.seconds == 25


def test_an_unknown_length(clock, capsys):
    with CorpusProgress(interval=0).shown() as progress:
        clock.now += 3725
        progress.embedded(2, 7450, False)
    assert capsys.readouterr().err == "2 sentences, 2 tokens/s, 1:02:05\n"


@pytest.mark.parametrize("total", [None, 4000])
def test_a_bar_on_a_terminal(clock, monkeypatch, total):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with CorpusProgress().shown() as progress:
        progress.total = total
        clock.now += 10
        progress.embedded(1000, 5000, False)
    shown = sys.stderr.getvalue()
    assert "\u2501" in shown
    if total:
        assert "1,000/4,000 sentences, 500 tokens/s, 0:00:10, 0:00:30" in shown
    else:
        assert "1,000 sentences, 500 tokens/s, 0:00:10" in shown


def test_quiet(clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with CorpusProgress(quiet=True, interval=0).shown() as progress:
        progress.embedded(1, 1, False)
        progress.merged(1)
    assert not sys.stderr.getvalue()
