"""Makes the files that docs/gallery.md loads: models and onnxruntime-web."""

import json
import shutil
import subprocess
import tarfile

import numpy as np
import onnx
from onnx import helper
from onnx import numpy_helper

import keras_elmo

RUNTIME = "onnxruntime-web-1.30.0"
FILES = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
BLOCK_SIZE = 64


def build(folder, cache):
    """Writes the files into a folder.

    Args:
        folder: `Path` of the folder, part of the site.
        cache: `Path` of a folder that keeps what npm downloaded.

    Returns:
        What is missing, as HTML, or an empty string.
    """
    shutil.rmtree(folder, ignore_errors=True)
    missing = _download(cache)
    if missing:
        return missing
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copy(cache / RUNTIME / name, folder)
    elmo = keras_elmo.ElmoLayer.from_preset("english_mini")
    taggers = {
        "tagger": keras_elmo.Tagger.load("english_pos"),
        "namer": keras_elmo.Tagger.load("english_names"),
    }
    models = {name: tagger.model for name, tagger in taggers.items()}
    for name, model in {"elmo": elmo, **models}.items():
        keras_elmo.export_onnx(model, folder / f"{name}.onnx")
        pack(folder / f"{name}.onnx")
    labels = {name: tagger.tag_names for name, tagger in taggers.items()}
    (folder / "labels.json").write_text(json.dumps(labels))
    return ""


def _download(cache):
    """Fetches onnxruntime-web; returns what is missing."""
    if all((cache / RUNTIME / name).exists() for name in FILES):
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "npm, a part of Node.js, was not installed"
    (cache / RUNTIME).mkdir(parents=True, exist_ok=True)
    package = RUNTIME.replace("web-", "web@")
    command = [npm, "pack", "--silent", "--fetch-retries=1", package]
    done = subprocess.run(command, cwd=cache, capture_output=True, check=False)
    if done.returncode:
        return f"npm could not download <code>{package}</code>"
    path = cache / f"{RUNTIME}.tgz"
    with tarfile.open(path) as archive:
        for name in FILES:
            content = archive.extractfile(f"package/dist/{name}").read()
            (cache / RUNTIME / name).write_bytes(content)
    path.unlink()
    return ""


def pack(path):
    """Stores the large matrices of an ONNX file in 8 bits.

    Each block of 64 numbers has a scale. onnxruntime unpacks them once, when it
    loads the file: it has no fast 8-bit product for WebAssembly.
    """
    model = onnx.load(path)
    nodes = []
    for tensor in list(model.graph.initializer):
        array, name = numpy_helper.to_array(tensor), tensor.name
        if array.dtype != "float32" or array.size < 2**16:
            continue
        blocks = array.reshape(-1, BLOCK_SIZE)
        scales = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
        parts = {
            "scales": scales,
            "numbers": np.rint(blocks / scales).astype("int8"),
            "shape": np.array(array.shape),
        }
        model.graph.initializer.remove(tensor)
        model.graph.initializer.extend(
            numpy_helper.from_array(part, f"{name}/{key}")
            for key, part in parts.items()
        )
        for operator, inputs, output, attributes in (
            ("Cast", ["numbers"], "/floats", {"to": onnx.TensorProto.FLOAT}),
            ("Mul", ["floats", "scales"], "/blocks", {}),
            ("Reshape", ["blocks", "shape"], "", {}),
        ):
            inputs = [f"{name}/{key}" for key in inputs]
            node = helper.make_node(operator, inputs, [name + output])
            node.attribute.extend(
                helper.make_attribute(*item) for item in attributes.items()
            )
            nodes.append(node)
    nodes += model.graph.node
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, path)
