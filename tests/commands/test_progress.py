import pytest

from keras_elmo.commands.progress import ProgressDisplay


def test_lines_from_time_to_time(clock, capsys):
    with ProgressDisplay() as progress:
        progress.start("sentences", 10_000)
        progress.update(1000, 30_000, resumed=True)
        with progress.waiting("reading the model"):
            clock.now = 109
        for second in range(1, 26):
            clock.now = 109 + second
            progress.update(1000 + 40 * second, 30_000 + 1000 * second)
        clock.now = 150
        progress.show("2,000 sentences written")
    assert capsys.readouterr().err.splitlines() == [
        "0:03:44 left, 1,040/10,000 sentences, 1,000 tokens/s",
        "0:03:34 left, 1,440/10,000 sentences, 1,000 tokens/s",
        "0:03:24 left, 1,840/10,000 sentences, 1,000 tokens/s",
        "2,000 sentences written",
    ]
    assert progress.seconds == 25


def test_an_unknown_length(clock, capsys):
    progress = ProgressDisplay(interval=0)
    progress.start("sentences")
    clock.now += 3725
    progress.update(2, 7450)
    assert capsys.readouterr().err == "2 sentences, 2 tokens/s, 1:02:05\n"


def test_time_that_does_not_count_and_what_else_is_said(clock, capsys):
    progress = ProgressDisplay(interval=0)
    progress.start("steps", 4, "training: ")
    clock.now += 60
    progress.update(1, 5, resumed=True, note="loss 1.0")
    clock.now += 2
    progress.update(2, 10, note="loss 0.5")
    clock.now += 1000
    with progress.waiting("saving"):
        pass
    clock.now += 2
    progress.update(3, 15)
    assert capsys.readouterr().err.splitlines() == [
        "training: 1/4 steps, loss 1.0",
        "training: 0:00:04 left, 2/4 steps, 2 tokens/s, loss 0.5",
        "training: 0:00:02 left, 3/4 steps, 2 tokens/s",
    ]


@pytest.mark.parametrize("total", [None, 4000])
def test_a_bar_on_a_terminal(clock, open_terminal, monkeypatch, total):
    terminal = open_terminal()
    monkeypatch.setenv("COLUMNS", "100")
    with ProgressDisplay() as progress:
        progress.start("sentences", total)
        clock.now += 10
        progress.update(1000, 5000)
    shown = "1,000 sentences, 500 tokens/s, 0:00:10"
    if total:
        shown = (
            "[===         ] 0:00:30 left, 1,000/4,000 sentences, 500 tokens/s"
        )
    assert terminal.getvalue() == f"\r\x1b[K{shown}\r\n"


def test_a_line_is_no_longer_than_the_terminal(open_terminal, monkeypatch):
    terminal = open_terminal()
    monkeypatch.setenv("COLUMNS", "20")
    progress = ProgressDisplay()
    progress._interval = 0
    progress.show("0123456789" * 3)
    assert terminal.getvalue() == "\r\x1b[K0123456789012345678\r"


def test_what_is_said_stays(open_terminal):
    terminal = open_terminal()
    with ProgressDisplay() as progress:
        progress._interval = 0
        progress.show("a line")
        progress.say("step 1")
    assert terminal.getvalue() == "\r\x1b[Ka line\r\r\x1b[Kstep 1\n"


def test_what_takes_long_is_shown_on_a_terminal(clock, open_terminal):
    terminal = open_terminal()
    with ProgressDisplay() as progress:
        with progress.waiting("compiling"):
            assert terminal.getvalue() == "\r\x1b[Kcompiling ...\r"
            clock.now += 60
        assert progress.seconds == 0
        progress.say("done")
    assert terminal.getvalue().endswith("\r\x1b[Kdone\n")


def test_an_error_starts_on_its_own_line(open_terminal):
    terminal = open_terminal()
    with (
        pytest.raises(ValueError, match="broken"),
        ProgressDisplay() as progress,
        progress.waiting("compiling"),
    ):
        raise ValueError("broken")
    assert terminal.getvalue().endswith("compiling ...\r\n")


def test_quiet_and_what_is_over_at_once(open_terminal, capsys):
    with ProgressDisplay(interval=60).waiting("compiling"):
        pass
    assert capsys.readouterr().err == ""
    terminal = open_terminal()
    with ProgressDisplay(quiet=True, interval=0) as progress:
        with progress.waiting("compiling"):
            pass
        progress.update(1, 1)
        progress.show("1")
        progress.say("1")
    assert terminal.getvalue() == ""
