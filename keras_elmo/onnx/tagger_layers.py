"""Layers that follow an `ElmoLayer`, as ONNX operators."""

import keras
import numpy as np

from keras_elmo.crf.crf import CRF
from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.layers.sentence_pooling import SentencePooling
from keras_elmo.onnx import crf_decoding
from keras_elmo.onnx.elmo_layers import activation_operator
from keras_elmo.onnx.elmo_layers import pool_words
from keras_elmo.onnx.graph_builder import as_array

_DROPOUTS = (
    keras.layers.Dropout,
    keras.layers.SpatialDropout1D,
    keras.layers.GaussianDropout,
    keras.layers.GaussianNoise,
)
_POOLINGS = (
    keras.layers.GlobalAveragePooling1D,
    keras.layers.GlobalMaxPooling1D,
)


class TaggerLayers:
    """Adds layers on tokens `(batch, time, dim)` to a graph, and layers on
    sentences `(batch, dim)`.

    Args:
        graph: `GraphBuilder`.
        mask: Value `(batch, time, 1)`, float32, 0 at padding on the right.
    """

    def __init__(self, graph, mask):
        self._graph = graph
        self._mask = mask
        length = graph.add("ReduceSum", mask, np.array([1]), keepdims=0)
        self._length = graph.cast(length, "int64")

    def add(self, layer, inputs, rank):
        """Returns the values of a layer's outputs, a list.

        Args:
            layer: Keras layer.
            inputs: List of the values of its inputs.
            rank: Integer, the rank of its output.

        Raises:
            ValueError: If the layer cannot be exported.
        """
        builders = {
            keras.layers.Dense: self._dense,
            keras.layers.LSTM: self._lstm,
            keras.layers.Bidirectional: self._bidirectional,
            keras.layers.Concatenate: self._concatenate,
            SentencePooling: self._pool,
            CRF: crf_decoding.crf_scores,
            CRFDecoder: self._decoder,
            **dict.fromkeys(_DROPOUTS, lambda layer, x: x),
        }
        if type(layer) not in builders:
            _fail(layer, f"a layer of class {type(layer).__name__}")
        if getattr(layer, "axis", -1) not in (-1, rank - 1):
            _fail(layer, f"axis={layer.axis}")
        mode = getattr(layer, "quantization_mode", None)
        if mode is not None:
            raise ValueError(
                "For ONNX, a model must not be quantized by Keras: export it "
                "before `quantize` is called. "
                f"Received: layer '{layer.name}' in mode {mode!r}"
            )
        found = builders[type(layer)](layer, *inputs)
        return found if type(found) is list else [found]

    def _dense(self, layer, x):
        x = self._graph.add("MatMul", x, layer.kernel)
        if layer.use_bias:
            x = self._graph.add("Add", x, layer.bias)
        name = keras.activations.serialize(layer.activation)
        if name == "linear":
            return x
        if name == "softmax":
            return self._graph.add("Softmax", x, axis=-1)
        return self._graph.add(activation_operator(layer.activation), x)

    def _concatenate(self, layer, *inputs):
        return self._graph.add("Concat", *inputs, axis=-1)

    def _pool(self, layer, x):
        return pool_words(self._graph, x, self._mask, layer.mode)

    def _lstm(self, layer, x):
        return self._run_lstms([layer], x, "forward")

    def _bidirectional(self, layer, x):
        both = [layer.forward_layer, layer.backward_layer]
        if {type(lstm) for lstm in both} != {keras.layers.LSTM}:
            _fail(layer, "a layer other than LSTM in it")
        if layer.merge_mode != "concat":
            _fail(layer, f"merge_mode={layer.merge_mode!r}")
        units = [lstm.units for lstm in both]
        if len(set(units)) > 1:
            _fail(layer, f"directions of {units} units")
        return self._run_lstms(both, x, "bidirectional")

    def _run_lstms(self, lstms, x, direction):
        for lstm in lstms:
            _check_lstm(lstm, is_backward=lstm is not lstms[0])
        graph, units = self._graph, lstms[0].units
        length = graph.add("Squeeze", self._length, np.array([1]))
        # ONNX' `LSTM` accepts neither empty sentences nor empty batches. So the
        # length is at least 1, and a sentence is added and later removed.
        length = graph.add("Pad", length, np.array([0, 1]))
        length = graph.add("Max", length, np.int64(1))
        x = graph.add("Pad", x, np.array([0, 0, 0, 1, 0, 0]))
        x = graph.add("Transpose", x, perm=[1, 0, 2])  # (time, batch, dim)
        y, *_ = graph.add(
            "LSTM",
            x,
            *map(np.stack, zip(*map(_lstm_arrays, lstms))),
            graph.cast(length, "int32"),
            num_outputs=3,
            hidden_size=units,
            direction=direction,
        )  # (time, directions, batch, units)
        y = graph.add("Transpose", y, perm=[2, 0, 1, 3])
        y = graph.cut(y, 0, 1, axis=0)
        width = np.array([len(lstms) * units])
        shape = graph.add("Concat", graph.sizes(y, 0, 2), width, axis=0)
        return graph.add("Reshape", y, shape, allowzero=1)

    def _decoder(self, layer, scores):
        scores = crf_decoding.constrained(scores, layer)
        return crf_decoding.decode(
            self._graph, scores, layer, self._mask, self._length
        )


def _check_lstm(lstm, is_backward):
    """Raises `ValueError` if ONNX' `LSTM` cannot compute the same."""
    for name, expected in (
        ("return_sequences", True),
        ("return_state", False),
        ("stateful", False),
        ("go_backwards", is_backward),
        ("activation", keras.activations.tanh),
        ("recurrent_activation", keras.activations.sigmoid),
    ):
        value = getattr(lstm, name)
        if value != expected:
            _fail(lstm, f"{name}={getattr(value, '__name__', value)}")


def _lstm_arrays(lstm):
    """Returns an LSTM's kernels `(4 * units, dim)` and bias `(8 * units,)`."""
    cell = lstm.cell
    bias = np.zeros(4 * lstm.units, "float32")
    if lstm.use_bias:
        bias = as_array(cell.bias)

    def gates(array):
        """Converts Keras' order (i, f, c, o) to that of ONNX (i, o, f, c)."""
        i, f, c, o = np.split(array, 4, axis=-1)
        return np.concatenate([i, o, f, c], axis=-1)

    return (
        gates(as_array(cell.kernel)).T,
        gates(as_array(cell.recurrent_kernel)).T,
        np.concatenate([gates(bias), np.zeros_like(bias)]),
    )


def _fail(layer, received):
    advice = "Use `export_saved_model` for other models."
    if isinstance(layer, keras.Model):
        advice = "Call the layers of the model inside the model one by one."
    elif isinstance(layer, _POOLINGS):
        advice = "Use `SentencePooling` in its place."
    raise ValueError(
        "For ONNX, the layers after an `ElmoLayer` and `WordVectors` must be "
        "Dense, LSTM, Bidirectional, Concatenate and dropout layers, "
        "`SentencePooling`, `CRF` and `CRFDecoder`, on whole sentences. "
        f"{advice} Received: layer '{layer.name}' with {received}"
    )
