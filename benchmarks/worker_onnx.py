"""Runs an exported ONNX file without TensorFlow or this package; see worker.py.

`worker_onnx.py FOLDER EXPORTED [QUANTIZE]` exports a file.
"""

import os
import pathlib
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "onnx"


def prepare(folder, exported, quantize=""):
    """Exports once, in another process, because this one must only run it."""
    if not os.path.exists(exported):
        command = [sys.executable, __file__, folder, exported, quantize]
        subprocess.run(command, check=True, stdout=sys.stderr)


def load(folder, exported, **options):
    return Exported(exported)


class Exported:
    """Computes the mix with the client in `examples/onnx`."""

    def __init__(self, path):
        sys.path.insert(0, str(EXAMPLE))
        from client import Elmo

        self._elmo = Elmo(path, ["elmo"])

    def vectors(self, sentences):
        vectors = self._elmo(sentences)["elmo"]
        return [x[None, : len(s)] for x, s in zip(vectors, sentences)]

    def reset(self):
        pass


def export(folder, exported, quantize):
    import keras_elmo

    elmo = keras_elmo.ElmoLayer.from_bilm(
        f"{folder}/options.json", f"{folder}/weights.hdf5"
    )
    keras_elmo.export_onnx(elmo, exported, quantize or None)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        export(*sys.argv[1:])
    else:
        from worker import serve

        serve(load, prepare)
