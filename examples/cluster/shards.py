"""The files of a corpus, and where each one's vectors go."""

import glob
import os

from keras_elmo.embedding import shard_schema


def list_shards(corpus, output):
    """Returns pairs of paths: a file that matches the glob, and its target."""
    sources = sorted(map(os.path.abspath, glob.glob(corpus)))
    os.makedirs(output, exist_ok=True)
    output = os.path.abspath(output)
    names = [os.path.basename(source).split(".")[0] for source in sources]
    if not sources or len(set(names)) < len(names):
        raise SystemExit(
            "`corpus` must match files whose names differ before the first "
            f"dot. Received: '{corpus}', {len(sources)} files"
        )
    targets = [os.path.join(output, f"{name}.parquet") for name in names]
    return list(zip(sources, targets))


def find_error(embedder, source):
    """Returns an error that every file of the corpus would raise, or `None`."""
    try:
        embedder.check(shard_schema(source))
    except (ImportError, OSError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
