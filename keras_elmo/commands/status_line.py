import sys
import time


class StatusLine:
    """A line on standard error that tells how far something is.

    On a terminal it is written over again and again; elsewhere it is a new
    line from time to time.

    Args:
        quiet: Boolean, whether to show nothing.
        interval: Float, seconds from line to line.
    """

    def __init__(self, quiet=False, interval=10.0):
        self._quiet = quiet
        self._on_terminal = not quiet and sys.stderr.isatty()
        self._interval = 0.1 if self._on_terminal else interval
        self._last = time.monotonic()
        self._is_open = False

    def show(self, describe):
        """Shows what the function `describe` returns, if it is time to."""
        now = time.monotonic()
        if self._quiet or now - self._last < self._interval:
            return
        self._last = now
        if self._on_terminal:
            # An error that follows, then, starts a line of its own.
            self._write(f"\x1b[K{describe()}\r")
            self._is_open = True
        else:
            self._write(f"{describe()}\n")

    def say(self, text):
        """Writes a line that stays."""
        if not self._quiet:
            start = "\r\x1b[K" if self._on_terminal else ""
            self._write(f"{start}{text}\n")
            self._is_open = False

    def close(self):
        """Ends the line, so that something else can follow."""
        if self._is_open:
            self._write("\n")
            self._is_open = False

    def _write(self, text):
        print(text, end="", file=sys.stderr, flush=True)
