"""The embedder on Spark: two workers on this machine."""

import importlib.util
import shutil
import sys

import pyarrow.parquet as pq
import pytest
from cluster.cluster_corpus import Killer
from cluster.cluster_corpus import check_refusals
from cluster.cluster_corpus import check_rows
from cluster.cluster_corpus import kill_when
from cluster.cluster_corpus import rows_of
from cluster.cluster_corpus import times_of
from cluster.cluster_corpus import write_corpus
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


def test_a_job_that_is_killed_and_whose_workers_are_killed(
    program, elmo, shared, tmp_path
):
    tokens = write_corpus(tmp_path / "in", shared, 1500, 4)
    out = tmp_path / "out"
    arguments = [str(tmp_path / "in"), str(out), "--portions", "4"]
    kill_when("spark_embed.py", arguments, lambda: any(out.glob("*.parquet")))
    kept = times_of(out.glob("*.parquet"))
    with Killer(
        r"pyspark.*(daemon|worker)", 2, lambda: any(out.glob("_temp*/0/*/*"))
    ) as killer:
        assert not program.main(arguments)
    assert len(killer.killed) == 2
    check_rows(rows_of(out), tokens, elmo)
    assert times_of(kept) == kept

    # Run again, the job adds nothing, and other vectors are refused.
    assert not program.main(arguments)
    assert pq.read_table(out, columns=["id"]).num_rows == len(tokens)
    assert "made with" in program.main([*arguments, "--sentence-vectors"])
    assert pq.read_table(out, columns=["id"]).num_rows == len(tokens)


def test_the_pipeline_of_the_docs(program, elmo, shared, tmp_path, monkeypatch):
    from pyspark.sql import SparkSession

    monkeypatch.chdir(tmp_path)
    tokens = write_corpus(tmp_path / "whole", shared, 200, 4)
    table = pq.read_table(tmp_path / "whole")
    (tmp_path / "corpus").mkdir()
    pq.write_table(table.drop_columns("source"), "corpus/all.parquet")
    with SparkSession.builder.master("local[2,20]").getOrCreate() as spark:
        # Java stays in the folder in which it was started.
        (block,) = (b for b in read_blocks("docs/corpus.md") if "spark." in b)
        for name in ("corpus", "vectors"):
            block = block.replace(f'"{name}"', f'"{tmp_path / name}"')
        run_blocks([block], {"spark": spark})
    check_rows(rows_of("vectors"), tokens, elmo)


def test_what_no_worker_can_do_is_told_once(program, shared, tmp_path):
    check_refusals(program.main, tmp_path, shared)
