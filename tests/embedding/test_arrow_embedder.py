"""Arrow tables with added vectors, and one shard of a corpus."""

import gzip
import json
import pickle

import numpy as np
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from small_models import make_shallow_elmo

from keras_elmo import ArrowEmbedder
from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo.embedding import embed_shard
from keras_elmo.embedding import read_vectors
from keras_elmo.embedding import shard_schema

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.in_graphs(False)
SENTENCES = [
    ["Ann", "é", "我们"],
    [],
    None,
    ["a" * 60, "b"],
    ["x", None],
    ["x"],
]
ERRORS = [None, None, "tokens is null", None, "token 1 is null", None]
GOOD = [0, 1, 3, 5]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "elmo"
    make_shallow_elmo().save_to_preset(folder)
    return str(folder)


@pytest.fixture(scope="module")
def elmo(model):
    return ElmoLayer.from_preset(model)


@pytest.fixture
def table():
    return pa.table(
        {"key": [*"abcdef"], "tokens": SENTENCES, "n": pa.array([*range(6)])}
    )


@pytest.mark.parametrize(
    ("layers", "shape"),
    [("top", [12]), ("all", [2, 12]), ([1], [1, 12])],
)
def test_vectors_are_those_of_the_embedder(model, elmo, table, layers, shape):
    found = ArrowEmbedder(model, layers)(table)
    assert found.column_names == [
        *("key", "tokens", "n", "num_tokens", "width", "vectors", "error")
    ]
    assert found.select(["key", "tokens", "n"]).equals(table)
    assert found["error"].to_pylist() == ERRORS
    assert found["num_tokens"].to_pylist() == [3, 0, None, 2, None, 1]
    assert found["width"].to_pylist() == [12, 12, None, 12, None, 12]
    *leading, width = shape
    expected = ElmoEmbedder(elmo, layers).embed_batch(
        [SENTENCES[i] for i in GOOD]
    )
    for i, vectors in zip(GOOD, expected):
        row = np.array(found["vectors"][i].as_py(), "float32")
        assert vectors.shape == (*leading, len(SENTENCES[i]), width)
        np.testing.assert_allclose(row.reshape(vectors.shape), vectors, 1e-5)
    assert found["vectors"][2].as_py() is None


def test_means_in_half_precision(model, elmo, table):
    embedder = ArrowEmbedder(model, "all", "float16", sentence_vectors=True)
    found = embedder(table)
    assert found.schema.field("vectors").type == pa.list_(pa.float16())
    expected = ElmoEmbedder(elmo).embed_sentence_vectors(
        [SENTENCES[i] for i in GOOD]
    )
    for i, vectors in zip(GOOD, expected):
        row = found["vectors"][i].values.to_numpy(zero_copy_only=False)
        np.testing.assert_allclose(row.reshape(2, 12), vectors, 1e-3, 1e-3)


def test_a_record_batch_stays_one(model, table):
    embedder = ArrowEmbedder(model)
    (batch,) = table.to_batches()
    found = embedder(batch)
    assert isinstance(found, pa.RecordBatch)
    assert pa.Table.from_batches([found]).equals(embedder(table))
    assert embedder(batch.slice(0, 0)).num_rows == 0
    assert embedder(table.slice(0, 0)).schema == found.schema
    parts = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    assert embedder(parts).combine_chunks().equals(embedder(table))


def test_batches_too_large_for_one_are_parted(model, table, monkeypatch):
    from keras_elmo.embedding import arrow_embedder

    monkeypatch.setattr(arrow_embedder, "_NUMBERS", 12)
    embedder = ArrowEmbedder(model)
    batches = list(embedder.embed(table.to_batches()))
    assert len(batches) > 1
    monkeypatch.undo()
    whole = pa.Table.from_batches(batches).combine_chunks()
    assert whole.equals(embedder(table).combine_chunks())


def test_it_is_pickled_without_weights(model, table):
    embedder = ArrowEmbedder(model, [0, 1], batch_tokens=100)
    expected = embedder(table)
    content = pickle.dumps(embedder)
    assert len(content) < 1000
    assert pickle.loads(content)(table).equals(expected)


def test_metadata_tell_the_model(model, table):
    table = table.replace_schema_metadata({"mine": "kept"})
    metadata = ArrowEmbedder(model, "all")(table).schema.metadata
    assert metadata[b"mine"] == b"kept"
    facts = json.loads(metadata[b"keras_elmo"])
    assert len(facts.pop("model")) == 16
    assert facts == {
        "layers": "all",
        "num_layers": 2,
        "sentence_vectors": False,
        "compute_dtype": None,
        "quantize": None,
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"words": [["a"]]}, r"a column `tokens`.* Received: .*\['words'\]"),
        ({"tokens": ["a b"]}, "lists of strings.* Received: string"),
        ({"tokens": [[1]]}, r"lists of strings.* Received: list<.*int64"),
        ({"tokens": [["a"]], "width": [1]}, r"a table with \['width'\]"),
    ],
)
def test_tables_of_another_kind(model, columns, message):
    embedder = ArrowEmbedder(model)
    for fail in (embedder, lambda table: embedder.check(table.schema)):
        with pytest.raises(ValueError, match=message):
            fail(pa.table(columns))


