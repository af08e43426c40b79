"""Times two Ray workers with one core each against one process with both cores.

python benchmarks/cluster.py TEXT --model DIR

Both embed the same files, in turns, after a warm-up on a few of them. A third
variant uses lists, without Arrow and Parquet.
"""

import argparse
import math
import os
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from workloads import count_tokens
from workloads import read_sentences

import keras_elmo

FILES, WARM_UP = 20, 4


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", help="one sentence per line, or CoNLL-U")
    parser.add_argument("--model", required=True, help="folder of the biLM")
    parser.add_argument("--tokens", type=int, default=200_000, help="at least")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.text)
    sentences *= math.ceil(arguments.tokens / count_tokens(sentences))
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/{i}.parquet" for i in range(FILES)]
        for i, path in enumerate(paths):
            table = pa.table({"tokens": sentences[i::FILES]})
            pq.write_table(table, path)
        run(arguments, paths, count_tokens(sentences))


def run(arguments, paths, num_tokens):
    # The cluster's processes start before TensorFlow has threads.
    ray.init(num_cpus=2, log_to_driver=False)
    model = os.path.abspath(arguments.model)
    embedder = keras_elmo.ArrowEmbedder(model)
    plain = keras_elmo.ElmoEmbedder.from_preset(model, layers="top")
    remote = ray.remote(num_cpus=1)(embed_file)

    def on_ray(paths):
        ray.get([remote.remote(embedder, path) for path in paths])

    def in_one_process(paths):
        for path in paths:
            embed_file(embedder, path)

    def as_lists(paths):
        for path in paths:
            rows = pq.read_table(path)["tokens"].to_pylist()
            for _ in plain.embed_sentences(rows):
                pass

    ways = {
        "Ray, two workers of one core": on_ray,
        "one process, both cores": in_one_process,
        "one process, without Arrow": as_lists,
    }
    speeds = {name: [] for name in ways}
    for turn in range(arguments.turns + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way(paths if turn else paths[:WARM_UP])
            if turn:
                seconds = time.perf_counter() - start
                speeds[name].append(num_tokens / seconds)
                print(f"turn {turn}: {name}, {speeds[name][-1]:,.0f} tokens/s")
    both = speeds["one process, both cores"]
    for name, found in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(found, both))
        print(
            f"{name}: {statistics.median(found):,.0f} tokens/s, {ratio:.2f} "
            "times one process"
        )


def embed_file(embedder, path):
    pq.write_table(embedder(pq.read_table(path)), f"{path}.out")


if __name__ == "__main__":
    main()
