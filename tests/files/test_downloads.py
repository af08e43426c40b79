import contextlib
import os
import pathlib
import time

import pytest
from formats.loopback import serve
from formats.loopback import use_cache

from keras_elmo.files import fetch
from keras_elmo.files.fetch import download

CONTENT = b'{"a": [1, 2, 3]}'


def with_length(handler, content, sent):
    handler.send_header("Content-Length", len(content))
    handler.end_headers()
    handler.wfile.write(sent)


def in_chunks(handler, content, sent):
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(sent), sent))
    if sent == content:
        handler.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    use_cache(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache" / "keras_elmo" / "a"


@pytest.mark.parametrize("way", [with_length, in_chunks])
def test_what_is_cut_short_is_never_there(cache, capsys, way):
    sent = [CONTENT[:-1], CONTENT]
    path = cache / "file.json"
    told = f"The download of .* put it at {path} and try again"
    with serve(cache, lambda x: way(x, CONTENT, sent.pop(0))) as server:
        url = server.url("file.json")
        with pytest.raises(OSError, match=told):
            download(url, "a", "file.json")
        assert os.listdir(cache) == []
        assert download(url, "a", "file.json") == str(path)
    assert path.read_bytes() == CONTENT
    assert os.listdir(cache) == ["file.json"]
    # Standard output is for what a command was asked for.
    out, err = capsys.readouterr()
    assert out == "" and f"Downloading {url}" in err


def silently(handler):
    handler.send_header("Content-Length", 1000)
    handler.end_headers()
    time.sleep(1)


def without_end(handler):
    handler.end_headers()
    handler.wfile.write(b"{}")


def endlessly(handler):
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"400\r\n%s\r\n" % bytes(1024))


def page(content):
    return lambda handler: with_length(handler, content, content)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (silently, "timed out"),
        (without_end, "does not say where the file ends"),
        (endlessly, "more than 9,999 bytes"),
        (page(b"<html>Log in</html>"), "must be .* but it is a web page"),
        (page(b"\xff{}"), r"must be .* begins with b'\\xff\{\}'"),
    ],
)
def test_what_is_no_model_is_not_kept(cache, monkeypatch, answer, told):
    def until_closed(handler):
        with contextlib.suppress(ConnectionError):
            answer(handler)

    monkeypatch.setattr(fetch, "_PATIENCE", 0.1)
    monkeypatch.setattr(fetch, "_MOST", 9_999)
    with (
        serve(cache, until_closed) as server,
        pytest.raises(OSError, match=told),
    ):
        download(server.url("file.json"), "a", "file.json")
    assert os.listdir(cache) == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_at_a_time(cache):
    with serve(cache, page(CONTENT)) as server:
        children = []
        for _ in range(3):
            child = os.fork()
            if child == 0:
                try:
                    path = download(server.url("file.json"), "a", "file.json")
                    if pathlib.Path(path).read_bytes() == CONTENT:
                        os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert len(server.requests) == 1
    assert os.listdir(cache) == ["file.json"]


def test_where_the_cache_cannot_be_written(tmp_path, monkeypatch):
    use_cache(monkeypatch, tmp_path / "file")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="KERAS_HOME chooses another folder"):
        download("http://127.0.0.1/file.json", "a", "file.json")
