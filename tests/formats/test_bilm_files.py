import errno
import json
import pathlib
import random
import zipfile

import numpy as np
import pytest
from formats.loopback import serve
from formats.loopback import use_cache
from full_disk import no_file_over
from small_models import make_elmo

from keras_elmo import ElmoLayer
from keras_elmo.files.fetch import fetch
from keras_elmo.files.model_folder import open_folder
from keras_elmo.formats.bilm_files import open_bilm

OPTIONS = {
    "lstm": {"dim": 16, "projection_dim": 4},
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 8]],
        "max_characters_per_token": 12,
        "n_characters": 262,
    },
}
# JSON content, which downloads accept. Other tests use real HDF5 files.
WEIGHTS = b'{"some": "weights"}'
FILES = {"options.json": json.dumps(OPTIONS), "weights.hdf5": WEIGHTS}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for downloads, instead of the user's own."""
    use_cache(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def server(tmp_path, cache):
    (tmp_path / "web").mkdir()
    with serve(tmp_path / "web") as server:
        yield server


def write_files(folder, files=FILES):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        if isinstance(content, str):
            content = content.encode()
        (folder / name).write_bytes(content)
    return folder


def write_zip(path, files=FILES, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def read_both(*args):
    """Returns the options, and the bytes and path of the weight file."""
    files = open_bilm(*(fetch(path, "path") for path in args))
    (path,) = map(pathlib.Path, files.weight_files)
    return files.content, path.read_bytes(), path


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_two_paths(tmp_path, kind):
    write_files(tmp_path)
    weights = kind(tmp_path / "weights.hdf5")
    options, content, path = read_both(kind(tmp_path / "options.json"), weights)
    assert options == OPTIONS
    assert content == WEIGHTS
    assert str(path) == str(weights)


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_directory(tmp_path, kind):
    write_files(tmp_path, {**FILES, "vocab.txt": "", "model_options.json": "?"})
    assert read_both(kind(tmp_path))[:2] == (OPTIONS, WEIGHTS)


@pytest.mark.parametrize(
    "files",
    [
        {**FILES, "softmax.hdf5": "", "training_state.hdf5": ""},
        {**FILES, "embeddings.hdf5": ""},
        {
            "options.json": FILES["options.json"],
            "mine.hdf5": WEIGHTS,
            "softmax.hdf5": "",
            "token_embeddings.hdf5": "",
        },
        # As in the NLPL repository and simple_elmo.
        {
            "options.json": FILES["options.json"],
            "model.hdf5": WEIGHTS,
            "other.hdf5": "",
            "meta.json": "{}",
            "vocab.txt": "",
        },
        # As published by AllenNLP.
        {
            "elmo_small_options.json": FILES["options.json"],
            "elmo_small_weights.hdf5": WEIGHTS,
        },
    ],
)
def test_weights_are_told_from_other_hdf5_files(tmp_path, files):
    assert read_both(write_files(tmp_path / "model", files))[1] == WEIGHTS
    assert read_both(write_zip(tmp_path / "zip", files))[1] == WEIGHTS


@pytest.mark.parametrize("kind", [str, pathlib.Path])
@pytest.mark.parametrize("folder", ["", "model/", "a/b/"])
@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]
)
def test_zip(tmp_path, kind, folder, compression):
    files = {folder + name: content for name, content in FILES.items()}
    path = write_zip(tmp_path / "model.zip", files, compression)
    options, content, unpacked = read_both(kind(path))
    assert options == OPTIONS
    assert content == WEIGHTS
    assert not unpacked.parent.exists()


def test_zip_of_a_method_without_a_limit(tmp_path):
    # 4 KB of it can unpack to more than 4 GB.
    path = write_zip(tmp_path / "model.zip", FILES, zipfile.ZIP_BZIP2)
    with pytest.raises(ValueError, match="deflate, or not at all"):
        open_bilm(path)


