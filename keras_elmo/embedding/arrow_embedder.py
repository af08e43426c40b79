"""Vectors in Arrow tables, for engines that distribute a corpus."""

import functools
import json
import os
import threading
import typing
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from keras_elmo.checks import check_choice
from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.embedding.sentence_vectors import mean_over_tokens
from keras_elmo.embedding.sentence_vectors import with_vectors
from keras_elmo.models.presets import PRESETS

if typing.TYPE_CHECKING:
    import pyarrow as pa

_METADATA = b"keras_elmo"
_NEW_COLUMNS = ("num_tokens", "width", "vectors", "error")
_NUMBERS = 2**26  # the most numbers in a batch of vectors: 256 MB
_loading = threading.Lock()


class _Row(typing.NamedTuple):
    tokens: list  # empty if there is an error
    error: str | None
    batch: "pa.RecordBatch"
    row_number: int


class ArrowEmbedder:
    """Embeds the sentences of Arrow tables, in any process of a cluster.

    Call it with a `pyarrow.Table` or `pyarrow.RecordBatch` that has a column
    `tokens` of lists of strings. It returns the table with four more columns:

    - `num_tokens`, int32: the number of tokens in the sentence;
    - `width`, int32: the size of a vector;
    - `vectors`, a list of floats: the array `(layers, tokens, width)`, without
      the first axis if `layers` selects a single layer, flattened in C order.
      With `sentence_vectors`, `(layers, width)`, the mean over the tokens;
    - `error`, string: null, or why there are no vectors: the tokens, or one of
      them, are null or not UTF-8. In this case, the other three are null.

    All other columns and the order of the rows are unchanged. The key
    `keras_elmo` of the schema's metadata is JSON with the model's fingerprint,
    and how the vectors were made. Vectors with the same JSON may be mixed.

    It is pickled without weights: each process loads the model once, at its
    first batch, and uses the number of threads that the engine grants it
    (`OMP_NUM_THREADS`, which Ray and Spark set). TensorFlow's start-up messages
    are left out, unless `TF_CPP_MIN_LOG_LEVEL` is 0.

    Args:
        model: Name of a preset, or path or URL of a model, as for
            `ElmoLayer.from_preset`. It must be available to every process.
        layers: As for `ElmoEmbedder`. A table of all layers is large: choose
            those that you need.
        output_dtype: `"float32"` or `"float16"`, the dtype of `vectors`.
        sentence_vectors: Boolean, whether to return the mean over a sentence's
            tokens instead of a vector for each token.
        dtype: The dtype policy to compute in, such as `"mixed_bfloat16"`.
        **kwargs: Further arguments of `ElmoEmbedder`.

    Raises:
        ValueError: If an argument is not as described. For `layers` and further
            arguments, `schema` and the first call in a process raise it.
        ImportError: From `schema` and calls, if the package `pyarrow` is not
            installed.

    Example:

    >>> import pyarrow as pa
    >>> table = pa.table({"id": [7, 8], "tokens": [["A", "sentence"], []]})
    >>> table = ArrowEmbedder("english_mini", layers="top")(table)
    >>> table.column_names
    ['id', 'tokens', 'num_tokens', 'width', 'vectors', 'error']
    >>> [len(numbers) for numbers in table["vectors"].to_pylist()]
    [1024, 0]
    """

    def __init__(
        self,
        model: str | os.PathLike,
        *,
        layers: str | int | Sequence[int] = "all",
        output_dtype: str = "float32",
        sentence_vectors: bool = False,
        dtype: str | None = None,
        **kwargs: typing.Any,
    ) -> None:
        check_choice("output_dtype", output_dtype, VECTOR_DTYPES)
        self.model = os.fspath(model)
        if self.model not in PRESETS and os.path.exists(self.model):
            self.model = os.path.abspath(self.model)
        self.layers = tuple(layers) if isinstance(layers, list) else layers
        self.output_dtype = output_dtype
        self.sentence_vectors = sentence_vectors
        self.dtype = dtype
        self.kwargs = kwargs

    def __call__(self, table: typing.Any) -> typing.Any:
        import pyarrow as pa

        if not isinstance(table, pa.Table | pa.RecordBatch):
            raise ValueError(
                "Expected a `pyarrow.Table`, such as "
                "`pyarrow.Table.from_pandas(table)`, or a "
                f"`pyarrow.RecordBatch`. Received: {type(table).__name__}"
            )
        is_table = isinstance(table, pa.Table)
        batches = table.to_batches() if is_table else [table]
        schema = self.schema(table.schema)
        embedded = pa.Table.from_batches(self.embed(batches), schema)
        if is_table:
            return embedded
        columns = [column.combine_chunks() for column in embedded.columns]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def schema(self, schema: "pa.Schema") -> "pa.Schema":
        """Returns the schema of the output for tables with this schema.

        It loads the model. Call it at the start of a job, in a process like
        those that embed, to raise the errors that every table would raise; and
        to compare its metadata with those of vectors that are there already.

        Args:
            schema: The `pyarrow.Schema` of the tables.

        Raises:
            ValueError: If the process cannot find the model, the model does not
                have the layers, or there is no column `tokens` of lists of
                strings.
        """
        import pyarrow as pa

        _check_columns(schema)
        number = pa.type_for_alias(self.output_dtype)
        types = pa.int32(), pa.int32(), pa.list_(number), pa.string()
        for name, type in zip(_NEW_COLUMNS, types):
            schema = schema.append(pa.field(name, type))
        facts = {**(schema.metadata or {}), _METADATA: self._facts()}
        return schema.with_metadata(facts)

    def embed(
        self, batches: Iterable["pa.RecordBatch"]
    ) -> Iterator["pa.RecordBatch"]:
        """Embeds record batches of one schema, as for Spark's `mapInArrow`.

        Args:
            batches: Iterable of record batches; it is read ahead.

        Yields:
            Record batches as returned by a call. The rows of each come from a
            single one of `batches`; large batches are split.
        """
        embedder, _ = self._loaded()
        # Cast the mean, not the vectors.
        dtype = "float32" if self.sentence_vectors else self.output_dtype
        waiting: list[tuple[_Row, np.ndarray]] = []
        size = 0
        rows = _rows_of(batches)
        for row, vectors in with_vectors(rows, embedder.embed_sentences, dtype):
            if waiting and (row.row_number == 0 or size > _NUMBERS):
                yield self._batch(waiting)
                waiting, size = [], 0
            if self.sentence_vectors:
                vectors = mean_over_tokens(vectors).astype(self.output_dtype)
            waiting.append((row, vectors))
            size += vectors.size
        if waiting:
            yield self._batch(waiting)

    def _batch(self, pairs):
        """Returns a record batch for consecutive rows of another."""
        import pyarrow as pa

        rows, arrays = zip(*pairs)
        schema = self.schema(rows[0].batch.schema)
        bad = np.array([row.error is not None for row in rows])
        sizes = [0 if row.error else array.size for row, array in pairs]
        offsets = pa.array(np.cumsum([0, *sizes]), pa.int32())
        numbers = [array.ravel() for array, size in zip(arrays, sizes) if size]
        numbers = np.concatenate([np.empty(0, self.output_dtype), *numbers])
        number = schema.field("vectors").type.value_type
        columns = [
            pa.array([len(row.tokens) for row in rows], pa.int32(), mask=bad),
            pa.array([a.shape[-1] for a in arrays], pa.int32(), mask=bad),
            pa.ListArray.from_arrays(
                offsets, pa.array(numbers, number), mask=pa.array(bad)
            ),
            pa.array([row.error for row in rows], pa.string()),
        ]
        given = rows[0].batch.slice(rows[0].row_number, len(rows))
        return pa.RecordBatch.from_arrays(
            [*given.columns, *columns], schema=schema
        )

    def _facts(self):
        """Returns the metadata as JSON."""
        embedder, facts = self._loaded()
        facts = {
            **facts,
            "layers": self.layers,
            "output_dtype": self.output_dtype,
            "sentence_vectors": self.sentence_vectors,
            "dtype": self.dtype,
            "quantize": embedder.quantize,
        }
        return json.dumps(facts).encode()

    def _loaded(self):
        arguments = tuple(sorted(self.kwargs.items()))
        with _loading:
            return _load(self.model, self.layers, self.dtype, arguments)


