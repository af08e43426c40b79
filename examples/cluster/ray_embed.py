"""Embeds a corpus of many files on a Ray cluster, one task per file.

    python examples/cluster/ray_embed.py 'corpus/*.txt' vectors

The files are Parquet with a column `tokens`, or text with one tokenised
sentence per line (plain or .gz). Each becomes a Parquet file in the output
folder. Ray retries a task whose worker died. Existing output files are kept, so
running the same command again resumes an interrupted run.

Without --address it starts a cluster of two workers on this machine.
"""

import argparse
import sys

import ray
from shards import find_error
from shards import list_shards

from keras_elmo.embedding import ArrowEmbedder
from keras_elmo.embedding import embed_shard


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("corpus", help="glob of the files, such as 'corpus/*.parquet'")
    add("output", help="folder to write to, shared by all workers")
    add(
        "--model",
        default="english_mini",
        help="name of a preset, or a path or URL that every worker can read",
    )
    add("--dtype", choices=("float32", "float16"), default="float32")
    add("--sentence-vectors", action="store_true", help="write only the means")
    add("--cpus", type=int, default=1, help="CPUs per worker; default: 1")
    add("--address", help="address of a running cluster, such as auto")
    options = parser.parse_args(argv)

    shards = list_shards(options.corpus, options.output)
    embedder = ArrowEmbedder(
        options.model,
        dtype=options.dtype,
        sentence_vectors=options.sentence_vectors,
    )
    new_cluster = {} if options.address else {"num_cpus": 2 * options.cpus}
    ray.init(options.address, **new_cluster)
    resources = {"num_cpus": options.cpus, "max_retries": 10}
    check, embed = (
        ray.remote(**resources)(function)
        for function in (find_error, embed_shard)
    )
    if error := ray.get(check.remote(embedder, shards[0][0])):
        return error

    pending = {embed.remote(embedder, *shard): shard[0] for shard in shards}
    totals, failed = dict.fromkeys(("rows", "tokens", "errors", "kept"), 0), []
    while pending:
        (done,), _ = ray.wait(list(pending))
        source = pending.pop(done)
        try:
            counts = ray.get(done)
        except Exception as error:
            failed.append(source)
            print(f"{source}: {error}", file=sys.stderr)
            continue
        totals = {name: totals[name] + counts[name] for name in totals}
        print(f"{len(shards) - len(pending)}/{len(shards)} files, {totals}")
    return f"failed: {failed}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
