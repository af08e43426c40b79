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
        self._session = onnxruntime.InferenceSession(
            _layers_model(encoder).SerializeToString(), options
        )

    def __call__(self, table, forward, backward, carries_on, places):
        """Runs both stacks, each on its own tokens.

        Args:
            table: float32 array `(distinct, features)`, the vectors of words.
            forward: int32 array `(steps, rows)`, the words of the forward stack
                in reading order, as rows of `table`.
            backward: The same for the backward stack.
            carries_on: Boolean array `(steps, rows, 1)`, `False` where a
                sentence starts.
            places: int32 array `(words, 4)`: of each word, its row of `table`,
                the steps in which the forward and the backward stack return its
                outputs, and the row in which they do.

        Returns:
            The list of layers, from the vectors of `table` to the top: float32
            arrays `(words, 2 * projection_dim)`.
        """
        inputs = {
            "table": table,
            "forward": forward,
            "backward": backward,
            "carries_on": carries_on.astype("float32"),
            "places": places,
        }
        return self._session.run(None, inputs)


def _layers_model(encoder):
    graph = GraphBuilder()
    product = functools.partial(column_product, is_signed=not _saturates())
    features = encoder.forward_cells[0].kernel.shape[0]
    inputs = {
        "table": ("float32", ["distinct", features]),
        "forward": ("int32", ["steps", "rows"]),
        "backward": ("int32", ["steps", "rows"]),
        "carries_on": ("float32", ["steps", "rows", 1]),
        "places": ("int32", ["words", 4]),
    }
    both = [graph.add("Gather", "table", x) for x in ("forward", "backward")]
    stacks = run_directions(graph, encoder, both, product, "carries_on")
    places = graph.cast("places", "int64")
    word = graph.add("Gather", places, np.array(0), axis=1)
    places = [
        graph.add("Gather", places, np.array([step, 3]), axis=1)
        for step in (1, 2)
    ]
    layers = [[graph.add("Gather", "table", word)] * 2]
    for values in stacks:
        layers.append(
            [graph.add("GatherND", x, i) for x, i in zip(values, places)]
        )
    shape = ["words", 2 * encoder.direction_dim]
    outputs = {
        f"layer_{k}": (graph.add("Concat", *halves, axis=-1), "float32", shape)
        for k, halves in enumerate(layers)
    }
    return graph.model("layers", inputs, outputs)


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
