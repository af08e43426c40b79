"""Times two Ray workers with one core each against one process with both cores.

    python benchmarks/cluster.py TEXT --model DIR --output cluster.json

Both embed the same files, in turns, after a warm-up on a few of them.
"""

import math
import os
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from program import begin_results
from program import make_parser
from program import write_results
from workloads import count_tokens
from workloads import read_sentences

import keras_elmo

FILES, WARM_UP = 20, 4


def main():
    parser = make_parser(__doc__)
    parser.add_argument("text", help="one sentence per line, or CoNLL-U")
    parser.add_argument("--model", required=True, help="folder of the biLM")
    parser.add_argument("--tokens", type=int, default=200_000, help="at least")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--output", required=True, help="JSON file to write")
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
    embedder = keras_elmo.ArrowEmbedder(model, layers="top")
    remote = ray.remote(num_cpus=1)(embed_file)

    def on_ray(paths):
        ray.get([remote.remote(embedder, path) for path in paths])

    def in_one_process(paths):
        for path in paths:
            embed_file(embedder, path)

    ways = {"workers": on_ray, "process": in_one_process}
    seconds = {name: [] for name in ways}
    for turn in range(arguments.turns + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way(paths if turn else paths[:WARM_UP])
            if turn:
                seconds[name].append(time.perf_counter() - start)
    results = begin_results(tokens=num_tokens, seconds=seconds)
    write_results(arguments.output, results)


def embed_file(embedder, path):
    pq.write_table(embedder(pq.read_table(path)), f"{path}.out")


if __name__ == "__main__":
    main()
