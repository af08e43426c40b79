"""Embeds a corpus of Parquet files on a Spark cluster.

    python examples/cluster/spark_embed.py corpus vectors
    spark-submit spark_embed.py corpus vectors

The files have a column `tokens` of arrays of strings, and a column `id` of
unique values. Spark retries tasks whose worker died. The corpus is written in
portions, each of which Spark commits as a whole, and rows whose id is in OUTPUT
are left out. So running the same command again resumes a job that was killed.
Vectors of another model, or with other settings, are not added to those in
OUTPUT.

Outside spark-submit it starts two workers on this machine.
"""

import argparse
import os
import shutil
import sys

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from keras_elmo import ArrowEmbedder


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("corpus", help="folder of Parquet files, shared by all workers")
    add("output", help="folder to write to, shared by all workers")
    add(
        "--model",
        default="english_mini",
        help="name of a preset, or a path or URL that every worker can read",
    )
    add("--sentence-vectors", action="store_true", help="write only the means")
    add("--portions", type=int, default=20, help="default: %(default)s")
    options = parser.parse_args(argv)

    embedder = ArrowEmbedder(
        options.model,
        layers="top",
        sentence_vectors=options.sentence_vectors,
    )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("keras-elmo")
    if "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local[2,20]")  # A task may fail 19 times.
    with builder.getOrCreate() as spark:
        return embed(spark, embedder, options)


def embed(spark, embedder, options):
    """Embeds what is missing in the output; returns an error, or `None`."""
    corpus = spark.read.parquet(os.path.abspath(options.corpus))
    output = os.path.abspath(options.output)
    # What a killed job left here would be committed with the next portion.
    shutil.rmtree(os.path.join(output, "_temporary"), ignore_errors=True)
    # Here, as Spark would retry what fails in every worker.
    try:
        whole = embedder.schema(corpus.limit(0).toArrow().schema)
    except (OSError, ValueError) as error:
        return str(error)
    made_with = whole.metadata[b"keras_elmo"].decode()
    new = StructType.fromDDL(
        "num_tokens int, width int, vectors array<float>, error string"
    )
    schema = StructType([*corpus.schema, *new])
    try:
        finished = spark.read.parquet(output)
    except AnalysisException:  # There is nothing yet.
        finished = None
    if finished is not None:
        # Spark keeps no metadata of the whole schema, but those of columns.
        found = finished.schema["vectors"].metadata["keras_elmo"]
        if found != made_with:
            return f"'{output}' has vectors made with {found}, not {made_with}."
        corpus = corpus.join(finished.select("id"), "id", "left_anti")
    tasks = 2 * spark.sparkContext.defaultParallelism
    portion = F.pmod(F.xxhash64("id"), F.lit(options.portions))
    for i in range(options.portions):
        rows = corpus.where(portion == i).repartition(tasks)
        vectors = rows.mapInArrow(embedder.embed, schema)
        vectors = vectors.withMetadata("vectors", {"keras_elmo": made_with})
        vectors.write.parquet(output, mode="append")


if __name__ == "__main__":
    sys.exit(main())
