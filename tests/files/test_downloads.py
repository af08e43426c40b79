import contextlib
import http.server
import json
import os
import threading
import time
import zipfile

import h5py
import pytest
from formats.loopback import use_cache

from keras_elmo.files import fetch
from keras_elmo.files import file_lock
from keras_elmo.files.fetch import download

KINDS = ("file.hdf5", "file.zip", "file.json")
PROCESSES = 3


def content_of(name, folder):
    path = folder / name
    if name.endswith("hdf5"):
        with h5py.File(path, "w") as file:
            file["a"] = range(1000)
    elif name.endswith("zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", bytes(1000))
    else:
        path.write_text(json.dumps({"a": [1] * 100}))
    content = path.read_bytes()
    path.unlink()
    return content


@contextlib.contextmanager
def serve(answer):
    """Serves what `answer` writes, given the handler; yields the base URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            answer(self)
            self.close_connection = True

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()
            thread.join()


def with_length(handler, content, sent):
    handler.send_header("Content-Length", len(content))
    handler.end_headers()
    handler.wfile.write(sent)


def in_chunks(handler, content, sent):
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    half = len(content) // 2
    for chunk in (content[:half], content[half:]):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if sent != content:
            return
    handler.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    use_cache(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache" / "keras_elmo" / "a"


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("way", [with_length, in_chunks])
def test_what_is_cut_short_is_never_there(cache, tmp_path, capsys, way, name):
    content = content_of(name, tmp_path)
    sent = [content[:-1], content[: len(content) // 2], content]

    def answer(handler):
        way(handler, content, sent.pop(0))

    with serve(answer) as root:
        for _ in range(2):
            with pytest.raises(OSError, match="The download of") as info:
                download(f"{root}/{name}", "a", name)
            assert f"put it at {cache / name} and try again" in str(info.value)
            assert os.listdir(cache) == []
        assert download(f"{root}/{name}", "a", name) == str(cache / name)
    assert (cache / name).read_bytes() == content
    assert os.listdir(cache) == [name]
    # Standard output is for what a command was asked for.
    out, err = capsys.readouterr()
    assert out == "" and f"Downloading {root}/{name}" in err


@pytest.mark.parametrize("page", [b"", b"<html>Log in</html>", b"\xff{}"])
def test_what_is_no_model_is_not_kept(cache, page):
    with (
        serve(lambda handler: with_length(handler, page, page)) as root,
        pytest.raises(OSError, match="must be HDF5, a zip or JSON"),
    ):
        download(f"{root}/file", "a", "file")
    assert os.listdir(cache) == []


def slowly(handler):
    handler.send_header("Content-Length", 1000)
    handler.end_headers()
    for _ in range(1000):
        time.sleep(0.01)
        handler.wfile.write(b"{")


def without_end(handler):
    handler.end_headers()
    handler.wfile.write(b"{}")


def endlessly(handler):
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"400\r\n%s\r\n" % bytes(1024))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (slowly, "bytes arrived in 0.1 s"),
        (without_end, "does not say where the file ends"),
        (endlessly, "more than 9,999 bytes"),
    ],
)
def test_no_server_can_hold_a_download(cache, monkeypatch, answer, told):
    def until_closed(handler):
        with contextlib.suppress(ConnectionError):
            answer(handler)

    monkeypatch.setattr(fetch, "_PATIENCE", 0.1)
    monkeypatch.setattr(fetch, "_MOST", 9_999)
    with serve(until_closed) as root, pytest.raises(OSError, match=told):
        download(f"{root}/file.json", "a", "file.json")
    assert os.listdir(cache) == []


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("has_locks", [True, False])
def test_processes_at_a_time(cache, tmp_path, monkeypatch, has_locks):
    content = content_of("file.hdf5", tmp_path)
    all_ask = threading.Barrier(PROCESSES)
    requests = []

    def answer(handler):
        requests.append(handler.path)
        if not has_locks:
            all_ask.wait(30)
        with_length(handler, content, content)

    if not has_locks:
        monkeypatch.setattr(file_lock, "try_lock", lambda *_: None)
    with serve(answer) as root:
        children = []
        for _ in range(PROCESSES):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    path = download(f"{root}/file.hdf5", "a", "file.hdf5")
                    with open(path, "rb") as file:
                        status = int(file.read() != content)
                finally:
                    os._exit(status)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert len(requests) == (1 if has_locks else PROCESSES)
    assert os.listdir(cache) == ["file.hdf5"]


def test_where_the_cache_cannot_be_written(tmp_path, monkeypatch):
    use_cache(monkeypatch, tmp_path / "file")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="KERAS_HOME chooses another folder"):
        download("http://127.0.0.1/file.json", "a", "file.json")
