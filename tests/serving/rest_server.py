"""A SavedModel behind `urlopen`, as TensorFlow Serving's REST API has it.

It answers `POST /v1/models/NAME[/versions/N]:predict` through
`tf.saved_model.load`, in rows and in columns, with `{"b64": ...}` for bytes.
The format is described at https://www.tensorflow.org/tfx/serving/api_rest
"""

import base64
import http
import io
import json
import pathlib
import re
import urllib.error
import urllib.request

import tensorflow as tf

URL = "http://served"
_PATH = re.compile(URL + r"/v1/models/([^/:]+)(?:/versions/(\d+))?:predict$")
_ELSEWHERE = urllib.request.urlopen


def opener(**folders):
    """Returns what takes the place of `urllib.request.urlopen`.

    Args:
        folders: Maps the name of a model to the path of a version folder.
    """
    models = {}
    for name, folder in folders.items():
        signatures = tf.saved_model.load(folder).signatures
        for version in (None, pathlib.Path(folder).name):
            models[name, version] = signatures

    def urlopen(request, timeout):
        if not request.full_url.startswith(URL):
            return _ELSEWHERE(request, timeout=timeout)
        key = _PATH.match(request.full_url).groups()
        sent = json.loads(request.data, object_hook=_with_bytes)
        try:
            answer, status = _predict(models[key], sent), 200
        except KeyError:
            told = f"Servable not found for request: Specific{key}"
            answer, status = {"error": told}, 404
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            answer, status = {"error": str(error)}, 400
        text = json.dumps(answer, ensure_ascii=False, default=_decode)
        body = io.BytesIO(text.encode())
        if status == 200:
            return body
        reason = http.HTTPStatus(status).phrase
        raise urllib.error.HTTPError(URL, status, reason, {}, body)

    return urlopen


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
