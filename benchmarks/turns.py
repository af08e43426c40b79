"""Lets a training run a requested number of updates at a time."""

import json
import sys
import time


class Turns:
    """Answers requests from inside a training's own loop.

    The first request is `["start", settings]`. It is answered when the first
    update is due, with the seconds it took. Then each `["train", {"updates":
    n}]` lets the loop run `n` updates and is answered with their seconds.
    """

    def __init__(self):
        self._answers, sys.stdout = sys.stdout, sys.stderr
        self.settings = self._wait()
        self._left = 0
        self._begin = time.perf_counter()

    def before_update(self):
        """Blocks until the training loop, which calls this, may continue."""
        if self._left == 0:
            seconds = time.perf_counter() - self._begin
            print(json.dumps(seconds), file=self._answers, flush=True)
            self._left = self._wait()["updates"]
            self._begin = time.perf_counter()
        self._left -= 1

    def _wait(self):
        line = sys.stdin.readline()
        if not line:
            raise SystemExit  # There are no more requests.
        return json.loads(line)[1]
