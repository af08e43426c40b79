"""A web server on this machine, for the tests of downloads."""

import contextlib
import functools
import http.server
import socket
import threading


@contextlib.contextmanager
def serve(folder, answer=None):
    """Serves the files of a folder; or what `answer`, given the handler,
    sends after the status. Yields the server: its `requests` are the paths that
    were asked for, and `url` makes a URL of a path.
    """

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1" if answer else "HTTP/1.0"

        def do_GET(self):
            httpd.requests.append(self.path)
            if answer is None:
                super().do_GET()
                return
            self.send_response(200)
            answer(self)
            self.close_connection = True

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=folder)
    ) as httpd:
        httpd.requests = []
        httpd.root = f"http://127.0.0.1:{httpd.server_port}"
        httpd.url = f"{httpd.root}/{{}}".format
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield httpd
        finally:
            httpd.shutdown()
            thread.join()


def closed_port():
    """Returns a URL at which no server listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def use_cache(monkeypatch, folder):
    """Sets `folder` as the cache, and uses no proxy for this machine."""
    monkeypatch.setenv("KERAS_HOME", str(folder))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
