"""Runs `keras-elmo pretrain` in processes that can be paused."""

import os
import pathlib
import signal
import subprocess
import sys
import time

from worker import exit_with_log
from worker import status_megabytes

ROOT = pathlib.Path(__file__).parent.parent
# Seconds between two looks at the log.
INTERVAL = 0.001


def pretrain_command(text, folder, flags):
    """Returns the command `keras-elmo pretrain`.

    Args:
        text: The corpus.
        folder: Path of the folder to train in.
        flags: Dictionary of its flags, without dashes.
    """
    typed = [str(text) for k, v in flags.items() for text in (f"--{k}", v)]
    # Not the package in the working folder, but that of the path.
    command = [sys.executable, "-P", "-m", "keras_elmo", "pretrain"]
    return [*command, text, str(folder), *typed]


class PausedTraining:
    """A training that runs some updates on request, and never ends.

    It is stopped as soon as its log says that the updates are done, so that it
    leaves the processors to others. The first updates, after which the object
    is made, include the start.

    Args:
        folder: Path of a folder to train in, which must not exist.
        updates: Integer, the number of updates for each request.
        text: The corpus of `keras-elmo pretrain`.
        flags: Dictionary of its flags, without dashes.
        checkout: Path of another checkout of the package to use; or `None`.
    """

    def __init__(self, folder, updates, text, flags, checkout=None):
        self._output = pathlib.Path(folder)
        self._log = self._output.with_suffix(".log")
        self._entries = 0
        flags = {
            **flags,
            "steps": 10**9,
            "checkpoint-every": 10**9,
            "log-every": updates,
        }
        command = pretrain_command(text, self._output, flags)
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, "--quiet"],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": checkout or str(ROOT)},
            )
        self._wait()

    def run(self):
        """Returns the seconds that the next updates take."""
        start = time.perf_counter()
        self._process.send_signal(signal.SIGCONT)
        self._wait()
        return time.perf_counter() - start

    def _wait(self):
        self._entries += 1
        path = self._output / "log.jsonl"
        while not path.exists() or (
            path.read_bytes().count(b"\n") < self._entries
        ):
            if self._process.poll() is not None:
                exit_with_log(self._log)
            time.sleep(INTERVAL)
        self._process.send_signal(signal.SIGSTOP)

    @property
    def peak_gib(self):
        """The peak memory of the process."""
        return status_megabytes("VmHWM", self._process.pid) / 1024

    def close(self):
        self._process.kill()
        self._process.wait()
