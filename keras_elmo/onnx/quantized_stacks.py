"""The two LSTM stacks with 8-bit weights, for many rows at a time."""

import functools

import numpy as np
import onnxruntime

from keras_elmo.onnx.elmo_layers import run_directions
from keras_elmo.onnx.graph_builder import GraphBuilder
from keras_elmo.onnx.products import column_product
from keras_elmo.ops.backends import backend


class QuantizedStacks:
    """Runs the stacks of a `BiLMEncoder` with onnxruntime, in 8 bits.

    Args:
        encoder: A built `BiLMEncoder`. Its weights are read once, here.
    """

    def __init__(self, encoder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _num_threads()
        # Spinning threads would take processor time from others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._num_layers = encoder.num_layers
        self._session = onnxruntime.InferenceSession(
            _stacks_model(encoder).SerializeToString(), options
        )

    def __call__(self, forward, backward, carries_on):
        """Runs both stacks, each on its own tokens.

        Args:
            forward: float32 array `(steps, rows, features)`, the tokens of the
                forward stack in reading order.
            backward: The same for the backward stack.
            carries_on: Boolean array `(steps, rows, 1)`, `False` where a
                sentence starts.

        Returns:
            For each layer the list of the two stacks' outputs, float32 arrays
            `(steps, rows, projection_dim)`.
        """
        outputs = self._session.run(
            None,
            {
                "forward": forward,
                "backward": backward,
                "carries_on": carries_on.astype("float32"),
            },
        )
        return [outputs[2 * k : 2 * k + 2] for k in range(self._num_layers)]


def _stacks_model(encoder):
    graph = GraphBuilder()
    product = functools.partial(column_product, is_signed=not _saturates())
    features = encoder.forward_cells[0].kernel.shape[0]
    both = ["forward", "backward"]
    inputs = {name: ("float32", ["steps", "rows", features]) for name in both}
    inputs["carries_on"] = ("float32", ["steps", "rows", 1])
    shape = ["steps", "rows", encoder.direction_dim]
    outputs = {}
    stacks = run_directions(graph, encoder, both, product, "carries_on")
    for k, values in enumerate(stacks):
        for direction, value in zip(both, values):
            outputs[f"{direction}_{k}"] = (value, "float32", shape)
    return graph.model("stacks", inputs, outputs)


@functools.cache
def _saturates():
    """Whether products of signed weights saturate on this processor."""
    x = np.ones((64, 64), "float32")
    graph, spec = GraphBuilder(), ("float32", ["rows", 64])
    y = column_product(graph, x)(graph, "x")
    model = graph.model("product", {"x": spec}, {"y": (y, *spec)})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return bool(np.any(session.run(None, {"x": x})[0] < 63))


def _num_threads():
    """TensorFlow's configured number of threads; 0 means one per core."""
    if backend().name != "tensorflow":
        return 0
    import tensorflow as tf

    return tf.config.threading.get_intra_op_parallelism_threads()
