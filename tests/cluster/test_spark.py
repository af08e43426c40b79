"""The embedder on Spark: two workers on this machine."""

import importlib.util
import shutil
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from cluster.cluster_corpus import Killer
from cluster.cluster_corpus import check_shards
from cluster.cluster_corpus import check_vectors
from cluster.cluster_corpus import write_shards
from doc_snippets import read_blocks
from doc_snippets import run_blocks

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("pyspark") is None,
        reason="pip install pyspark[sql]",
    ),
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("default"),  # Spark emits some itself.
    pytest.mark.skipif(
        shutil.which("java") is None,
        reason="Spark needs Java, Debian's default-jre-headless for one.",
    ),
]


@pytest.fixture
def program(examples, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    import spark_embed

    return spark_embed


def test_a_corpus_whose_workers_are_killed(
    program, elmo, shared, tmp_path, capsys
):
    tokens = write_shards(tmp_path / "in", shared, 5000, 12)
    out = tmp_path / "out"
    arguments = [str(tmp_path / "in/*.parquet"), str(out)]
    with Killer(r"pyspark.*(daemon|worker)", 3, out) as killer:
        assert not program.main(arguments)
    assert len(killer.killed) == 3
    check_shards(out, tokens, elmo)
    counts = capsys.readouterr().out.splitlines()[-1]
    assert "12 files, {'rows': 5000" in counts and "'errors': 2" in counts

    # Run again, the job does only the missing work.
    (out / "part03.parquet").unlink()
    times = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert not program.main(arguments)
    assert "'kept': 11" in capsys.readouterr().out.splitlines()[-1]
    for path, time in times.items():
        assert path.stat().st_mtime_ns == time
    check_shards(out, tokens, elmo)


def test_the_pipeline_of_the_docs(program, elmo, shared, tmp_path, monkeypatch):
    from pyspark.sql import SparkSession

    monkeypatch.chdir(tmp_path)
    tokens = write_shards(tmp_path / "whole", shared, 200, 4)
    table = pq.read_table(tmp_path / "whole")
    (tmp_path / "corpus").mkdir()
    pq.write_table(table.drop_columns("source"), "corpus/all.parquet")
    with SparkSession.builder.master("local[2,20]").getOrCreate() as spark:
        # Java stays in the folder in which it was started.
        block = read_blocks("docs/cluster.md")[3]
        for name in ("corpus", "vectors"):
            block = block.replace(f'"{name}"', f'"{tmp_path / name}"')
        run_blocks([block], {"spark": spark})
        rows = spark.read.parquet(str(tmp_path / "vectors")).collect()
    found = {}
    for row in rows:
        assert row.id not in found
        found[row.id] = None
        if row.vectors is not None:
            vectors = np.array(row.vectors, "float32")
            found[row.id] = vectors.reshape(row.num_tokens, row.width)
    check_vectors(found, tokens, elmo)


def test_what_spark_cannot_do_is_told(program, shared, tmp_path, capsys):
    write_shards(tmp_path / "in", shared, 20, 4)
    arguments = [str(tmp_path / "in/*.parquet"), str(tmp_path / "out")]
    with pytest.raises(SystemExit):
        program.main([*arguments, "--dtype", "float16"])
    assert "float16" in capsys.readouterr().err
    error = program.main([*arguments, "--model", "nowhere"])
    assert "no preset" in error and "Received: 'nowhere'" in error
    assert not any((tmp_path / "out").iterdir())