def test_a_full_disk_is_not_a_broken_zip(tmp_path):
    path = write_zip(tmp_path / "model.zip")
    with no_file_over(len(WEIGHTS) - 1), pytest.raises(OSError) as info:
        read_both(path)
    assert info.value.errno == errno.EFBIG


def test_zip_of_a_mac(tmp_path):
    files = {f"model/{name}": content for name, content in FILES.items()}
    extra = {f"__MACOSX/{name}": b"\0\5\x16\7" for name in files}
    path = write_zip(tmp_path / "model.zip", {"model/": "", **extra, **files})
    assert read_both(path)[:2] == (OPTIONS, WEIGHTS)


def test_zip_of_any_name(tmp_path):
    assert read_both(write_zip(tmp_path / "model"))[0] == OPTIONS


def test_options_may_start_with_a_byte_order_mark(tmp_path):
    options = b"\xef\xbb\xbf" + FILES["options.json"].encode()
    write_files(tmp_path, {**FILES, "options.json": options})
    assert read_both(tmp_path)[0] == OPTIONS


def test_urls_are_downloaded_once(tmp_path, server, cache):
    write_files(tmp_path / "web")
    urls = server.url("options.json"), server.url("weights.hdf5?version=2")
    for _ in range(2):
        options, content, path = read_both(*urls)
        assert options == OPTIONS
        assert content == WEIGHTS
    assert sorted(server.requests) == [
        "/options.json",
        "/weights.hdf5?version=2",
    ]
    assert path.name == "weights.hdf5"
    assert cache in path.parents


def test_url_of_a_zip(tmp_path, server):
    write_zip(tmp_path / "web/model.zip")
    for _ in range(2):
        assert read_both(server.url("model.zip"))[:2] == (OPTIONS, WEIGHTS)
    assert server.requests == ["/model.zip"]


def test_urls_of_one_name_do_not_collide(tmp_path, server):
    for i in range(3):
        write_files(
            tmp_path / f"web/{i}",
            {
                "options.json": json.dumps({**OPTIONS, "model": i}),
                "weights.hdf5": f'{{"of": {i}}}',
            },
        )
    for i in (0, 1, 2, 0):
        options, content, _ = read_both(
            server.url(f"{i}/options.json"), server.url(f"{i}/weights.hdf5")
        )
        assert options["model"] == i
        assert json.loads(content) == {"of": i}


