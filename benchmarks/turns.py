"""A training that runs as many updates at a time as it is told to."""

import json
import sys
import time


class Turns:
    """Answers requests from inside a training's own loop.

    The first request is `["start", settings]`; it is answered, with the seconds
    that it took, when the first update is due. Then each `["train", {"updates":
    n}]` lets the loop run `n` updates and is answered with their seconds.
    """

    def __init__(self):
        self._answers, sys.stdout = sys.stdout, sys.stderr
        self.settings = self._wait()
        self._left = 0
        self._begin = time.perf_counter()

    def before_update(self):
        """To be called by the loop; returns when it may go on."""
        if self._left == 0:
            seconds = time.perf_counter() - self._begin
            print(json.dumps(seconds), file=self._answers, flush=True)
            self._left = self._wait()["updates"]
            self._begin = time.perf_counter()
        self._left -= 1

    def _wait(self):
        line = sys.stdin.readline()
        if not line:
            raise SystemExit  # No more is wanted.
        return json.loads(line)[1]
