"""Queries a SavedModel through `serve.c`, in a process without Python."""

import io
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf

_SOURCE = pathlib.Path(__file__).with_name("serve.c")
_LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")


def build(folder):
    """Compiles the program; without a compiler, skips or fails the test."""
    if shutil.which("gcc") is None:
        reason = "The C client cannot be built without gcc."
        if os.environ.get("KERAS_ELMO_REQUIRE_SHARED"):
            pytest.fail(reason)
        pytest.skip(reason)
    root = pathlib.Path(tf.__file__).parent
    program = folder / "serve"
    # The default linker takes ten seconds for libraries of that size.
    linker = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
    subprocess.run(
        [
            *("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-sign-compare"),
            *linker,
            *(str(_SOURCE), "-o", str(program), f"-I{root / 'include'}"),
            *(f"-L{root}", *(f"-l:{name}" for name in _LIBRARIES)),
            f"-Wl,-rpath,{root}",
        ],
        check=True,
    )
    return program


def ask(program, exported, requests):
    """Sends requests to one process, one after the other.

    Args:
        program: Path of the compiled client.
        exported: Path of the SavedModel.
        requests: List of pairs: the name of a signature, and a dictionary of
            its inputs (numbers as arrays; strings as lists or object arrays of
            `str` or `bytes`).

    Returns:
        For each request, a dictionary of arrays (strings as bytes), or the
        error message.
    """
    sent = io.BytesIO()
    for signature, inputs in requests:
        sent.write(f"request {signature} {len(inputs)}\n".encode())
        for name, value in inputs.items():
            _write_tensor(sent, name, value)
    answers = subprocess.run(
        [str(program), str(exported)],
        input=sent.getvalue(),
        capture_output=True,
        env={"TF_CPP_MIN_LOG_LEVEL": "2", "LC_ALL": "C"},
        timeout=600,
    )
    assert answers.returncode == 0, answers.stderr.decode()
    received = io.BytesIO(answers.stdout)
    answers = [_read_answer(received) for _ in requests]
    assert not received.read()
    return answers


def _write_tensor(file, name, value):
    if not hasattr(value, "dtype"):
        value = np.array(value, object)  # NumPy's own strings lose NUL bytes.
    if value.dtype == object:
        code = tf.string.as_datatype_enum
    else:
        code = tf.as_dtype(value.dtype).as_datatype_enum
    sizes = "".join(f" {size}" for size in value.shape)
    file.write(f"{name} {code} {value.ndim}{sizes}\n".encode())
    if code != tf.string.as_datatype_enum:
        file.write(np.ascontiguousarray(value).tobytes())
        return
    for text in value.ravel():
        text = text.encode() if isinstance(text, str) else text
        file.write(np.uint64(len(text)).tobytes() + text)


def _read_answer(file):
    kind, number = file.readline().split()
    if kind == b"error":
        return file.read(int(number)).decode()
    return dict(_read_tensor(file) for _ in range(int(number)))


def _read_tensor(file):
    name, code, _, *sizes = file.readline().decode().split()
    shape = tuple(map(int, sizes))
    dtype = tf.as_dtype(int(code))
    count = int(np.prod(shape))
    if dtype != tf.string:
        raw = file.read(count * dtype.size)
        return name, np.frombuffer(raw, dtype.as_numpy_dtype).reshape(shape)
    texts = np.empty(count, object)
    for i in range(count):
        texts[i] = file.read(int(np.frombuffer(file.read(8), "uint64")[0]))
    return name, texts.reshape(shape)
