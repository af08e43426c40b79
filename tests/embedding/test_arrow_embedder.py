"""Arrow tables with added vectors."""

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
from keras_elmo.embedding import arrow_embedder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.in_graphs(False)
LONG = "a" * 60
SENTENCES = [["Ann", "é", "我们"], [], None, [LONG, "b"], ["x", None], ["x"]]
ERRORS = [None, None, "tokens is null", None, "token 1 is null", None]
GOOD = {i: SENTENCES[i] for i in (0, 1, 3, 5)}


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
    return pa.table({"key": [*"abcdef"], "tokens": SENTENCES, "n": [*range(6)]})


@pytest.mark.parametrize("layers", ["top", "all", [1]])
def test_vectors_are_those_of_the_embedder(model, elmo, table, layers):
    found = ArrowEmbedder(model, layers=layers)(table)
    names = "key tokens n num_tokens width vectors error"
    assert found.column_names == names.split()
    assert found.select(["key", "tokens", "n"]).equals(table)
    assert found["error"].to_pylist() == ERRORS
    assert found["num_tokens"].to_pylist() == [3, 0, None, 2, None, 1]
    assert found["width"].to_pylist() == [12, 12, None, 12, None, 12]
    expected = ElmoEmbedder(elmo, layers).embed_batch(GOOD.values())
    for i, vectors in zip(GOOD, expected, strict=True):
        row = np.array(found["vectors"][i].as_py(), "float32")
        np.testing.assert_allclose(row.reshape(vectors.shape), vectors, 1e-5)
    assert found["vectors"][2].as_py() is None


def test_means_in_half_precision(model, elmo, table):
    embedder = ArrowEmbedder(
        model, layers="all", output_dtype="float16", sentence_vectors=True
    )
    found = embedder(table)
    assert found.schema.field("vectors").type == pa.list_(pa.float16())
    expected = ElmoEmbedder(elmo).embed_sentence_vectors(GOOD.values())
    for i, vectors in zip(GOOD, expected, strict=True):
        row = found["vectors"][i].values.to_numpy(zero_copy_only=False)
        np.testing.assert_allclose(row.reshape(2, 12), vectors, 1e-3, 1e-3)


def test_a_record_batch_stays_one(model, table):
    embedder = ArrowEmbedder(model)
    (batch,) = table.to_batches()
    found = embedder(batch)
    assert isinstance(found, pa.RecordBatch)
    assert pa.Table.from_batches([found]).equals(embedder(table))
    assert [embedder(batch[:n]).num_rows for n in (0, 1)] == [0, 1]
    assert embedder(table.slice(0, 0)).schema == found.schema
    parts = pa.concat_tables([table.slice(0, 2), table.slice(2)])
    assert embedder(parts).combine_chunks().equals(embedder(table))


def test_batches_too_large_for_one_are_parted(model, table, monkeypatch):
    embedder = ArrowEmbedder(model, layers="top")
    whole = embedder(table).combine_chunks()
    # The first four sentences have 5 words of 12 numbers.
    monkeypatch.setattr(arrow_embedder, "_NUMBERS", 59)
    batches = list(embedder.embed(table.to_batches()))
    assert [batch.num_rows for batch in batches] == [4, 2]
    assert pa.Table.from_batches(batches).combine_chunks().equals(whole)


def test_it_is_pickled_without_weights(model, table):
    embedder = ArrowEmbedder(model, layers=[0, 1], batch_tokens=100)
    expected = embedder(table)
    content = pickle.dumps(embedder)
    assert len(content) < 1000
    assert pickle.loads(content)(table).equals(expected)


def test_metadata_tell_the_model(model, table):
    table = table.replace_schema_metadata({"mine": "kept"})
    metadata = ArrowEmbedder(model)(table).schema.metadata
    assert metadata[b"mine"] == b"kept"
    facts = json.loads(metadata[b"keras_elmo"])
    assert len(facts.pop("model")) == 16
    how = {"layers": "all", "num_layers": 2, "sentence_vectors": False}
    dtypes = {"output_dtype": "float32", "dtype": None, "quantize": None}
    assert facts == {**how, **dtypes}


def test_tables_of_another_kind(model):
    for columns, message in [
        ({}, "such as .*from_pandas.* Received: dict$"),
        ({"words": [["a"]]}, r"a column `tokens`.* Received: .*\['words'\]"),
        ({"tokens": ["a b"]}, "lists of strings.* Received: string"),
        ({"tokens": [[1]]}, r"lists of strings.* Received: list<.*int64"),
        ({"tokens": [["a"]], "width": [1]}, r"a table with \['width'\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            ArrowEmbedder(model)(columns and pa.table(columns))


def test_arguments(model, table):
    with pytest.raises(ValueError, match=r"`output_dtype` .*'float64'"):
        ArrowEmbedder(model, output_dtype="float64")
    with pytest.raises(ValueError, match=r"no preset .* Received: 'nowhere'"):
        ArrowEmbedder("nowhere").schema(table.schema)


@pytest.mark.parametrize("lists", [pa.ListArray, pa.LargeListArray])
def test_a_token_that_is_not_utf8_costs_its_row_alone(model, elmo, lists):
    tokens = pa.array(
        [[b"fine"], [b"ok", b"not\xff"], [b"\xc3\xa9"]], pa.list_(pa.binary())
    )
    kind = pa.int64() if lists is pa.LargeListArray else pa.int32()
    strings = tokens.values.view(pa.string())
    rows = lists.from_arrays(tokens.offsets.cast(kind), strings)
    found = ArrowEmbedder(model, layers="top")(pa.table({"tokens": rows}))
    error = r"token b'not\xff' is not UTF-8"
    assert found["error"].to_pylist() == [None, error, None]
    assert found["num_tokens"].to_pylist() == [1, None, 1]
    expected = ElmoEmbedder(elmo, "top").embed_sentence(["\u00e9"])
    row = np.array(found["vectors"][2].as_py(), "float32")
    np.testing.assert_allclose(row, expected[0], 1e-5)


def test_the_text_of_the_docs_becomes_a_table(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part00.txt").write_text("One sentence .\n\n")
    run_blocks([b for b in read_blocks("docs/corpus.md") if "part00" in b])
    found = ArrowEmbedder(model)(pq.read_table("corpus/part00.parquet"))
    assert found["id"].to_pylist() == ["part00:0", "part00:1"]
    assert found["num_tokens"].to_pylist() == [3, 0]


def test_a_csv_file_of_the_docs_gets_a_vector_for_each_row(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "titles.csv").write_text('title\nIt rains. Why?\nNA\n""\n')
    blocks = [b for b in read_blocks("docs/corpus.md") if "titles" in b]
    names = run_blocks([b.replace("10_000", "2") for b in blocks])
    assert names["cosines"].shape == (2,)  # Not the empty one.
    found = pq.read_table("titles")
    assert found["row"].to_pylist() == [0, 1, 2]
    assert found["tokens"].to_pylist()[0] == ["It", "rains", ".", "Why", "?"]
    assert found["num_tokens"].to_pylist() == [5, 1, 0]
    assert not np.any(found["vectors"].to_pylist()[2])
