import contextlib
import sys
import time

from rich.console import Console
from rich.progress import BarColumn
from rich.progress import Progress
from rich.progress import TextColumn


class CorpusProgress:
    """Shows on standard error how far a corpus is.

    A bar on a terminal; elsewhere a line from time to time.

    Args:
        quiet: Boolean, whether to show nothing.
        interval: Float, seconds from line to line.
    """

    def __init__(self, quiet=False, interval=10.0):
        self.total = None
        """The number of sentences, once it is known."""
        self._quiet = quiet
        self._interval = interval
        self._bar = None
        self._kept = (0, 0)
        self._start = self._end = self._last_line = time.monotonic()

    @contextlib.contextmanager
    def shown(self):
        """Shows the bar while the context lasts."""
        if self._quiet or not sys.stderr.isatty():
            yield self
            return
        columns = BarColumn(12), TextColumn("{task.description}", markup=False)
        with Progress(*columns, console=Console(stderr=True)) as self._bar:
            self._task = self._bar.add_task("", total=None)
            yield self

    def start_clock(self):
        """Starts the time that counts, once the model is there."""
        self._start = time.monotonic()

    def embedded(self, sentences, tokens, resumed):
        """Tells how much is embedded; as `embed_corpus` calls it."""
        self._end = time.monotonic()
        if resumed:
            self._kept = (sentences, tokens)
        self._show(sentences, lambda: self._describe(sentences, tokens))

    def merged(self, sentences):
        """Tells how many sentences are in the file."""
        self._show(sentences, lambda: f"{sentences:,} sentences written")

    @property
    def seconds(self):
        """How long it has been embedding; at least a millisecond."""
        return max(self._end - self._start, 1e-3)

    def _describe(self, sentences, tokens):
        kept_sentences, kept_tokens = self._kept
        rate = (tokens - kept_tokens) / self.seconds
        total = "" if self.total is None else f"/{self.total:,}"
        text = (
            f"{sentences:,}{total} sentences, {rate:,.0f} tokens/s, "
            f"{clock_time(self.seconds)}"
        )
        new = sentences - kept_sentences
        if self.total is not None and new:
            left = (self.total - sentences) * self.seconds / new
            text += f", {clock_time(left)} left"
        return text

    def _show(self, sentences, describe):
        if self._bar is not None:
            self._bar.update(
                self._task,
                total=self.total,
                completed=sentences,
                description=describe(),
            )
        elif not self._quiet:
            now = time.monotonic()
            if now - self._last_line >= self._interval:
                self._last_line = now
                print(describe(), file=sys.stderr, flush=True)


def clock_time(seconds):
    """Returns seconds as hours, minutes and seconds, such as `"1:02:05"`."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
