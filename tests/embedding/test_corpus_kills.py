"""Jobs that are killed at any moment."""

import os

import pytest
from embedding.small_corpus import Embedder
from embedding.small_corpus import check
from embedding.small_corpus import num_finished
from embedding.small_corpus import run
from kill_points import kill_points


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch):
    """Forces nothing to the disk: only a crash of the system needs that."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def points_of(output, **kwargs):
    """Runs a job to its end; returns its points."""

    def job(point):
        def embed(sentences):
            for vectors in Embedder()(sentences):
                point("embedded")
                yield vectors

        run(output, embed=embed, on_merge=lambda _: point("merged"), **kwargs)

    return kill_points(job, output.parent)


@pytest.mark.parametrize(
    "suffix, old", [(".hdf5", None), (".npz", None), (".hdf5", b"old")]
)
def test_a_kill_at_any_point_does_no_harm(tmp_path, suffix, old):
    output = tmp_path / f"vectors{suffix}"
    if old:
        output.write_bytes(old)
    points = points_of(output, overwrite=bool(old))
    check(output)
    whole = output.read_bytes()
    # What a kill left half written is among it.
    names = {os.path.basename(name) for x in points for name in x.files}
    assert {".output.keras_elmo", ".job.json.keras_elmo"} < names
    for point in points:
        point.restore(tmp_path)
        finished = num_finished(output)
        found = output.read_bytes() if output.exists() else None
        assert found in (old, whole)
        embed = Embedder()
        if found and not (finished or old):
            # Everything except the folder was already removed.
            with pytest.raises(FileExistsError):
                run(output, embed=embed)
        else:
            done, kept = run(output, embed=embed, overwrite=bool(old))
            assert (done[0], kept[0]) == (40, finished)
            assert embed.num_read == 40 - finished
        assert output.read_bytes() == whole
        assert os.listdir(tmp_path) == [output.name]


def restore_finished(points, output, more_than):
    """Restores the first point with more sentences finished, or the last."""
    for point in points:
        point.restore(output.parent)
        if num_finished(output) > more_than:
            break
    return num_finished(output)


def test_a_job_that_is_killed_again_and_again_gets_done(tmp_path):
    output, finished = tmp_path / "vectors.hdf5", [0]
    while not output.exists():
        points = points_of(output)
        finished.append(restore_finished(points, output, finished[-1]))
    check(output)
    assert finished[-2:] == [40, 0] and len(finished) > 10


def test_a_kill_of_a_job_that_starts_over(tmp_path):
    output = tmp_path / "vectors.hdf5"
    assert restore_finished(points_of(output), output, 20) < 40
    for point in points_of(output, restart=True)[:20]:
        point.restore(tmp_path)
        run(output, restart=True)
        check(output)
