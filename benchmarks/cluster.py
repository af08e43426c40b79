"""Times two Ray workers with one core each against one process with both cores.

python benchmarks/cluster.py TEXT --model DIR

Both embed the same shards, in turns, after a warm-up on a few shards. A third
variant uses lists, without Arrow and Parquet.
"""

import argparse
import os
import pathlib
import resource
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pyarrow as pa
import pyarrow.parquet as pq
import ray

from keras_elmo import ArrowEmbedder
from keras_elmo import ElmoEmbedder
from keras_elmo.embedding import embed_shard
from keras_elmo.text import read_corpus

NUM_SHARDS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", help="one sentence per line, or CoNLL-U")
    parser.add_argument("--model", required=True, help="folder of the biLM")
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(arguments, pathlib.Path(folder))


def run(arguments, folder):
    sentences, num_tokens = read(arguments.text, arguments.tokens)
    shards = []
    for i in range(NUM_SHARDS):
        shards.append(str(folder / f"shard{i}.parquet"))
        table = pa.table({"tokens": sentences[i::NUM_SHARDS]})
        pq.write_table(table, shards[-1])
    # The cluster's processes start before TensorFlow has threads.
    ray.init(num_cpus=2, log_to_driver=False)
    model = os.path.abspath(arguments.model)
    embedder = ArrowEmbedder(model)
    plain = ElmoEmbedder.from_preset(model, layers="top")
    remote = ray.remote(num_cpus=1)(embed_in_worker)

    def on_ray(shards):
        jobs = [
            remote.remote(embedder, shard, f"{shard}.vectors")
            for shard in shards
        ]
        return max(ray.get(jobs))

    def in_one_process(shards):
        for shard in shards:
            embed_shard(embedder, shard, f"{shard}.vectors")

    def as_lists(shards):
        for shard in shards:
            rows = pq.read_table(shard)["tokens"].to_pylist()
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
            way(shards[:4] if turn == 0 else shards)
            seconds = time.perf_counter() - start
            if turn:
                speeds[name].append(num_tokens / seconds)
                print(f"turn {turn}: {name}, {speeds[name][-1]:,.0f} tokens/s")
            for path in folder.glob("*.vectors"):
                path.unlink()
    both = speeds["one process, both cores"]
    for name, found in speeds.items():
        ratio = statistics.median(a / b for a, b in zip(found, both))
        print(
            f"{name}: {statistics.median(found):,.0f} tokens/s, {ratio:.2f} "
            "times one process"
        )
    print(f"peak memory of a worker: {on_ray(shards[:4]):,.0f} MB")


def read(text, num_tokens):
    """Reads at least `num_tokens` tokens, repeating the text if necessary."""
    sentences, found = [], 0
    while found < num_tokens:
        for sentence in read_corpus(text):
            sentences.append(sentence.tokens)
            found += len(sentence.tokens)
            if found >= num_tokens:
                break
    return sentences, found


def embed_in_worker(embedder, source, target):
    """Embeds a shard; returns the peak memory of the process in MB."""
    embed_shard(embedder, source, target)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
