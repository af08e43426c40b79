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


def test_a_bar_on_a_terminal_and_an_unknown_length(
    clock, open_terminal, monkeypatch
):
    terminal = open_terminal()
    monkeypatch.setenv("COLUMNS", "100")
    with ProgressDisplay() as progress:
        progress.start("sentences", 4000)
        clock.now += 10
        progress.update(1000, 5000)
        progress.start("words")
        clock.now += 3725
        progress.update(2, 7450)
    assert terminal.getvalue() == (
        "\r\x1b[K[===         ] 0:00:30 left, 1,000/4,000 sentences, "
        "500 tokens/s\r"
        "\r\x1b[K2 words, 2 tokens/s, 1:02:05\r\n"
    )


def test_what_is_said_stays_on_a_terminal_and_the_rest_is_replaced(
    open_terminal, monkeypatch
):
    terminal = open_terminal()
    monkeypatch.setenv("COLUMNS", "20")
    with (
        pytest.raises(ValueError, match="broken"),
        ProgressDisplay() as progress,
    ):
        progress._interval = 0
        progress.show("0123456789" * 3)
        progress.say("step 1")
        with progress.waiting("compiling"):
            raise ValueError("broken")
    assert terminal.getvalue() == (
        "\r\x1b[K0123456789012345678\r"  # No longer than the terminal.
        "\r\x1b[Kstep 1\n"
        "\r\x1b[Kcompiling ...\r\n"  # The error has its own line.
    )


def test_quiet_and_what_is_over_at_once(open_terminal, capsys):
    with ProgressDisplay(interval=60).waiting("compiling"):
        pass
    assert capsys.readouterr().err == ""
    terminal = open_terminal()
    with ProgressDisplay(quiet=True, interval=0) as progress:
        with progress.waiting("compiling"):
            pass
        progress.update(1, 1)
        progress.say("1")
    assert terminal.getvalue() == ""