def test_missing_files(tmp_path):
    write_files(tmp_path)
    nowhere = str(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no file or directory") as info:
        read_both(nowhere)
    assert f"'{nowhere}'" in str(info.value)
    with pytest.raises(FileNotFoundError, match="no options file") as info:
        read_both(nowhere, tmp_path / "weights.hdf5")
    assert f"'{nowhere}'" in str(info.value)


@pytest.mark.parametrize("kind", ["directory", "zip"])
@pytest.mark.parametrize(
    "files, what, received",
    [
        ({}, "'options.json'", "[]"),
        ({"weights.hdf5": ""}, "'options.json'", "['weights.hdf5']"),
        ({"options.json": "{}"}, "'.hdf5'", "['options.json']"),
        (
            {"options.json": "{}", "a.hdf5": "", "b.hdf5": ""},
            "'.hdf5'",
            "['a.hdf5', 'b.hdf5']",
        ),
        (
            {"options.json": "{}", "softmax.hdf5": ""},
            "'.hdf5'",
            "['options.json', 'softmax.hdf5']",
        ),
    ],
)
def test_one_of_each_is_needed(tmp_path, kind, files, what, received):
    if kind == "zip":
        path = write_zip(tmp_path / "model.zip", files)
    else:
        path = write_files(tmp_path / "model", files)
    with pytest.raises(ValueError, match="and only one") as info:
        read_both(path)
    message = str(info.value)
    assert message.startswith(f"'{path}' must contain")
    assert what in message
    assert f"Received: {received}" in message


def test_two_models_in_a_zip(tmp_path):
    files = {
        f"{model}/{name}": content
        for model in "ab"
        for name, content in FILES.items()
    }
    path = write_zip(tmp_path / "model.zip", files)
    with pytest.raises(ValueError, match="and only one") as info:
        read_both(path)
    assert "['a/options.json', 'b/options.json']" in str(info.value)


@pytest.mark.parametrize(
    "name",
    [
        "../evil.hdf5",
        "model/../../evil.hdf5",
        "/evil.hdf5",
        "\\evil.hdf5",
        "..\\evil.hdf5",
        "C:\\evil.hdf5",
        "C:/evil.hdf5",
    ],
)
def test_zip_that_leads_out_of_itself(tmp_path, name):
    path = write_zip(
        tmp_path / "model.zip", {"options.json": "{}", name: WEIGHTS}
    )
    with pytest.raises(
        ValueError, match="contains a path outside itself"
    ) as info:
        read_both(path)
    assert str(path) in str(info.value)
    assert f"Received: {name!r}" in str(info.value)


@pytest.mark.parametrize("where", ["start", "contents", "end"])
def test_damaged_zip(tmp_path, where):
    content = {**FILES, "weights.hdf5": b"weights" * 1000}
    path = write_zip(tmp_path / "model.zip", content, zipfile.ZIP_DEFLATED)
    damaged = bytearray(path.read_bytes())
    if where == "start":
        damaged = damaged[10:]
    elif where == "contents":
        place = damaged.index(b"weights.hdf5") + len("weights.hdf5")
        damaged[place : place + 8] = b"\xff" * 8
    else:
        place = damaged.index(b"PK\1\2")
        damaged[place : place + 4] = b"\0" * 4
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="cannot be read") as info:
        read_both(path)
    assert str(path) in str(info.value)


def test_a_file_that_was_unpacked_in_part_is_not_read(tmp_path):
    content = {**FILES, "weights.hdf5": random.Random(0).randbytes(100_000)}
    path = write_zip(tmp_path / "model.zip", content)
    archive = bytearray(path.read_bytes())
    archive[90_000] ^= 1
    path.write_bytes(archive)
    folder = open_folder(path)
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be read"):
            folder.file("weights.hdf5")


@pytest.mark.parametrize("text", ["", "{", "<html>", b"\xff\xfe\xff"])
def test_options_must_be_json(tmp_path, text):
    files = {**FILES, "options.json": text}
    folder = write_files(tmp_path / "model", files)
    archive = write_zip(tmp_path / "model.zip", files)
    for path in (folder, archive):
        with pytest.raises(ValueError, match="is not JSON") as info:
            read_both(path)
        assert f"'{path}/options.json'" in str(info.value)


@pytest.mark.parametrize("wrong", [None, 3, b"options.json", ["options.json"]])
def test_arguments_must_be_paths(tmp_path, wrong):
    with pytest.raises(ValueError, match="`options_path` must be") as info:
        ElmoLayer.from_bilm(wrong)
    assert f"Received: {wrong!r}" in str(info.value)
    if wrong is not None:
        with pytest.raises(ValueError, match="`weights_path` must be") as info:
            ElmoLayer.from_bilm("options.json", wrong)
        assert f"Received: {wrong!r}" in str(info.value)


def test_a_layer_from_the_web(tmp_path, server):
    elmo = make_elmo()
    web = tmp_path / "web"
    options, weights = web / "options.json", web / "weights.hdf5"
    elmo.save_to_bilm(options, weights)
    files = {path.name: path.read_bytes() for path in (options, weights)}
    write_zip(web / "model.zip", files)
    for arguments in (
        (server.url("options.json"), server.url("weights.hdf5")),
        (server.url("options.json"), weights),
        (server.url("model.zip"),),
    ):
        loaded = ElmoLayer.from_bilm(*arguments)
        for name in ("token_encoder", "encoder"):
            expected = getattr(elmo, name).get_weights()
            found = getattr(loaded, name).get_weights()
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
