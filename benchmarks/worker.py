"""A process that times one implementation, a pass at a time, when told to.

Called as `worker_X.py FOLDER BATCHES.npz OUTPUT.npy [KEY=VALUE ...]`. It loads
the model, writes the vectors of the first batch to OUTPUT.npy, prints the
seconds this took, and then, for each line on its standard input, goes through
all batches and prints the seconds. It needs nothing but NumPy and the
implementation itself.
"""

import json
import sys
import time

import numpy as np


def serve(load):
    folder, batches, output, *options = sys.argv[1:]
    options = {
        key: json.loads(value)
        for key, value in (option.split("=") for option in options)
    }
    with np.load(batches) as file:
        batches = [file[f"{i}"] for i in range(len(file))]
    start = time.perf_counter()
    call = load(folder, **options)
    vectors = call(batches[0])
    print(time.perf_counter() - start, flush=True)
    np.save(output, vectors)
    call(batches[-1])
    for _ in sys.stdin:
        start = time.perf_counter()
        for ids in batches:
            call(ids)
        print(time.perf_counter() - start, flush=True)
