"""The parts of ELMo as ONNX operators, in the order of the paper."""

import keras
import numpy as np

from keras_elmo.onnx.graph_builder import as_array

_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}


def activation_operator(activation):
    """The operator for a Keras activation.

    Raises:
        ValueError: If the activation is not supported.
    """
    name = keras.activations.serialize(activation)
    if not isinstance(name, str) or name not in _ACTIVATIONS:
        raise ValueError(
            "For ONNX, an activation must be one of "
            f"{sorted(_ACTIVATIONS)}. Received: {name!r}"
        )
    return _ACTIVATIONS[name]


def encode_characters(graph, ids, encoder, make_product):
    """The token encoder, from ids `(words, chars)` to `(words, projection)`.

    Args:
        graph: `GraphBuilder`.
        ids: Value, int32.
        encoder: `CharCNNEmbedding`.
        make_product: Function of `products`.
    """
    ids = without_constant_end(graph, ids, encoder.filters)
    x = embed_characters(graph, ids, encoder)
    x = convolve_and_pool(graph, x, encoder)
    for layer in encoder.highways:
        x = highway(graph, x, layer, make_product)
    if encoder.has_projection:
        weights = encoder.projection_kernel, encoder.projection_bias
        x = dense(graph, x, *weights, make_product)
    return x


def without_constant_end(graph, ids, filters):
    """Cuts off the columns of `(words, chars)` in which all words are constant.

    It leaves one window of each width, as further windows would be equal.
    """
    last = graph.add("Gather", ids, np.array([-1]), axis=1)  # (words, 1)
    differs = graph.add("Not", graph.add("Equal", ids, last))
    differs = graph.cast(differs, "int32")
    differs = graph.add("ReduceMax", differs, np.array([0]))  # (1, chars)
    columns = graph.add("NonZero", differs)
    # There are none if all words are constant.
    columns = graph.add("Concat", np.array([[-1], [-1]]), columns, axis=1)
    length = graph.add("ReduceMax", columns, keepdims=0)
    widest = max(width for width, _ in filters)
    end = graph.add("Add", length, np.array([1 + widest]))
    return graph.add("Slice", ids, np.array([0]), end, np.array([1]))


def embed_characters(graph, ids, encoder):
    """Looks up ids `(words, chars)` -> `(words, chars, embedding_dim)`."""
    table = as_array(encoder.embeddings)
    table = np.pad(table, ((1, 0), (0, 0)))  # Id 0 gives zeros.
    # Negative indices would count from the end: move them out of range.
    is_bad = graph.add("Less", ids, np.int32(0))
    ids = graph.add("Where", is_bad, np.int32(len(table)), ids)
    return graph.add("Gather", table, ids, axis=0)


def convolve_and_pool(graph, x, encoder):
    """`activation(max over positions of conv(x) + bias)` for each width.

    Args:
        graph: `GraphBuilder`.
        x: Value `(words, chars, embedding_dim)`.
        encoder: `CharCNNEmbedding`.

    Returns:
        Value `(words, filters)`.
    """
    x = graph.add("Transpose", x, perm=[0, 2, 1])  # (words, dim, chars)
    pooled = []
    for kernel, bias in zip(encoder.conv_kernels, encoder.conv_biases):
        kernel = np.ascontiguousarray(as_array(kernel).transpose(2, 1, 0))
        y = graph.add("Conv", x, kernel, bias)  # (words, number, positions)
        pooled.append(graph.add("ReduceMax", y, np.array([2]), keepdims=0))
    x = graph.add("Concat", *pooled, axis=1)
    return graph.add(activation_operator(encoder.activation), x)


def highway(graph, x, layer, make_product):
    """A `Highway` on `x` `(..., dim)`."""
    carry = layer.carry_kernel, layer.carry_bias
    gate = graph.add("Sigmoid", dense(graph, x, *carry, make_product))
    transform = layer.transform_kernel, layer.transform_bias
    new = dense(graph, x, *transform, make_product)
    new = graph.add(activation_operator(layer.activation), new)
    change = graph.add("Mul", gate, graph.add("Sub", new, x))
    return graph.add("Add", change, x)


def dense(graph, x, kernel, bias, make_product):
    """`x @ kernel + bias`, for Keras variables."""
    return graph.add("Add", make_product(graph, kernel)(graph, x), bias)


def run_directions(graph, encoder, both, make_product, carries_on=None):
    """The two stacks of the biLM, each on its own tokens.

    Args:
        graph: `GraphBuilder`.
        encoder: `BiLMEncoder`.
        both: The tokens of the forward and of the backward stack, values
            `(time, batch, features)`, each in reading order.
        make_product: Function of `products`.
        carries_on: As for `lstm`.

    Yields:
        For each layer the values of the two stacks' outputs `(time, batch,
        projection)`.
    """
    cells = zip(encoder.forward_cells, encoder.backward_cells)
    state_sizes = encoder.forward_cells[0].state_size
    state = [graph.zero_state(both[0], size) for size in state_sizes]
    for k, pair in enumerate(cells):
        hidden = [
            lstm(graph, x, state, cell, make_product, carries_on)
            for x, cell in zip(both, pair)
        ]
        if encoder.use_skip_connections and k > 0:
            hidden = [graph.add("Add", h, x) for h, x in zip(hidden, both)]
        both = hidden
        yield both


