import contextlib
import sys
import threading
import time

from keras_elmo.commands.progress import clock_time


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
        self._stop_waiting = None

    def show(self, describe):
        """Shows what the function `describe` returns, if it is time to."""
        self._end_wait()
        self._show(describe)

    def say(self, text):
        """Writes a line that stays."""
        self._end_wait()
        if not self._quiet:
            start = "\r\x1b[K" if self._on_terminal else ""
            self._write(f"{start}{text}\n")
            self._is_open = False

    @contextlib.contextmanager
    def waiting(self, what):
        """Context in which `what` takes its time: shows it, and for how long.

        Something else that is shown takes its place.
        """
        self._end_wait()
        stop = threading.Event()
        arguments = (what, time.monotonic(), stop)
        thread = threading.Thread(
            target=self._tick, args=arguments, daemon=True
        )

        def end():
            stop.set()
            thread.join()

        if not self._quiet:
            thread.start()
            self._stop_waiting = end
        try:
            yield
        finally:
            self._end_wait()
            if self._is_open:
                self._write("\r\x1b[K")
                self._is_open = False

    def close(self):
        """Ends the line, so that something else can follow."""
        self._end_wait()
        if self._is_open:
            self._write("\n")
            self._is_open = False

    def _tick(self, what, start, stop):
        def describe():
            return f"{what}, {clock_time(time.monotonic() - start)}"

        self._show(describe)
        while not stop.wait(min(1.0, self._interval)):
            self._show(describe)

    def _end_wait(self):
        end, self._stop_waiting = self._stop_waiting, None
        if end is not None:
            end()

    def _show(self, describe):
        now = time.monotonic()
        if self._quiet or now - self._last < self._interval:
            return
        self._last = now
        if self._on_terminal:
            # An error that follows, then, starts a line of its own.
            self._write(f"\r\x1b[K{describe()}\r")
            self._is_open = True
        else:
            self._write(f"{describe()}\n")

    def _write(self, text):
        print(text, end="", file=sys.stderr, flush=True)
