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

import numpy as np
import tensorflow as tf

_PATH = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+))?:predict$")


@contextlib.contextmanager
def serve(**folders):
    """Yields the URL of the server.

    Args:
        folders: Maps the name of a model to the path of a version folder.
    """
    models = {
        name: (os.path.basename(folder), tf.saved_model.load(folder))
        for name, folder in folders.items()
    }

    class Handler(_Handler):
        def find(self, name, version):
            found, model = models.get(name, (None, None))
            if found is None or version not in (None, found):
                wanted = f"Specific({name}, {version})" if version else name
                raise LookupError(f"Servable not found for request: {wanted}")
            return model.signatures

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            match = _PATH.match(self.path)
            if match is None:
                raise LookupError("Malformed request")
            signatures = self.find(*match.groups())
            self._send(200, _predict(signatures, json.loads(body)))
        except LookupError as error:
            self._send(404, {"error": error.args[0]})
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            self._send(400, {"error": str(error)})

    def _send(self, status, answer):
        body = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def _predict(signatures, request):
    signature = signatures[request.get("signature_name", "serving_default")]
    specs = signature.structured_input_signature[1]
    in_rows = "instances" in request
    if in_rows == ("inputs" in request):
        raise ValueError("expecting one of 'inputs' or 'instances'")
    columns = _columns(request["instances"], specs) if in_rows else None
    columns = columns or _named(request.get("inputs"), specs)
    inputs = {
        name: _tensor(columns[name], spec.dtype) for name, spec in specs.items()
    }
    outputs = {
        name: _decode(value.numpy().tolist())
        for name, value in signature(**inputs).items()
    }
    if not in_rows:
        only = next(iter(outputs.values()))
        return {"outputs": only if len(outputs) == 1 else outputs}
    rows = [dict(zip(outputs, row)) for row in zip(*outputs.values())]
    if len(outputs) == 1:
        rows = [value for row in rows for value in row.values()]
    return {"predictions": rows}


def _columns(instances, specs):
    if all(map(_is_row, instances)):
        return {name: [row[name] for row in instances] for name in specs}
    return _named(instances, specs)


def _named(values, specs):
    if _is_row(values):
        return values
    return {name: values for name in specs}


def _is_row(value):
    return isinstance(value, dict) and set(value) != {"b64"}


def _tensor(values, dtype):
    """Makes a tensor; rejects ragged values."""
    leaves = []
    shape = _flatten(values, leaves)
    array = np.array(leaves, object if dtype == tf.string else dtype.name)
    return tf.constant(array.reshape(shape), dtype)


def _flatten(values, leaves):
    """Appends the leaves; returns the shape."""
    if not isinstance(values, list):
        if isinstance(values, dict):
            values = base64.b64decode(values["b64"], validate=True)
        leaves.append(values)
        return ()
    shapes = {_flatten(value, leaves) for value in values}
    if len(shapes) > 1:
        raise ValueError(f"Encountered list at unexpected size: {shapes}")
    return (len(values), *(shapes.pop() if shapes else ()))


def _decode(value):
    if isinstance(value, list):
        return [_decode(item) for item in value]
    return value.decode("utf-8", "replace") if type(value) is bytes else value
