"""A SavedModel over HTTP, in the format of TensorFlow Serving's REST API.

It answers `POST /v1/models/NAME[/versions/N]:predict` through
`tf.saved_model.load`, in rows and in columns, with `{"b64": ...}` for bytes.
The format is described at https://www.tensorflow.org/tfx/serving/api_rest
"""

import base64
import contextlib
import http.server
import json
import os
import re
import threading

import tensorflow as tf

_PATH = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+))?:predict$")


@contextlib.contextmanager
def serve(**folders):
    """Yields the URL of the server.

    Args:
        folders: Maps the name of a model to the path of a version folder.
    """
    models = {}
    for name, folder in folders.items():
        signatures = tf.saved_model.load(folder).signatures
        for version in (None, os.path.basename(folder)):
            models[name, version] = signatures

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            key = _PATH.match(self.path).groups()
            try:
                request = json.loads(body, object_hook=_with_bytes)
                self.reply(200, _predict(models[key], request))
            except KeyError:
                told = f"Servable not found for request: Specific{key}"
                self.reply(404, {"error": told})
            except (ValueError, tf.errors.InvalidArgumentError) as error:
                self.reply(400, {"error": str(error)})

        def reply(self, status, answer):
            self.send_response(status)
            self.end_headers()
            text = json.dumps(answer, ensure_ascii=False, default=_decode)
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _predict(signatures, request):
    signature = signatures[request["signature_name"]]
    specs = signature.structured_input_signature[1]
    in_rows = "instances" in request
    if in_rows:
        rows = request["instances"]
        columns = {name: [row[name] for row in rows] for name in specs}
    else:
        columns = request["inputs"]
    inputs = {
        name: tf.constant(columns[name], spec.dtype)
        for name, spec in specs.items()
    }
    outputs = signature(**inputs)
    outputs = {name: x.numpy().tolist() for name, x in outputs.items()}
    # The name of the only output is left out.
    only, *others = outputs.values()
    if not in_rows:
        return {"outputs": outputs if others else only}
    rows = [dict(zip(outputs, row)) for row in zip(*outputs.values())]
    return {"predictions": rows if others else only}


def _with_bytes(item):
    return base64.b64decode(item["b64"]) if "b64" in item else item


def _decode(item):
    return item.decode("utf-8", "replace")
