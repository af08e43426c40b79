"""A process that runs one implementation on request.

A `worker_X.py` passes its function `load` to `serve`. That function takes the
model's folder and options, and returns an object with

- `vectors(sentences)`: one float32 array `(layers, tokens, width)` for each
  sentence, a list of words; `layers` is 1 if they are mixed;
- `reset(**settings)`: clears the state of earlier passes;
- `train(sentences)`, if supported: makes one training step; returns the loss.

Requests are lines of JSON on standard input, `[name, arguments]`, where `name`
is a method of `Calls`. Answers are lines of JSON on standard output. Only NumPy
and the implementation itself are needed.
"""

import collections
import importlib.metadata
import json
import pathlib
import sys
import time

import numpy as np

PACKAGES = (
    "keras_elmo",
    "allennlp",
    "bilm",
    "simple_elmo",
    "tensorflow",
    "keras",
    "tf_keras",
    "torch",
    "onnxruntime",
    "tokenizers",
    "numpy",
    "h5py",
)


def serve(load, prepare=None):
    """Answers requests to an implementation until there are no more.

    Args:
        load: Function, as described above.
        prepare: Function with the same arguments, called before loading is
            timed.
    """
    answer_requests(Calls(load, prepare))


def answer_requests(calls):
    """Answers each request with a method of `calls`."""
    answers, sys.stdout = sys.stdout, sys.stderr  # Libraries print too.
    for line in sys.stdin:
        name, arguments = json.loads(line)
        answer = getattr(calls, name)(**arguments)
        print(json.dumps(answer), file=answers, flush=True)


class Calls:
    """The requests that a worker answers."""

    def __init__(self, load, prepare):
        self._load, self._prepare = load, prepare

    def load(self, folder, options):
        """Loads the model; returns the seconds until the first vector."""
        if self._prepare:
            self._prepare(folder, **options)
        start = time.perf_counter()
        self._model = self._load(folder, **options)
        self._model.reset()
        _exhaust(self._model.vectors([["word"]]))
        return time.perf_counter() - start

    def save_vectors(self, sentences, path):
        """Writes the concatenated vectors: (layers, tokens, width)."""
        self._model.reset()
        vectors = list(self._model.vectors(sentences))
        np.save(path, np.concatenate(vectors, axis=1))

    def time(self, batches, settings, calls=1, untimed_calls=0):
        """Returns the seconds of each call, a pass over all batches."""
        self._model.reset(**settings)
        seconds = []
        for _ in range(untimed_calls + calls):
            start = time.perf_counter()
            for batch in batches:
                _exhaust(self._model.vectors(batch))
            seconds.append(time.perf_counter() - start)
        return seconds[untimed_calls:]

    def train(self, sentences):
        """Returns the seconds and the loss of one training step."""
        self._model.reset()
        start = time.perf_counter()
        loss = self._model.train(sentences)
        return {"seconds": time.perf_counter() - start, "loss": loss}

    def peak_megabytes(self):
        """Returns the peak memory of this process."""
        return status_megabytes("VmHWM")

    def versions(self):
        """Returns the versions of Python and of the imported packages."""
        versions = {"python": sys.version.split()[0]}
        for name in PACKAGES:
            if name in sys.modules:
                versions[name] = _version(name)
        return versions


def status_megabytes(name):
    """Returns the memory of this process that Linux calls `name`."""
    status = pathlib.Path("/proc/self/status").read_text()
    (line,) = (x for x in status.splitlines() if x.startswith(name))
    return int(line.split()[1]) / 1024


def _exhaust(iterable):
    collections.deque(iterable, maxlen=0)


def _version(name):
    try:
        return sys.modules[name].__version__
    except AttributeError:
        pass
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
