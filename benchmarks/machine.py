"""Describes the machine, and measures matrix multiplies and memory bandwidth.

Run as a program, it measures on request; see worker.py.
"""

import os
import pathlib
import platform
import statistics
import time

FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile",
         "amx_bf16", "amx_int8")  # fmt: skip
MATRIX_SIZE = 2048
BYTES_TO_READ = 2**29


def describe():
    info = _cpu_info()
    flags = info.get("flags", "").split()
    return {
        "cpu": info.get("model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "flags": [flag for flag in FLAGS if flag in flags],
    }


def _cpu_info():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    lines = text.split("\n\n")[0].splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


class Machine:
    """Measures the machine; a call takes a second or two."""

    def __init__(self):
        import tensorflow as tf

        generator = tf.random.Generator.from_seed(0)
        matrix = generator.normal((MATRIX_SIZE, MATRIX_SIZE))
        half = tf.cast(matrix, "bfloat16")
        array = matrix.numpy()
        large = tf.ones((BYTES_TO_READ // 4,))
        self._tasks = {
            "float32_numpy": lambda: array @ array,
            "float32_tensorflow": lambda: tf.matmul(matrix, matrix)[0].numpy(),
            "bfloat16": lambda: tf.matmul(half, half)[0].numpy(),
            "read": lambda: tf.reduce_sum(large).numpy(),
        }

    def measure(self):
        """Returns GFLOP/s of matrix multiplies and GB/s of memory reads."""
        flops = 2 * MATRIX_SIZE**3
        return {
            name: (BYTES_TO_READ if name == "read" else flops)
            / _median_seconds(task)
            / 1e9
            for name, task in self._tasks.items()
        }


def medians(speeds):
    """Returns the median speeds of several measurements."""
    names = ("float32_numpy", "float32_tensorflow")
    return {
        "float32": statistics.median(max(s[n] for n in names) for s in speeds),
        "bfloat16": statistics.median(s["bfloat16"] for s in speeds),
        "read": statistics.median(s["read"] for s in speeds),
    }


def _median_seconds(task, repeats=5):
    task()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    from worker import answer_requests

    answer_requests(Machine())
