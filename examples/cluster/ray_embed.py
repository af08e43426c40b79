"""Embeds a corpus of Parquet files on a Ray cluster.

    python examples/cluster/ray_embed.py corpus vectors

The files have a column `tokens` of lists of strings, and a column `id` of
unique numbers or strings. Ray retries tasks whose worker died, and records the
ids of finished rows in the folder OUTPUT.ids. So running the same command again
resumes a job that was killed. Vectors of another model, or with other settings,
are not added to those in OUTPUT.

Without --address it starts a cluster of two workers on this machine.
"""

import argparse
import glob
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import ray
from ray.data.checkpoint import CheckpointConfig

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
    add("--output-dtype", choices=("float32", "float16"), default="float32")
    add("--sentence-vectors", action="store_true", help="write only the means")
    add("--rows", type=int, default=10_000, help="rows per task")
    add("--cpus", type=int, default=1, help="CPUs per worker; default: 1")
    add("--address", help="address of a running cluster, such as auto")
    options = parser.parse_args(argv)

    output = os.path.abspath(options.output)
    embedder = ArrowEmbedder(
        options.model,
        layers="top",
        output_dtype=options.output_dtype,
        sentence_vectors=options.sentence_vectors,
    )
    new_cluster = {} if options.address else {"num_cpus": 2 * options.cpus}
    ray.init(options.address, **new_cluster)
    context = ray.data.DataContext.get_current()
    context.checkpoint_config = CheckpointConfig(
        "id", f"{output}.ids", delete_checkpoint_on_success=False
    )
    corpus = ray.data.read_parquet(os.path.abspath(options.corpus))

    schema = corpus.schema().base_schema
    # In a worker, so that an error of every worker is raised once.
    remote = ray.remote(num_cpus=options.cpus)(ArrowEmbedder.schema)
    try:
        vectors = ray.get(remote.remote(embedder, schema))
    except ray.exceptions.RayTaskError as error:
        return str(error.cause)
    expected = vectors.metadata[b"keras_elmo"]
    found = find_metadata(output)
    if found not in (None, expected):
        return f"'{output}' has vectors made with {found}, not {expected}."

    corpus.repartition(target_num_rows_per_block=options.rows).map_batches(
        embedder,
        batch_format="pyarrow",
        batch_size=None,
        num_cpus=options.cpus,
    ).write_parquet(output)


def find_metadata(folder):
    """Returns how the vectors in a folder were made; `None` without any."""
    for path in glob.glob(os.path.join(folder, "*.parquet")):
        try:
            return pq.read_schema(path).metadata[b"keras_elmo"]
        except pa.ArrowInvalid:
            pass  # Half written when the job was killed; Ray removes it.


if __name__ == "__main__":
    sys.exit(main())
