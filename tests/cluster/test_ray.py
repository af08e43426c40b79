"""The embedder on Ray: a cluster of two workers on this machine."""

import importlib.util

import numpy as np
import pyarrow as pa
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


def test_a_corpus_whose_workers_are_killed(
    program, elmo, shared, tmp_path, capsys
):
    import ray

    tokens = write_shards(tmp_path / "in", shared, 5000, 20)
    out = tmp_path / "out"
    arguments = [str(tmp_path / "in/*.parquet"), str(out)]
    with Killer("ray::embed_shard", 10, out) as killer:
        assert program.main(arguments) == 0
    assert len(killer.killed) == 10
    check_shards(out, tokens, elmo)
    counts = capsys.readouterr().out.splitlines()[-1]
    assert "20/20 files" in counts
    assert "'rows': 5000" in counts and "'errors': 2" in counts

    # Run again, the job does only the missing work.
    ray.shutdown()
    (out / "part03.parquet").unlink()
    times = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    assert program.main(arguments) == 0
    assert "'kept': 19" in capsys.readouterr().out.splitlines()[-1]
    for path, time in times.items():
        assert path.stat().st_mtime_ns == time
    check_shards(out, tokens, elmo)


def test_the_pipeline_of_the_docs(program, elmo, shared, tmp_path, monkeypatch):
    import ray

    monkeypatch.chdir(tmp_path)
    tokens = write_shards(tmp_path / "corpus", shared, 200, 4)
    ray.init(num_cpus=2)
    block = read_blocks("docs/cluster.md")[2]
    run_blocks([block])
    found = {}
    for row in ray.data.read_parquet("vectors").iter_rows():
        assert row["id"] not in found
        assert row["source"] == f"line {row['id']}"
        found[row["id"]] = vectors_of(row)
    check_vectors(found, tokens, elmo)

    half = block.replace('"english_mini"', '"english_mini", dtype="float16"')
    run_blocks([half.replace('"vectors"', '"half"')])
    (path, *_) = (tmp_path / "half").glob("*.parquet")
    assert pq.read_schema(path).field("vectors").type == pa.list_(pa.float16())
    rows = ray.data.read_parquet("half").take_all()
    assert sorted(row["id"] for row in rows) == list(range(200))
    for row in rows:
        if row["vectors"] is not None:
            np.testing.assert_allclose(
                vectors_of(row), found[row["id"]], 2**-10, 1e-6
            )


def vectors_of(row):
    if row["vectors"] is None:
        return None
    vectors = np.asarray(row["vectors"], "float32")
    return vectors.reshape(row["num_tokens"], row["width"])


def test_what_no_worker_can_do_is_told_once(program, shared, tmp_path, capsys):
    write_shards(tmp_path / "in", shared, 20, 4)
    arguments = [str(tmp_path / "in/*.parquet"), str(tmp_path / "out")]
    error = program.main([*arguments, "--model", "nowhere"])
    assert "no preset" in error and "Received: 'nowhere'" in error
    assert not any((tmp_path / "out").iterdir())
    with pytest.raises(SystemExit, match="0 files"):
        program.main([str(tmp_path / "*.txt"), str(tmp_path / "out")])
