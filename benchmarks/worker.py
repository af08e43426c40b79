"""Programs that run one implementation each, in a process of their own.

`Worker` starts such a program, which passes `Calls`, or a class derived from
it, to `answer_requests`. Requests are lines of JSON on its standard input,
`[name, arguments]`, where `name` is a method of that class; answers are lines
of JSON on its standard output. A program needs only NumPy and its package.
"""

import collections
import contextlib
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
LOG_LINES = 20
PACKAGES = ("keras", "tensorflow", "torch", "onnxruntime", "tokenizers")


class Worker(contextlib.AbstractContextManager):
    """A program that answers requests.

    Args:
        python: Path of the Python that runs it.
        program: Name of a file in this folder.
        log: Path of the log file for its output.
    """

    def __init__(self, python, program, log):
        self._log = pathlib.Path(log)
        with self._log.open("w") as file:
            self._process = subprocess.Popen(
                [python, HERE / program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )

    def call(self, request, **arguments):
        """Sends a request and returns its answer."""
        try:
            print(json.dumps([request, arguments]), file=self._process.stdin)
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            self._process.wait()
            exit_with_log(self._log)

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def loaded(implementation, model, logs):
    """Context manager that starts a program and loads its model.

    Args:
        implementation: Object with the `name` of what is measured, its `python`
            and `program`, and the `options` of its `load`.
        model: Folder of the biLM.
        logs: Folder to write the log to.
    """
    log = pathlib.Path(logs, f"{implementation.name}.log")
    python, program = implementation.python, implementation.program
    with Worker(python, program, log) as worker:
        worker.call("load", folder=model, options=implementation.options)
        yield worker


def exit_with_log(path):
    """Ends this program with the last lines of another's log."""
    lines = path.read_text(errors="replace").splitlines()[-LOG_LINES:]
    sys.exit("\n".join([*lines, f"{path.stem} exited: see above."]))


def tell(line):
    """Prints a progress line."""
    print(line, file=sys.stderr, flush=True)


def answer_requests(calls):
    """Answers each request with a method of `calls`."""
    answers, sys.stdout = sys.stdout, sys.stderr  # Libraries print too.
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answer = getattr(calls, name)(**arguments)
        print(json.dumps(answer), file=answers, flush=True)


class Calls:
    """The requests that every program answers.

    Args:
        load: Function of the model's folder and further options. It returns an
            object with

            - `vectors(sentences)`: one float32 array `(layers, tokens, width)`
              for each sentence, a list of words; `layers` is 1 if they are
              mixed;
            - `reset()`, if needed: clears the state of earlier passes;
            - `train(sentences)`, if supported: makes one training step and
              returns the loss.
    """

    def __init__(self, load):
        self._load = load

    def load(self, folder, options):
        """Loads the model, and computes a first vector."""
        self._model = self._load(folder, **options)
        self._reset()
        _exhaust(self._model.vectors([["word"]]))

    def save_vectors(self, sentences, path):
        """Writes the concatenated vectors: (layers, tokens, width)."""
        self._reset()
        vectors = list(self._model.vectors(sentences))
        np.save(path, np.concatenate(vectors, axis=1))

    def time(self, batches, calls=1, untimed_calls=0):
        """Returns the seconds of each call, a pass over all batches."""
        self._reset()
        seconds = []
        for _ in range(untimed_calls + calls):
            start = time.perf_counter()
            for batch in batches:
                _exhaust(self._model.vectors(batch))
            seconds.append(time.perf_counter() - start)
        return seconds[untimed_calls:]

    def train(self, sentences):
        """Returns the seconds and the loss of one training step."""
        self._reset()
        start = time.perf_counter()
        loss = self._model.train(sentences)
        return {"seconds": time.perf_counter() - start, "loss": loss}

    def peak_megabytes(self):
        """Returns the peak memory of this process."""
        return status_megabytes("VmHWM")

    def versions(self):
        """Returns the versions of the packages that are imported."""
        return {
            name: importlib.metadata.version(name)
            for name in PACKAGES
            if name in sys.modules
        }

    def _reset(self):
        getattr(self._model, "reset", lambda: None)()


def status_megabytes(name, process="self"):
    """Returns the memory of a process that Linux calls `name`."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    (line,) = (x for x in status.splitlines() if x.startswith(name))
    return int(line.split()[1]) / 1024


def _exhaust(iterable):
    collections.deque(iterable, maxlen=0)
