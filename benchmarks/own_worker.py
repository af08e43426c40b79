"""Runs this package: layers, exported models, a server; see worker.py.

`own_worker.py KIND FOLDER EXPORTED QUANTIZE` exports the biLM in FOLDER.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent import futures

import numpy as np
import worker

ONNX_EXAMPLE = worker.HERE.parent / "examples" / "onnx"
# Of requests that run together, compared with the same ones alone.
TOLERANCE = 1e-5


def load(folder, kind, exported=None, quantize="", **options):
    """Loads a biLM as one of `KINDS`."""
    if exported is not None:
        if not os.path.exists(exported):
            # In another process, as this one must only run what is exported.
            command = [__file__, kind, folder, exported, quantize]
            subprocess.run(
                [sys.executable, *command], check=True, stdout=sys.stderr
            )
        return KINDS[kind](exported)
    elmo = read_bilm(folder, **options)
    if quantize:
        return Embedder(elmo, quantize=quantize)
    return KINDS[kind](elmo)


def read_bilm(folder, **options):
    import keras_elmo

    return keras_elmo.ElmoLayer.from_bilm(
        f"{folder}/options.json", f"{folder}/weights.hdf5", **options
    )


class Embedder:
    def __init__(self, elmo, **options):
        import keras_elmo

        embedder = keras_elmo.ElmoEmbedder(elmo, **options)
        self.vectors = embedder.embed_sentences


class Layer:
    """Computes all layers of a padded batch."""

    def __init__(self, elmo):
        self._elmo = elmo

    def vectors(self, sentences):
        import keras

        layers = self._elmo.all_layers(to_ids(sentences))
        vectors = keras.ops.convert_to_numpy(keras.ops.cast(layers, "float32"))
        return [x[:, : len(s)] for x, s in zip(vectors, sentences)]


class Training:
    """Makes training steps: mean square of the mix, plain SGD."""

    def __init__(self, elmo):
        import keras

        self._model = make_model(elmo)
        self._model.compile(keras.optimizers.SGD(0.1), "mean_squared_error")

    def vectors(self, sentences):
        vectors = self._model.predict_on_batch(to_ids(sentences))
        return unpadded(vectors, sentences)

    def train(self, sentences):
        ids = to_ids(sentences)
        width = self._model.output_shape[-1]
        target = np.zeros((*ids.shape[:2], width), "float32")
        return float(self._model.train_on_batch(ids, target))


class SavedModel:
    """Computes the mix with a SavedModel that takes ids."""

    def __init__(self, path):
        import tensorflow as tf

        self._model = tf.saved_model.load(path)

    def vectors(self, sentences):
        vectors = self._model.serve(to_ids(sentences)).numpy()
        return unpadded(vectors, sentences)


class OnnxFile:
    """Computes the mix with the client in `examples/onnx`."""

    def __init__(self, path):
        sys.path.insert(0, str(ONNX_EXAMPLE))
        from client import Elmo

        self._elmo = Elmo(path, ["elmo"])

    def vectors(self, sentences):
        return unpadded(self._elmo(sentences)["elmo"], sentences)


KINDS = {
    "embedder": Embedder,
    "layer": Layer,
    "training": Training,
    "saved_model": SavedModel,
    "onnx": OnnxFile,
}


def unpadded(vectors, sentences):
    """Returns arrays (1, tokens, width) of a padded batch of mixes."""
    return [x[None, : len(s)] for x, s in zip(vectors, sentences)]


def to_ids(sentences):
    import keras_elmo

    return keras_elmo.batch_to_ids(sentences)


def make_model(elmo):
    import keras

    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    return keras.Model(ids, elmo(ids))


def export(kind, folder, exported, quantize):
    import keras_elmo

    elmo = read_bilm(folder)
    if kind == "onnx":
        keras_elmo.export_onnx(elmo, exported, quantize=quantize or None)
    else:
        make_model(elmo).export(exported, verbose=False)


class OwnCalls(worker.Calls):
    """The requests of all programs, and those of `serving.py`."""

    def serve(self, folder, sentences, requests, threads, largest, round_size):
        """Runs requests from many threads, then repeats them from one thread.

        This is done in rounds of `round_size` requests. In between, the answers
        are stored on disk: in memory, they would count as the server's.
        """
        import tensorflow as tf

        self._served = tf.saved_model.load(folder)
        self._ask("default", sentences[:1])  # Not timed.
        generator = random.Random(0)
        found = {"wrong": 0, "difference": 0.0, "together": [], "alone": []}

        def draw():
            signature = generator.choice(["default", "tokens"])
            number = generator.randint(1, largest)
            return signature, generator.choices(sentences, k=number)

        def answer(request):
            start = time.perf_counter()
            arrays = self._ask(*request)
            return time.perf_counter() - start, arrays

        def save(request, path):
            seconds, arrays = answer(request)
            np.savez(path, **arrays)
            return seconds

        with (
            tempfile.TemporaryDirectory() as folder,
            futures.ThreadPoolExecutor(threads) as pool,
        ):
            for start in range(0, requests, round_size):
                count = min(round_size, requests - start)
                asked = [draw() for _ in range(count)]
                paths = [f"{folder}/{i}.npz" for i in range(count)]
                found["together"] += pool.map(save, asked, paths)
                for request, path in zip(asked, paths):
                    seconds, expected = answer(request)
                    found["alone"].append(seconds)
                    with np.load(path) as arrays:
                        difference = _difference(arrays, expected)
                    found["wrong"] += difference > TOLERANCE
                    found["difference"] = max(found["difference"], difference)
        return found

    def _ask(self, signature, sentences):
        import tensorflow as tf

        if signature == "default":
            inputs = {"strings": tf.constant([" ".join(s) for s in sentences])}
        else:
            time = max(map(len, sentences))
            padded = [s + [""] * (time - len(s)) for s in sentences]
            lengths = [len(s) for s in sentences]
            inputs = {
                "tokens": tf.constant(padded),
                "sequence_len": tf.constant(lengths),
            }
        outputs = self._served.signatures[signature](**inputs)
        return {name: x.numpy() for name, x in outputs.items()}


def _difference(found, expected):
    """Returns the largest difference, or infinity if the shapes differ."""
    pairs = [(found[name], x) for name, x in expected.items()]
    if any(x.shape != y.shape for x, y in pairs):
        return float("inf")
    return max(float(np.abs(x - y).max(initial=0)) for x, y in pairs)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        export(*sys.argv[1:])
    else:
        worker.answer_requests(OwnCalls(load))