@functools.cache
def _load(model, layers, dtype, arguments):
    """Returns the process's only embedder, and metadata of its model."""
    import keras_elmo.quiet_start  # noqa: F401
    from keras_elmo.embedding.elmo_embedder import ElmoEmbedder
    from keras_elmo.layers.elmo_layer import ElmoLayer
    from keras_elmo.models.find_model import find_model
    from keras_elmo.ops.backends import backend

    granted = os.environ.get("OMP_NUM_THREADS", "")
    if granted.isdecimal():
        backend().set_threads(int(granted), int(granted))
    found = find_model(model)
    elmo = found.load(ElmoLayer, dtype=dtype)
    embedder = ElmoEmbedder(elmo, layers, **dict(arguments))
    shape = embedder.embed_sentence([]).shape
    num_layers = shape[0] if len(shape) == 3 else None
    return embedder, {"model": found.fingerprint(), "num_layers": num_layers}


def _check_columns(schema):
    from pyarrow import types

    names = schema.names
    if names.count("tokens") != 1:
        raise ValueError(
            "There must be a column `tokens`, of lists of strings. "
            f"Received: columns {names}"
        )
    taken = [name for name in _NEW_COLUMNS if name in names]
    if taken:
        raise ValueError(
            f"The table must not have the columns {list(_NEW_COLUMNS)}, which "
            f"are added. Received: a table with {taken}"
        )
    type = schema.field("tokens").type
    lists = types.is_list, types.is_large_list, types.is_list_view
    texts = types.is_string, types.is_large_string, types.is_string_view
    texts = *texts, types.is_null  # If no sentence has a word.
    has_lists = any(is_list(type) for is_list in lists)
    if not has_lists or not any(is_text(type.value_type) for is_text in texts):
        raise ValueError(
            "The column `tokens` must contain lists of strings, one list per "
            f"sentence. Received: {type}"
        )


def _rows_of(batches):
    """Yields a `_Row` for each row of record batches."""
    for batch in batches:
        for number, value in enumerate(batch.column("tokens")):
            tokens, error = _tokens_or_error(value)
            yield _Row(tokens, error, batch, number)


def _tokens_or_error(value):
    try:
        tokens = value.as_py()
    except UnicodeDecodeError as error:
        return [], f"token {error.object[:50]!r} is not UTF-8"
    if tokens is None:
        return [], "tokens is null"
    if None in tokens:
        return [], f"token {tokens.index(None)} is null"
    return tokens, None