def test_arguments(model, table):
    with pytest.raises(ValueError, match=r"`dtype` must be .*'float64'"):
        ArrowEmbedder(model, dtype="float64")
    with pytest.raises(ValueError, match=r"no preset .* Received: 'nowhere'"):
        ArrowEmbedder("nowhere").check(table.schema)
    with pytest.raises(ValueError, match=r"from 0 to 1, .*layers=2"):
        ArrowEmbedder(model, 2).check(table.schema)
    with pytest.raises(TypeError, match="batch_size"):
        ArrowEmbedder(model, batch_size=2).check(table.schema)


@pytest.mark.parametrize("layers", ["top", "all"])
@pytest.mark.parametrize("sentence_vectors", [False, True])
def test_a_shard_of_parquet(
    model, elmo, table, tmp_path, layers, sentence_vectors
):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    embedder = ArrowEmbedder(model, layers, sentence_vectors=sentence_vectors)
    counts = {"rows": 6, "tokens": 6, "errors": 2}
    assert embed_shard(embedder, source, target) == {**counts, "kept": 0}
    before = target.stat()
    assert embed_shard(embedder, source, target) == {**counts, "kept": 1}
    assert target.stat() == before
    assert pq.read_table(target).equals(embedder(table))
    found = dict(read_vectors(target, "key"))
    with pytest.raises(ValueError, match=r"no column for `id`.*id='id'"):
        next(read_vectors(target))
    assert [*found] == [*"abcdef"]
    assert found["c"] is None and found["e"] is None
    whole = ElmoEmbedder(elmo, layers)
    good = [SENTENCES[i] for i in GOOD]
    expected = (
        whole.embed_sentence_vectors(good)
        if sentence_vectors
        else whole.embed_sentences(good)
    )
    for key, vectors in zip("abdf", expected):
        assert found[key].shape == vectors.shape
        np.testing.assert_allclose(found[key], vectors, 1e-5)


@pytest.mark.parametrize("packed", [False, True])
def test_a_shard_of_text(model, tmp_path, packed):
    content = "\ufeffAnn é  我们\r\n\n".encode() + b"\xff b\nx"
    source = tmp_path / "text.gz" if packed else tmp_path / "text.txt"
    source.write_bytes(gzip.compress(content) if packed else content)
    target = tmp_path / "out.parquet"
    counts = embed_shard(ArrowEmbedder(model), source, target)
    assert counts == {"rows": 4, "tokens": 4, "errors": 1, "kept": 0}
    table = pq.read_table(target)
    assert table["id"].to_pylist() == [0, 1, 2, 3]
    assert table["tokens"].to_pylist() == [
        *(["Ann", "é", "我们"], [], None, ["x"])
    ]


def test_targets_of_another_job_are_not_taken_for_done(model, table, tmp_path):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    embed_shard(ArrowEmbedder(model), source, target)
    content = target.read_bytes()
    for other in (
        ArrowEmbedder(model, 0),
        ArrowEmbedder(model, dtype="float16"),
    ):
        with pytest.raises(ValueError, match=r"out\.parquet' exists, but"):
            embed_shard(other, source, target)
    pq.write_table(table.slice(1), source)
    with pytest.raises(ValueError, match=r"Expected 5\. Received: 6"):
        embed_shard(ArrowEmbedder(model), source, target)
    assert target.read_bytes() == content


def test_a_shard_that_fails_leaves_nothing(model, table, tmp_path, monkeypatch):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.concat_tables([table] * 500), source)
    embed = ArrowEmbedder.embed

    def fail_soon(self, batches):
        yield next(embed(self, batches))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ArrowEmbedder, "embed", fail_soon)
        with pytest.raises(KeyboardInterrupt):
            embed_shard(ArrowEmbedder(model), source, target)
    with monkeypatch.context() as patch:
        patch.setattr(
            ArrowEmbedder, "embed", lambda *a: iter([next(embed(*a))])
        )
        with pytest.raises(ValueError, match=r"Expected 3000\. Received: 1000"):
            embed_shard(ArrowEmbedder(model), source, target)
    assert [*tmp_path.iterdir()] == [source]


def test_what_is_no_shard(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no corpus file"):
        shard_schema(tmp_path / "missing.txt")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="no metadata `keras_elmo`"):
        next(read_vectors(tmp_path / "other.parquet"))


def test_the_blocks_of_the_docs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "vectors").mkdir()
    (tmp_path / "corpus/part00.txt").write_text("One sentence .\n\n")
    read, embed, *_ = read_blocks("docs/cluster.md")
    names = run_blocks([embed, read])
    assert names["counts"] == {"rows": 2, "tokens": 3, "errors": 0, "kept": 0}
    assert (names["line"], names["vectors"].shape) == (1, (0, 512))
