"""Parquet files of vectors, one per shard of a corpus."""

import json
import os
import typing
from collections.abc import Iterator

import numpy as np

from keras_elmo.embedding.arrow_embedder import METADATA
from keras_elmo.embedding.arrow_embedder import ArrowEmbedder
from keras_elmo.files.atomic import write_atomically
from keras_elmo.text.corpora import byte_lines
from keras_elmo.text.corpora import byte_words
from keras_elmo.text.corpora import check_file

if typing.TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1000  # read at a time


def embed_shard(
    embedder: ArrowEmbedder,
    source: str | os.PathLike,
    target: str | os.PathLike,
) -> dict[str, int]:
    """Embeds one shard into a Parquet file, which is written atomically.

    An existing target is kept if it has the same number of rows and was made
    with the same model and arguments. So a restarted job repeats only what was
    not finished.

    Args:
        embedder: An `ArrowEmbedder`.
        source: Path of a `.parquet` file with a column `tokens`; or of a text
            file, plain or `.gz`, with one tokenised sentence per line. A text
            gives the columns `id`, the number of the line from 0, and `tokens`,
            null if the line is not UTF-8.
        target: Path of the Parquet file to write.

    Returns:
        Dictionary with the numbers of `rows`, `tokens` and `errors` (rows
        without vectors), and `kept`, 1 if the target already existed.

    Raises:
        ValueError: If the source is not as described, or if an existing target
            has another number of rows or was made with another model or other
            arguments.
        OSError: If a file cannot be read or written.

    Example:

    >>> embedder = ArrowEmbedder("english_mini")
    >>> embed_shard(embedder, "corpus/part00.txt", "vectors/part00.parquet")
    {'rows': 10000, 'tokens': 203417, 'errors': 0, 'kept': 0}
    """
    import pyarrow.parquet as pq

    target = os.fspath(target)
    shard = _open_shard(source)
    schema = embedder.schema(shard.schema)
    is_there = os.path.exists(target)

    def write(temporary):
        # Compressing floats takes longer than writing them, and saves little.
        options = {"use_dictionary": False, "write_statistics": False}
        with pq.ParquetWriter(
            temporary, schema, compression="none", **options
        ) as writer:
            for batch in embedder.embed(shard.batches()):
                writer.write_batch(batch)
        _check_target(temporary, shard, schema)

    if is_there:
        _check_target(target, shard, schema)
    else:
        write_atomically(target, write)
    return {**_counts(target), "kept": int(is_there)}


def shard_schema(source: str | os.PathLike) -> "pa.Schema":
    """Returns the schema of a shard's rows, for `ArrowEmbedder.check`.

    Args:
        source: Path of the shard, as for `embed_shard`.
    """
    return _open_shard(source).schema


def read_vectors(
    path: str | os.PathLike, id: str = "id"
) -> Iterator[tuple[typing.Any, np.ndarray | None]]:
    """Reads the vectors of a Parquet file that `embed_shard` wrote.

    Args:
        path: Path of the file.
        id: Name of the column that identifies rows.

    Yields:
        The value in that column, and the array as `ElmoEmbedder` returns it:
        `(layers, tokens, width)` or `(tokens, width)`, for sentence vectors
        `(layers, width)` or `(width,)`, and `None` if the row has an error.

    Raises:
        ValueError: If the file does not state how its vectors were made, or
            has no column `id`.

    Example:

    >>> for line, vectors in read_vectors("vectors/part00.parquet"):
    ...     print(line, vectors.shape)
    0 (12, 512)
    1 (0, 512)
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        facts = (file.schema_arrow.metadata or {}).get(METADATA)
        if facts is None:
            raise ValueError(
                f"The schema of '{path}' has no metadata `keras_elmo`, which "
                "`embed_shard` writes. Spark leaves it out: for its files, use "
                "numpy.reshape(vectors, (-1, num_tokens, width))."
            )
        if id not in file.schema_arrow.names:
            raise ValueError(
                f"'{path}' has no column for `id`. Expected one of "
                f"{file.schema_arrow.names}. Received: id={id!r}"
            )
        facts = json.loads(facts)
        layers = [] if facts["num_layers"] is None else [facts["num_layers"]]
        columns = [id, "num_tokens", "width", "vectors"]
        for batch in file.iter_batches(_ROWS, columns=columns):
            for key, tokens, width, numbers in zip(*batch.columns):
                array = None
                if numbers.is_valid:
                    shape = [tokens.as_py(), width.as_py()]
                    shape = layers + shape[facts["sentence_vectors"] :]
                    array = numbers.values.to_numpy(zero_copy_only=False)
                    array = array.reshape(shape)
                yield key.as_py(), array


def _open_shard(path):
    path = os.fspath(path)
    return _Parquet(path) if path.endswith(".parquet") else _Text(path)


class _Parquet:
    """The sentences of a Parquet file."""

    def __init__(self, path):
        import pyarrow.parquet as pq

        self.path = path
        self._file = pq.ParquetFile(path)
        self.schema = self._file.schema_arrow

    def __len__(self):
        return self._file.metadata.num_rows

    def batches(self):
        return self._file.iter_batches(_ROWS)


class _Text:
    """The sentences of a text file."""

    def __init__(self, path):
        import pyarrow as pa

        check_file(path)
        self.path = path
        self.schema = pa.schema(
            {"id": pa.int64(), "tokens": pa.list_(pa.string())}
        )

    def __len__(self):
        return sum(1 for _ in byte_lines(self.path))

    def batches(self):
        import pyarrow as pa

        rows = []
        for i, line in enumerate(byte_lines(self.path)):
            rows.append({"id": i, "tokens": _words(line)})
            if len(rows) == _ROWS:
                yield pa.RecordBatch.from_pylist(rows, self.schema)
                rows = []
        if rows:
            yield pa.RecordBatch.from_pylist(rows, self.schema)


def _words(line):
    try:
        return [word.decode() for word in byte_words(line)]
    except UnicodeDecodeError:
        return None


def _check_target(path, shard, schema):
    """Raises `ValueError` if a file does not match a shard and a schema."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        found = file.schema_arrow, file.metadata.num_rows
    made = [(x.metadata or {}).get(METADATA) for x in (schema, found[0])]
    if made[0] != made[1] or not found[0].equals(schema):
        raise ValueError(
            f"'{path}' exists, but has other columns, or vectors made with "
            "another model or other arguments; remove it, or write elsewhere. "
            f"Expected {made[0]}. Received: {made[1]}"
        )
    if found[1] != len(shard):
        raise ValueError(
            f"'{path}' must have as many rows as '{shard.path}'; remove it if "
            f"the latter has changed. Expected {len(shard)}. "
            f"Received: {found[1]}"
        )


def _counts(path):
    """Returns the numbers of rows, tokens and errors in a file."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["num_tokens"])
    tokens = table["num_tokens"]
    return {
        "rows": len(tokens),
        "tokens": pc.sum(tokens).as_py() or 0,
        "errors": tokens.null_count,
    }
