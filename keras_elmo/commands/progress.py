"""Progress of a command, on standard error."""

import contextlib
import datetime
import shutil
import sys
import time

_BAR_WIDTH = 12
_CLEAR = "\r\x1b[K"


class ProgressDisplay:
    """Shows progress.

    On a terminal, it is one line with a bar that is rewritten in place;
    elsewhere, a new line is printed at intervals. As a context manager, it ends
    the line on exit.

    Args:
        quiet: Boolean, whether to show nothing.
        interval: Float, seconds between lines if not on a terminal.
    """

    def __init__(self, quiet=False, interval=10.0):
        self._quiet = quiet
        self._on_terminal = not quiet and sys.stderr.isatty()
        self._interval = 0.1 if self._on_terminal else interval
        self._last_shown = time.monotonic()
        self._is_open = False
        self.start("")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._is_open:
            self._write("\n")

    def start(self, unit, total=None, title=""):
        """Starts counting.

        Args:
            unit: String, what is counted, such as `"sentences"`.
            total: Integer, how many there will be, or `None` if unknown.
            title: String to show first.
        """
        self._unit, self._total, self._title = unit, total, title
        self._first = (0, 0)
        self._counted_at = time.monotonic()
        self.seconds = 0.0
        """How long the counting took, without the time of `waiting`"""

    def update(self, done, tokens, resumed=False, note=""):
        """Shows how much is done, the speed, and the time left.

        Args:
            done: Integer, how many are done.
            tokens: Integer, how many tokens these are, for the speed.
            resumed: Boolean, whether to leave the work so far out of the speed,
                as it was done before or took an unusual time.
            note: String to show as well.
        """
        since, self._counted_at = self._counted_at, time.monotonic()
        if resumed:
            self._first, self.seconds = (done, tokens), 0.0
        else:
            self.seconds += self._counted_at - since
        self.show(self._describe(done, tokens, note))

    def show(self, text):
        """Replaces the text shown, if the interval has passed."""
        if time.monotonic() >= self._last_shown + self._interval:
            self._show(text)

    def say(self, text):
        """Writes a permanent line."""
        self._write(f"{_CLEAR if self._on_terminal else ''}{text}\n")

    @contextlib.contextmanager
    def waiting(self, what):
        """Context manager that shows `what` on a terminal.

        The time is excluded from the speed.
        """
        if self._on_terminal:
            self._show(f"{what} ...")
        yield
        self._counted_at = time.monotonic()

    def _describe(self, done, tokens, note):
        total = "" if self._total is None else f"/{self._total:,}"
        parts = [f"{done:,}{total} {self._unit}"]
        first_done, first_tokens = self._first
        if done > first_done:
            seconds = max(self.seconds, 1e-3)
            parts.append(f"{(tokens - first_tokens) / seconds:,.0f} tokens/s")
            if self._total is None:
                parts.append(_clock(seconds))
            else:
                left = (self._total - done) * seconds / (done - first_done)
                # First, as the end is cut off in a narrow terminal.
                parts.insert(0, f"{_clock(left)} left")
        if note:
            parts.append(note)
        text = self._title + ", ".join(parts)
        if self._on_terminal and self._total:
            bar = "=" * round(done / self._total * _BAR_WIDTH)
            text = f"[{bar:{_BAR_WIDTH}}] {text}"
        return text

    def _show(self, text):
        self._last_shown = time.monotonic()
        if not self._on_terminal:
            self._write(f"{text}\n")
            return
        # A line that wraps could not be overwritten.
        text = text[: shutil.get_terminal_size().columns - 1]
        # After "\r", an error message starts on its own line.
        self._write(f"{_CLEAR}{text}\r")

    def _write(self, text):
        if not self._quiet:
            print(text, end="", file=sys.stderr, flush=True)
            self._is_open = not text.endswith("\n")


def _clock(seconds):
    """Returns seconds as hours, minutes and seconds, such as `"1:02:05"`."""
    return str(datetime.timedelta(seconds=round(seconds)))
