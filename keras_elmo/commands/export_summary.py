"""The summary that `keras-elmo export` prints."""

import itertools
import os
import pathlib


def print_summary(folder):
    """Prints the signatures of a SavedModel, and a hint at its name.

    Args:
        folder: Path of the SavedModel.
    """
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    content = pathlib.Path(folder, "saved_model.pb").read_bytes()
    saved = saved_model_pb2.SavedModel.FromString(content)
    signatures = saved.meta_graphs[0].signature_def
    files = [x for x in pathlib.Path(folder).rglob("*") if x.is_file()]
    size = sum(file.stat().st_size for file in files)
    print(f"'{folder}' is a SavedModel, {size / 1e6:,.2f} MB.")
    print("\nInputs by signature:")
    for name, signature in sorted(signatures.items()):
        if signature.inputs:  # TensorFlow adds one without.
            print(f"  {name}: {', '.join(sorted(signature.inputs))}")
    print("Outputs:")
    # This signature has the outputs of the others.
    for name, output in sorted(signatures["default"].outputs.items()):
        axes = itertools.chain(["batch", "time"], itertools.repeat("?"))
        sizes = [axis.size for axis in output.tensor_shape.dim]
        sizes = [a if n < 0 else n for n, a in zip(sizes, axes)]
        _print_tensor(name, tf.as_dtype(output.dtype).name, sizes)
    if not os.path.basename(os.path.abspath(folder)).isdecimal():
        print("TensorFlow Serving needs a version number as its name.")


def print_onnx_summary(path):
    """Prints the inputs and outputs of an ONNX file."""
    import onnx

    graph = onnx.load(path).graph
    print(f"'{path}' is an ONNX model, {os.path.getsize(path) / 1e6:,.2f} MB.")
    for title, values in (
        ("\nInputs:", graph.input),
        ("Outputs:", graph.output),
    ):
        print(title)
        for value in values:
            tensor = value.type.tensor_type
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            axes = tensor.shape.dim
            sizes = [axis.dim_param or axis.dim_value for axis in axes]
            _print_tensor(value.name, dtype, sizes)


def _print_tensor(name, dtype, sizes):
    print(f"  {name}: {dtype} ({', '.join(map(str, sizes))})")
