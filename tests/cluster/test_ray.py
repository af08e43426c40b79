"""The embedder on Ray: a cluster of two workers on this machine."""

import importlib.util

import numpy as np
import pyarrow as pa
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
from small_models import ENGLISH_TINY

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="pip install ray[data]"
    ),
    pytest.mark.exhaustive,
    pytest.mark.filterwarnings("default"),  # Ray emits some itself.
]


@pytest.fixture
def program(examples):
    import ray
    import ray_embed

    yield ray_embed
    ray.shutdown()


def test_a_job_that_is_killed_and_whose_workers_are_killed(
    program, elmo, shared, tmp_path, capfd
):
    import ray

    tokens = write_corpus(tmp_path / "in", shared, 1500, 4)
    out = tmp_path / "out"
    arguments = [str(tmp_path / "in"), str(out), "--rows", "50"]
    kill_when(
        "ray_embed.py", arguments, lambda: len([*out.glob("*.parquet")]) > 3
    )
    kept = times_of(out.iterdir())
    with Killer("^ray::MapBatches", 3) as killer:
        assert not program.main(arguments)
    assert len(killer.killed) == 3
    assert "cuda" not in capfd.readouterr().err  # TensorFlow starts quietly.
    check_rows(rows_of(out), tokens, elmo)
    there = {path for path in kept if path.exists()}
    assert len(there) >= len(kept) - 2  # Those half written are removed.
    assert times_of(there).items() <= kept.items()

    # Run again, the job does nothing, and other vectors are refused.
    ray.shutdown()
    finished = times_of(out.iterdir())
    assert not program.main(arguments)
    ray.shutdown()
    assert "made with" in program.main(
        [*arguments, "--model", str(ENGLISH_TINY)]
    )
    assert times_of(out.iterdir()) == finished


def test_the_pipeline_of_the_docs(program, elmo, shared, tmp_path, monkeypatch):
    import ray

    monkeypatch.chdir(tmp_path)
    tokens = write_corpus(tmp_path / "corpus", shared, 200, 4)
    ray.init(num_cpus=2)
    ray.data.DataContext.get_current().checkpoint_config = None
    (block,) = (b for b in read_blocks("docs/corpus.md") if "ray.data" in b)
    run_blocks([block])
    check_rows(rows_of("vectors"), tokens, elmo)

    half = block.replace('"top"', '"top", output_dtype="float16"')
    run_blocks([half.replace('"vectors"', '"half"')])
    found = {row["id"]: row["vectors"] for row in rows_of("vectors")}
    table = pq.read_table("half").drop_columns("tokens")
    assert table.schema.field("vectors").type == pa.list_(pa.float16())
    for row in table.to_pylist():
        if row["vectors"] is not None:
            half = np.array(row["vectors"], "float32")
            np.testing.assert_allclose(half, found[row["id"]], 2**-10, 1e-6)


def test_what_no_worker_can_do_is_told_once(program, shared, tmp_path):
    import ray

    def main(arguments):
        ray.shutdown()
        return program.main(arguments)

    check_refusals(main, tmp_path, shared)
