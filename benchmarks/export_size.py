"""Measures the export of a model, by default of the original size.

    python benchmarks/export_size.py --size original

Creates the model with random weights and exports it in this process. Prints the
size of the SavedModel relative to that of the weights, and the peak memory.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from random_weights import SIZES
from random_weights import make_elmo
from training_memory import peak_gib
from training_memory import report

import keras_elmo


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", choices=SIZES, default="original")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    elmo = make_elmo(arguments.size)
    if not arguments.json:
        report("model created")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        keras_elmo.export_saved_model(elmo, folder)
        seconds = time.perf_counter() - start
        files = [p for p in pathlib.Path(folder).rglob("*") if p.is_file()]
        exported = sum(path.stat().st_size for path in files)
    found = {
        "size": arguments.size,
        "seconds": seconds,
        "mib": exported / 2**20,
        "times_the_weights": exported / (4 * elmo.count_params()),
        "peak_gib": peak_gib(),
    }
    if arguments.json:
        print(json.dumps(found))
        return
    report(
        f"exported in {seconds:.1f} s; {found['mib']:,.1f} MiB, "
        f"{found['times_the_weights']:.4f} times the weights"
    )


if __name__ == "__main__":
    main()
