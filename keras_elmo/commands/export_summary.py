"""The summary that `keras-elmo export` prints."""

import os
import shlex
import urllib.parse

from keras_elmo.formats.saved_models import read_signatures

_DEFAULT = "serving_default"


def print_summary(folder):
    """Prints the signatures of a SavedModel, and how to serve it.

    Args:
        folder: Path of the version's folder.
    """
    signatures = {
        name: signature
        for name, signature in read_signatures(folder).items()
        if signature.inputs
    }
    default = signatures.pop(_DEFAULT)
    print(f"'{folder}' is a SavedModel, {_size(folder) / 1e6:,.2f} MB.")
    print("\nInputs by signature:")
    for name in sorted(signatures):
        inputs = signatures[name].inputs
        is_default = inputs.keys() == default.inputs.keys()
        text = ", ".join(_describe(key, inputs[key]) for key in sorted(inputs))
        note = "  <- if a request names none" if is_default else ""
        print(f"  {name:13}  {text}{note}")
    print("Outputs:")
    outputs = {}
    for name in sorted(signatures):
        for key, output in signatures[name].outputs.items():
            outputs.setdefault(key, (output, []))[1].append(name)
    for key in sorted(outputs):
        output, names = outputs[key]
        in_all = len(names) == len(signatures)
        note = "" if in_all else f"  <- only from signature {names[0]}"
        print(f"  {_describe(key, output)}{note}")
    _print_commands(os.path.dirname(folder), "strings" in default.inputs)


def print_onnx_summary(path):
    """Prints the inputs and outputs of an ONNX file, and how to run it."""
    import onnx

    graph = onnx.load(path).graph
    print(f"'{path}' is an ONNX model, {os.path.getsize(path) / 1e6:,.2f} MB.")
    print("\nInputs:")
    print(*map(_describe_onnx, graph.input), sep="\n")
    print("Outputs:")
    print(*map(_describe_onnx, graph.output), sep="\n")
    print("\nTo run it:")
    print(f"  session = onnxruntime.InferenceSession({path!r})")
    names = [value.name for value in graph.output]
    name = "elmo" if "elmo" in names else names[0]
    print(f'  ({name},) = session.run(["{name}"], {{"ids": ids}})')


def _describe_onnx(value):
    import onnx

    tensor = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    shape = ", ".join(
        axis.dim_param or str(axis.dim_value) for axis in tensor.shape.dim
    )
    return f"  {value.name}: {dtype} ({shape})"


def _describe(name, info):
    """Returns a line such as `elmo: float32 (batch, time, 256)`."""
    import tensorflow as tf

    axes = ("batch", "time")
    shape = ", ".join(
        str(axis.size) if axis.size >= 0 else axes[i] if i < 2 else "?"
        for i, axis in enumerate(info.tensor_shape.dim)
    )
    return f"{name}: {tf.as_dtype(info.dtype).name} ({shape})"


def _size(folder):
    return sum(
        os.path.getsize(os.path.join(place, name))
        for place, _, names in os.walk(folder)
        for name in names
    )


def _print_commands(folder, takes_strings):
    folder = os.path.abspath(folder)
    name = os.path.basename(folder)
    mount = shlex.quote(f"{folder}:/models/{name}")
    path = urllib.parse.quote(f"/v1/models/{name}:predict", safe="/:")
    signature = "" if takes_strings else '"signature_name": "default", '
    request = f'{{{signature}"instances": ["First sentence .", "Another ."]}}'
    print("\nTo serve it:")
    print(f"  docker run --rm -p 8500:8500 -p 8501:8501 -v {mount} \\")
    print(f"      -e MODEL_NAME={shlex.quote(name)} tensorflow/serving")
    print("and to query it:")
    print(f"  curl http://localhost:8501{path} \\")
    print(f"      -d '{request}'")