def lstm(graph, x, state, cell, make_product, carries_on=None):
    """One direction of one layer of the biLM.

    Args:
        graph: `GraphBuilder`.
        x: Value `(time, batch, features)`.
        state: The values of `h` and `c`, each `(batch, size)`.
        cell: `ProjectedLSTMCell`.
        make_product: Function of `products`.
        carries_on: Value `(time, batch, 1)`, 0 where a sentence starts and 1
            elsewhere, or `None`. If given, the inputs' contribution to the
            gates is computed step by step, as with many rows a single step is
            enough for a matrix multiply at full speed.

    Returns:
        The value of the outputs `(time, batch, output_size)`.
    """
    kernels = [as_array(cell.kernel), as_array(cell.recurrent_kernel)]
    bias = as_array(cell.bias) + cell.forget_bias
    if carries_on is None:
        from_inputs, from_state = (make_product(graph, k) for k in kernels)
        inputs = [graph.add("Add", from_inputs(graph, x), bias)]
    else:
        from_both = make_product(graph, np.concatenate(kernels), parts=4)
        biases = [graph.constant(part) for part in np.split(bias, 4)]
        inputs = [x, carries_on]
    project = None
    if cell.has_projection:
        kernel = as_array(cell.projection_kernel)
        project = make_product(graph, kernel, is_precise=True)

    def step(body, state, inputs):
        h, c = state
        if carries_on is None:
            gates = body.add("Add", inputs[0], from_state(body, h))
            sizes = np.full(4, cell.units)
            gates = body.add("Split", gates, sizes, axis=1, num_outputs=4)
        else:
            x, goes_on = inputs
            h, c = (body.add("Mul", s, goes_on) for s in (h, c))
            gates = from_both(body, body.add("Concat", x, h, axis=1))
            gates = [body.add("Add", *pair) for pair in zip(gates, biases)]
        h, c = lstm_gates(body, gates, c, cell.cell_clip)
        if project is not None:
            h = clip(body, project(body, h), cell.proj_clip)
        return [h, c], [h]

    _, (outputs,) = graph.scan(step, state, inputs)
    return outputs


def lstm_gates(graph, gates, c, cell_clip):
    """The pointwise part of an LSTM step.

    Args:
        graph: `GraphBuilder`.
        gates: List of four values `(batch, units)`.
        c: Value `(batch, units)`, the cell state.
        cell_clip: Float or `None`.

    Returns:
        The values of the unprojected output and of the new cell state.
    """
    i, j, f, o = gates
    i, f, o = (graph.add("Sigmoid", gate) for gate in (i, f, o))
    j = graph.add("Tanh", j)
    c = graph.add("Add", graph.add("Mul", f, c), graph.add("Mul", i, j))
    c = clip(graph, c, cell_clip)
    return graph.add("Mul", o, graph.add("Tanh", c)), c


def clip(graph, x, limit):
    """Clips to +-`limit`, or not at all if that is `None`."""
    if limit is None:
        return x
    return graph.add("Clip", x, np.float32(-limit), np.float32(limit))


def mix(graph, layers, scalar_mix, mask):
    """`gamma * sum_j weights_j * layer_j` of a `ScalarMix`.

    Args:
        graph: `GraphBuilder`.
        layers: List of values `(batch, time, dim)`.
        scalar_mix: `ScalarMix`.
        mask: Value `(batch, time, 1)`, float32, 1 at the entries that count in
            the layer normalisation.

    Returns:
        Value `(batch, time, dim)`.
    """
    if scalar_mix.layer_norm:
        layers = [normalize_layer(graph, x, mask) for x in layers]
    weights, gamma = scalar_mix.mix_weights
    return weighted_sum(graph, layers, gamma * weights)


def weighted_sum(graph, layers, weights):
    """`sum_j weights_j * layer_j`."""
    parts = [
        graph.add("Mul", x, np.float32(weight))
        for x, weight in zip(layers, weights)
    ]
    return graph.add("Sum", *parts)


def pool_words(graph, x, mask, mode="mean"):
    """`SentencePooling`, from `(batch, time, dim)` to `(batch, dim)`.

    Args:
        graph: `GraphBuilder`.
        x: Value `(batch, time, dim)`.
        mask: Value `(batch, time, 1)`, float32, 0 at padding.
        mode: `"mean"` or `"max"`. For the latter, time must not be 0.
    """
    time, is_real = np.array([1]), graph.cast(mask, "bool")
    number = graph.add("ReduceSum", mask, time, keepdims=0)  # (batch, 1)
    if mode == "max":
        x = graph.add("Where", is_real, x, np.float32(-np.inf))
        x = graph.add("ReduceMax", x, time, keepdims=0)
        return graph.add("Where", graph.cast(number, "bool"), x, np.float32(0))
    x = graph.add("Where", is_real, x, np.float32(0))
    total = graph.add("ReduceSum", x, time, keepdims=0)
    return graph.add("Div", total, graph.add("Max", number, np.float32(1)))


def normalize_layer(graph, x, mask):
    """Normalises by the mean and deviation of all unmasked entries.

    Zeros if all entries are masked.
    """
    one = np.float32(1)
    counted = graph.add("Expand", mask, graph.add("Shape", x))
    total = graph.add("ReduceSum", counted, keepdims=0)
    number = graph.add("Max", total, one)

    def mean(values):
        values = graph.add("Mul", values, counted)
        total = graph.add("ReduceSum", values, keepdims=0)
        return graph.add("Div", total, number)

    x = graph.add("Sub", x, mean(x))
    variance = mean(graph.add("Mul", x, x))
    deviation = graph.add("Sqrt", graph.add("Add", variance, np.float32(1e-12)))
    x = graph.add("Div", x, deviation)
    return graph.add("Mul", x, graph.add("Min", total, one))
