import codecs
import errno
import json
import pathlib
import random
import re
import zipfile

import pytest
from formats.loopback import serve
from formats.loopback import use_cache
from formats.zips import write_zip
from full_disk import no_file_over
from hdf5_arrays import check_equal
from small_models import ENGLISH_TINY
from small_models import file_arrays
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo.files.fetch import fetch
from keras_elmo.files.model_folder import open_folder
from keras_elmo.formats.bilm_files import open_bilm

OPTIONS = (ENGLISH_TINY / "options.json").read_bytes()
# JSON content, which downloads accept. Other tests use real HDF5 files.
WEIGHTS = b'{"some": "weights"}'
FILES = {"options.json": OPTIONS, "weights.hdf5": WEIGHTS}


def write_files(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def read_both(*args):
    """Returns the options, and the bytes and path of the weight file."""
    files = open_bilm(*(fetch(path, "path") for path in args))
    (path,) = map(pathlib.Path, files.weight_files)
    return files.content, path.read_bytes(), path


def test_two_files_or_a_folder(tmp_path):
    write_files(
        tmp_path, {**FILES, "vocab.txt": b"", "model_options.json": b"?"}
    )
    options, weights = tmp_path / "options.json", tmp_path / "weights.hdf5"
    expected = json.loads(OPTIONS), WEIGHTS, weights
    assert read_both(str(options), weights) == expected
    assert read_both(tmp_path) == read_both(str(tmp_path)) == expected


@pytest.mark.parametrize(
    "names",
    [
        "options.json weights.hdf5 embeddings.hdf5",
        "options.json mine.hdf5 softmax.hdf5 token_embeddings.hdf5 "
        "elmo_token_embeddings.hdf5 training_state.hdf5",
        # As in the NLPL repository and simple_elmo.
        "options.json model.hdf5 other.hdf5 meta.json vocab.txt",
        # As published by AllenNLP.
        "elmo_small_options.json elmo_small_weights.hdf5",
    ],
)
def test_weights_are_told_from_other_hdf5_files(tmp_path, names):
    options, weights, *others = names.split()
    files = {options: OPTIONS, weights: WEIGHTS}
    files |= dict.fromkeys(others, b"")
    assert read_both(write_files(tmp_path / "model", files))[1] == WEIGHTS
    assert read_both(write_zip(tmp_path / "zip", files))[1] == WEIGHTS


def test_no_more_of_a_zip_is_unpacked_than_is_read(tmp_path):
    files = {f"a/b/{name}": content for name, content in FILES.items()}
    # As a Mac makes it.
    files |= {f"__MACOSX/{name}": b"\0\5\x16\7" for name in files}
    others = "a/b/", "a/corpus.txt", "a/b/training_state.hdf5", "vocab.txt"
    files |= dict.fromkeys(others, b"")
    path = tmp_path / "model.zip"
    opened = open_bilm(write_zip(path, files, compression=zipfile.ZIP_DEFLATED))
    assert opened.content == json.loads(OPTIONS)
    folder = pathlib.Path(opened.weight_files[0]).parent
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == FILES
    assert not [x for x in folder.parents[1].rglob("*.txt") if x.is_file()]
    del opened
    assert not folder.exists()


def test_a_full_disk_is_not_a_broken_zip(tmp_path):
    path = write_zip(tmp_path / "model.zip", FILES)
    told = r"unpack 'options\.json' in the temporary folder .* TMPDIR"
    limit = no_file_over(len(WEIGHTS) - 1)
    with limit, pytest.raises(OSError, match=told) as info:
        read_both(path)
    assert info.value.errno == errno.EFBIG


def test_missing_files(tmp_path):
    nowhere = str(tmp_path / "nowhere")
    for files, told in (
        ([nowhere], f"There is no file or directory '{nowhere}'"),
        ([nowhere, nowhere], f"There is no options file '{nowhere}'"),
    ):
        with pytest.raises(FileNotFoundError, match=told):
            read_both(*files)


@pytest.mark.parametrize(
    ("names", "what", "received"),
    [
        ("weights.hdf5", "an options file", "weights.hdf5"),
        ("a.hdf5 b.hdf5 options.json", "a '.hdf5'", "a.hdf5 b.hdf5"),
        ("options.json softmax.hdf5", "a '.hdf5'", "options.json softmax.hdf5"),
    ],
)
def test_one_of_each_is_needed(tmp_path, names, what, received):
    files = dict.fromkeys(names.split(), b"{}")
    folder = write_files(tmp_path / "model", files)
    archive = write_zip(tmp_path / "model.zip", files)
    for path in (folder, archive):
        with pytest.raises(ValueError, match="and only one") as info:
            read_both(path)
        assert str(info.value).startswith(f"'{path}' must contain {what}")
        assert f"Received: {received.split()}" in str(info.value)


BIG = {**FILES, "weights.hdf5": random.Random(0).randbytes(100_000)}
TWO = [f"{model}/{name}" for model in "ab" for name in FILES]
OUTSIDE = [
    *("../evil", "model/../../evil", "/evil", "\\evil", "..\\evil"),
    *("C:\\evil", "C:/evil"),
]


@pytest.mark.parametrize(
    ("files", "damage", "message"),
    [
        *(({name: ""}, bytes, f"Received: {name!r}") for name in OUTSIDE),
        (dict.fromkeys(TWO, "{}"), bytes, "['a/options.json', 'b/options"),
        (BIG, lambda content: b"PK", "which is no archive, or a truncated one"),
        (BIG, lambda content: b"{}", "OPTIONS --weights WEIGHTS. Received"),
        (BIG, lambda content: content[10:], "cannot be read"),
        (BIG, lambda x: x.replace(b"PK\1\2", b"\0" * 4), "cannot be read"),
        # Such a zip of 4 KB can unpack to more than 4 GB.
        (FILES, zipfile.ZIP_BZIP2, "deflate, or not at all"),
    ],
)
def test_archives_that_are_refused(tmp_path, files, damage, message):
    path = tmp_path / "model.zip"
    if callable(damage):
        content = write_zip(path, files).read_bytes()
        path.write_bytes(damage(content))
    else:
        write_zip(path, files, compression=damage)
    with pytest.raises(ValueError, match=re.escape(message)) as info:
        read_both(path)
    assert f"'{path}'" in str(info.value)


def test_a_file_that_was_unpacked_in_part_is_not_read(tmp_path):
    path = write_zip(tmp_path / "model.zip", BIG)
    archive = bytearray(path.read_bytes())
    archive[90_000] ^= 1
    path.write_bytes(archive)
    folder = open_folder(path)
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be read"):
            folder.file("weights.hdf5")


def test_arguments_must_be_paths():
    for paths, name in (([3], "options_path"), (["a", 3], "weights_path")):
        told = f"`{name}` must be a path or a URL. Received: 3 "
        with pytest.raises(ValueError, match=told):
            ElmoLayer.from_bilm(*paths)


def test_models_from_the_web(tmp_path, monkeypatch):
    """Two of the same names, each of which is downloaded once."""
    use_cache(monkeypatch, tmp_path / "cache")
    layers = make_elmo(), make_elmo(lstm={"units": 5})
    for i, elmo in enumerate(layers):
        folder = tmp_path / f"{i}"
        folder.mkdir()
        options, weights = folder / "options.json", folder / "weights.hdf5"
        elmo.save_to_bilm(options, weights)
        # The options may start with a byte order mark.
        options.write_bytes(codecs.BOM_UTF8 + options.read_bytes())
        files = {path.name: path.read_bytes() for path in (options, weights)}
        write_zip(folder / "model.zip", files)
    with serve(tmp_path) as server:
        urls = server.url("{}/options.json"), server.url("{}/weights.hdf5?v=2")
        mixed = server.url("1/options.json"), weights
        for i, *paths in (
            *((0, *urls), (1, *urls), (0, *urls), (1, *mixed)),
            (1, server.url("{}/model.zip")),
        ):
            loaded = ElmoLayer.from_bilm(*(str(x).format(i) for x in paths))
            check_equal(file_arrays(loaded), file_arrays(layers[i]))
    assert len(server.requests) == len({*server.requests}) == 5
    found = {path.name for path in tmp_path.glob("cache/keras_elmo/*/*")}
    assert found == {"options.json", "weights.hdf5", "model.zip"}
