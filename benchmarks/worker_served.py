"""Loads exported models and runs requests as a server would; see worker.py."""

import gc
import os
import random
import tempfile
import time
from concurrent import futures

import numpy as np
from worker import answer_requests
from worker import status_megabytes

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

TOLERANCE = 1e-5


class Served:
    """The requests that this worker answers.

    The first request imports TensorFlow, so that the import can be timed.
    """

    def first_answer(self, folder, sentence):
        """Loads a SavedModel; returns the seconds of each step so far."""
        times = [time.perf_counter()]
        import tensorflow as tf

        times.append(time.perf_counter())
        self._model = tf.saved_model.load(folder)
        times.append(time.perf_counter())
        _ask(self._model, "default", [sentence])
        times.append(time.perf_counter())
        steps = ("import of TensorFlow", "load", "first answer")
        return dict(zip(steps, np.diff(times).tolist()))

    def serve(self, sentences, requests, threads, largest, round_size):
        """Runs requests from many threads, then repeats them from one thread.

        This is done in rounds of `round_size` requests. In between, the answers
        are stored on disk: in memory, they would count as the server's.

        Returns:
            The number of wrong answers, the largest difference, the seconds of
            each request together with others and alone, and the memory after
            each round.
        """
        generator = random.Random(0)
        found = {"wrong": 0, "difference": 0.0, "together": [], "alone": []}
        found["megabytes"] = []
        with (
            tempfile.TemporaryDirectory() as folder,
            futures.ThreadPoolExecutor(threads) as pool,
        ):
            for start in range(0, requests, round_size):
                asked = [
                    _draw(generator, sentences, largest)
                    for _ in range(min(round_size, requests - start))
                ]
                paths = [f"{folder}/{i}.npz" for i in range(len(asked))]
                found["together"] += pool.map(self._save, asked, paths)
                for request, path in zip(asked, paths):
                    seconds, difference = self._check(request, path)
                    found["alone"].append(seconds)
                    found["wrong"] += difference > TOLERANCE
                    found["difference"] = max(found["difference"], difference)
                gc.collect()
                found["megabytes"].append(status_megabytes("VmRSS"))
        return found

    def _save(self, request, path):
        seconds, answer = self._timed(request)
        np.savez(path, **answer)
        return seconds

    def _check(self, request, path):
        seconds, expected = self._timed(request)
        with np.load(path) as answer:
            return seconds, _difference(dict(answer), expected)

    def _timed(self, request):
        start = time.perf_counter()
        answer = _ask(self._model, *request)
        return time.perf_counter() - start, answer


def _draw(generator, sentences, largest):
    """Draws the name of a signature, and up to `largest` sentences."""
    signature = generator.choice(["default", "tokens"])
    number = generator.randint(1, largest)
    return signature, generator.choices(sentences, k=number)


def _ask(model, signature, sentences):
    """Returns the outputs as arrays."""
    import tensorflow as tf

    if signature == "default":
        inputs = {"strings": tf.constant([" ".join(s) for s in sentences])}
    else:
        time = max(map(len, sentences))
        inputs = {
            "tokens": tf.constant(
                [s + [""] * (time - len(s)) for s in sentences]
            ),
            "sequence_len": tf.constant([len(s) for s in sentences]),
        }
    outputs = model.signatures[signature](**inputs)
    return {name: x.numpy() for name, x in outputs.items()}


def _difference(found, expected):
    """Returns the largest difference, or infinity if the shapes differ."""
    shapes = {name: x.shape for name, x in expected.items()}
    if {name: x.shape for name, x in found.items()} != shapes:
        return float("inf")
    return max(
        float(np.abs(found[name] - x).max(initial=0))
        for name, x in expected.items()
    )


if __name__ == "__main__":
    answer_requests(Served())
