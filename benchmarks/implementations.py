"""The implementations to compare, each in its own process."""

import contextlib
import json
import pathlib
import subprocess
import sys
from typing import Any
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent
LOG_LINES = 20

# The sections for implementations that embed.
EMBEDDING = ("throughput", "memory", "load")


class Implementation(NamedTuple):
    """One row of the tables."""

    name: str
    python: str
    program: str
    sections: tuple[str, ...]
    options: dict[str, Any] = {}
    """Options of the program's `load`."""
    precision: str = "float32"
    """Precision of the weights: a key of `workloads.BYTES`."""
    batch_size: int | None = 32
    """`None` if it takes the whole text at once."""


def find_implementations(arguments, folder):
    """Returns the peers that were given, then this package's own variants.

    Args:
        arguments: The program's arguments.
        folder: A folder for exported models.
    """
    return [*_peers(arguments), *_own(pathlib.Path(folder))]


def _peers(arguments):
    sections = (*EMBEDDING, "latency")
    peers = [
        ("AllenNLP", arguments.allennlp_python, "worker_allennlp.py"),
        ("bilm-tf", arguments.bilm_tf_python, "worker_bilm_tf.py"),
        ("simple_elmo", arguments.simple_elmo_python, "worker_simple_elmo.py"),
    ]
    found = [
        Implementation(name, python, program, sections)
        for name, python, program in peers
        if python
    ]
    if arguments.allennlp_python:
        trainable = Implementation(
            "AllenNLP",
            arguments.allennlp_python,
            "worker_allennlp.py",
            ("training",),
            {"trainable": True},
        )
        found.append(trainable)
    return found


def _own(folder):
    def own(name, sections, program="worker_keras_elmo.py", **kwargs):
        name = f"keras-elmo, {name}"
        return Implementation(name, sys.executable, program, sections, **kwargs)

    return [
        own(
            "layer",
            (*EMBEDDING, "latency", "growth"),
            options={"kind": "layer"},
        ),
        own(
            "embedder",
            (*EMBEDDING, "latency", "growth"),
            options={"kind": "embedder"},
            batch_size=None,
        ),
        *(
            own(
                f"embedder in {precision}",
                EMBEDDING,
                options={"kind": "embedder", **options},
                precision=precision,
                batch_size=None,
            )
            for precision, options in (
                ("bfloat16", {"dtype": "mixed_bfloat16"}),
                ("int8", {"quantize": "int8"}),
            )
        ),
        own(
            "SavedModel",
            ("latency", "load"),
            "worker_saved_model.py",
            options={"exported": str(folder / "saved_model")},
        ),
        *(
            own(
                f"ONNX in {precision}",
                ("latency", "load"),
                "worker_onnx.py",
                options={
                    "exported": str(folder / f"{precision}.onnx"),
                    "quantize": quantize,
                },
                precision=precision,
            )
            for precision, quantize in (("float32", ""), ("int8", "int8"))
        ),
        own(
            "layer in a model",
            ("training",),
            options={"kind": "training", "trainable": True},
        ),
    ]


class Worker:
    """A program that answers requests in its own process.

    Args:
        name: String, for messages.
        python: Path of the Python that runs it.
        program: Name of a file in this folder.
        log: `Path` of the log file for its output.
    """

    def __init__(self, name, python, program, log):
        self._name, self._log = name, log
        with log.open("w") as file:
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
            self._fail()

    def _fail(self):
        self._process.wait()
        lines = self._log.read_text(errors="replace").splitlines()
        lines = [*lines[-LOG_LINES:], f"{self._name} exited: see above."]
        sys.exit("\n".join(lines))

    def close(self):
        """Ends the process."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
