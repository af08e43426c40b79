import json
import os

import h5py
import numpy as np
import pytest
from full_disk import no_file_over

from keras_elmo.embedding.embedding_files import embeddings_writer
from keras_elmo.files.hdf5_files import create_hdf5

TEXTS = ["Two .", "", "\u00e9\u4e2d \U0001f600", "Two .", "a\tb\u2028 c"]


@pytest.fixture(params=[(3,), ()], ids=["layers", "one layer"])
def embeddings(request):
    draw = np.random.default_rng(0).normal
    return [
        (text, draw(size=(*request.param, i, 4)).astype("float32"))
        for i, text in enumerate(TEXTS)
    ]


def write_embeddings(path, embeddings):
    embeddings_writer(path)(path, embeddings)


def check_datasets(file, embeddings):
    for i, (_, vectors) in enumerate(embeddings):
        found = file[str(i)][...]
        np.testing.assert_array_equal(found, vectors, strict=True)


def test_allennlp_users_find_a_sentence_by_its_text(tmp_path, embeddings):
    path = tmp_path / "vectors.hdf5"
    write_embeddings(path, embeddings)
    with h5py.File(path, "r") as file:
        check_datasets(file, embeddings)
        assert set(file) == {"0", "1", "2", "3", "4", "sentence_to_index"}
        assert file["sentence_to_index"].shape == (1,)
        index = json.loads(file["sentence_to_index"][0])
        # Of equal sentences, the last one, as in AllenNLP.
        assert index == {text: str(i) for i, text in enumerate(TEXTS)}
        assert index["Two ."] == "3"


def test_numpy_users_need_no_pickle(tmp_path, embeddings):
    path = tmp_path / "vectors.npz"
    write_embeddings(path, iter(embeddings))
    with np.load(path, allow_pickle=False) as file:
        check_datasets(file, embeddings)
        assert file.files == ["0", "1", "2", "3", "4", "sentences"]
        assert json.loads(file["sentences"].tobytes()) == TEXTS


@pytest.mark.parametrize("suffix", [".hdf5", ".npz"])
def test_a_full_disk_is_told(tmp_path, suffix):
    written = []

    def endless():
        for i in range(10_000):
            written.append(i)
            yield "a", np.zeros((10, 50), "float32")

    with no_file_over(200_000), pytest.raises(OSError, match="too large"):
        write_embeddings(tmp_path / f"vectors{suffix}", endless())
    assert 10 < len(written) < 200
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_at_the_end(tmp_path):
    with (
        no_file_over(200_000),
        pytest.raises(OSError, match="too large"),
        create_hdf5(tmp_path / "file") as (store, _),
    ):
        store.create_dataset("a", data=np.zeros(100_000))


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "vectors.hdf5", []
    fsync, replace = os.fsync, os.replace

    def record(handle):
        status = os.fstat(handle)
        synced.append((status.st_ino, status.st_size))
        fsync(handle)

    def check_and_replace(source, target):
        status = os.stat(source)
        assert synced == [(status.st_ino, status.st_size)]
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(os, "replace", check_and_replace)
    write_embeddings(path, [("a", np.zeros((1, 2)))])
    assert [x for x, _ in synced[1:]] == [tmp_path.stat().st_ino]


def test_what_a_name_tells(tmp_path):
    for name in ("a.h5", "a.HDF5"):
        write_embeddings(tmp_path / name, [])
        assert h5py.is_hdf5(tmp_path / name)
    for name in ("npz", "a.hdf5/b"):
        with pytest.raises(ValueError, match=f"in .* Received: '{name}'"):
            embeddings_writer(name)
