"""What the sections share: texts, processes, results."""

import contextlib
import pathlib
import sys

from implementations import Worker
from workloads import Model
from workloads import read_sentences
from workloads import split_batches


def tell(line):
    """Prints a progress line."""
    print(line, file=sys.stderr, flush=True)


class Bench:
    """A context manager that owns the worker processes.

    Args:
        arguments: The program's arguments.
        folder: A temporary folder.
        implementations: List of `Implementation`.
    """

    def __init__(self, arguments, folder, implementations):
        self.arguments = arguments
        self.folder = pathlib.Path(folder)
        self.model = Model(arguments.model)
        self.sentences = read_sentences(arguments.text)
        self.text = self.sentences[: arguments.sentences]
        self.results = {"versions": {}}
        self._implementations = implementations
        self._workers = {}
        self._machine = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close_workers()
        if self._machine:
            self._machine.close()

    def of(self, *sections):
        """Returns the implementations that take part in any of the sections."""
        return [
            implementation
            for implementation in self._implementations
            if set(sections) & set(implementation.sections)
        ]

    def start(self, implementation):
        """Starts and loads one; returns the seconds until its first vector."""
        name = implementation.name
        worker = self._worker(
            name, implementation.python, implementation.program
        )
        self._workers[name] = worker
        seconds = worker.call(
            "load",
            folder=self.arguments.model,
            options=implementation.options,
        )
        tell(f"load: {name}, {seconds:.2f} s")
        self.results["versions"][name] = worker.call("versions")
        return seconds

    def call(self, implementation, request, **arguments):
        """Sends a request to an implementation that was started."""
        return self._workers[implementation.name].call(request, **arguments)

    def time(self, implementation, sentences, settings=None, **arguments):
        """Returns the seconds taken by each call with the sentences."""
        return self.call(
            implementation,
            "time",
            batches=split_batches(sentences, implementation.batch_size),
            settings=settings or {},
            **arguments,
        )

    def _worker(self, name, python, program):
        return Worker(name, python, program, self.folder / f"{name}.log")

    def close_workers(self):
        """Ends all processes except the one that measures the machine."""
        with contextlib.ExitStack() as stack:
            for worker in self._workers.values():
                stack.callback(worker.close)
        self._workers = {}

    def measure_machine(self):
        """Records how fast the machine is now, if requested."""
        if "machine" not in self.arguments.only:
            return
        if not self._machine:
            self._machine = self._worker(
                "machine", sys.executable, "machine.py"
            )
        speed = self._machine.call("measure")
        self.results.setdefault("speeds", []).append(speed)
        rounded = ", ".join(f"{key} {x:.0f}" for key, x in speed.items())
        tell(f"machine: {rounded} (GFLOP/s, GB/s)")
