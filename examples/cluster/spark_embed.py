"""Embeds a corpus of many files on a Spark cluster, one task per file.

    python examples/cluster/spark_embed.py 'corpus/*.txt' vectors
    spark-submit --py-files shards.py spark_embed.py 'corpus/*.txt' vectors

The files are Parquet with a column `tokens`, or text with one tokenised
sentence per line (plain or .gz). Each becomes a Parquet file in the output
folder. Spark retries a task whose worker died. Existing output files are kept,
so running the same command again resumes an interrupted run.

Outside spark-submit it starts two workers on this machine.
"""

import argparse
import os
import sys

from pyspark.sql import SparkSession
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
    add(
        "--dtype",
        choices=("float32",),
        default="float32",
        help="only float32: Spark has no 16-bit type and cannot read float16",
    )
    add("--sentence-vectors", action="store_true", help="write only the means")
    options = parser.parse_args(argv)

    shards = list_shards(options.corpus, options.output)
    embedder = ArrowEmbedder(
        options.model, sentence_vectors=options.sentence_vectors
    )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("keras-elmo")
    if "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local[2,20]")  # A task may fail 19 times.
    with builder.getOrCreate() as spark:
        context = spark.sparkContext
        # Returned, not raised: Spark would retry it many times.
        first = context.parallelize([shards[0][0]], 1)
        (error,) = first.map(lambda path: find_error(embedder, path)).collect()
        if error:
            return error
        tasks = context.parallelize(shards, len(shards))
        counts = tasks.map(
            lambda shard: embed_shard(embedder, *shard)
        ).collect()
    names = ("rows", "tokens", "errors", "kept")
    print(len(shards), "files,", {n: sum(c[n] for c in counts) for n in names})


if __name__ == "__main__":
    sys.exit(main())
