"""A second implementation of ELMo, in float64 NumPy, token by token.

It is slow and simple on purpose. It takes the arrays of a biLM weight file by
key and shares no code with the layers.
"""

import numpy as np


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def highway(x, carry, transform):
    gate = sigmoid(x @ carry[0] + carry[1])
    new = np.maximum(x @ transform[0] + transform[1], 0)
    return gate * new + (1 - gate) * x


def encode_token(ids, arrays, num_filters, num_highways, activation):
    """Maps the ids (chars,) of one token to its vector."""
    table = np.concatenate(
        [np.zeros((1, arrays["char_embed"].shape[1])), arrays["char_embed"]]
    )
    x = table[ids]  # (chars, dim)
    pooled = []
    for i in range(num_filters):
        kernel, bias = arrays[f"CNN/W_cnn_{i}"][0], arrays[f"CNN/b_cnn_{i}"]
        width = kernel.shape[0]
        windows = [
            np.tensordot(x[start : start + width], kernel, 2) + bias
            for start in range(len(x) - width + 1)
        ]
        pooled.append(activation(np.max(windows, axis=0)))
    x = np.concatenate(pooled)
    for i in range(num_highways):
        key = f"CNN_high_{i}/"
        x = highway(
            x,
            (arrays[key + "W_carry"], arrays[key + "b_carry"]),
            (arrays[key + "W_transform"], arrays[key + "b_transform"]),
        )
    if "CNN_proj/W_proj" in arrays:
        x = x @ arrays["CNN_proj/W_proj"] + arrays["CNN_proj/b_proj"]
    return x


def clip(x, limit):
    return x if limit is None else np.clip(x, -limit, limit)


def lstm_step(x, h, c, arrays, root, cell_clip, proj_clip):
    gates = np.concatenate([x, h]) @ arrays[root + "W_0"] + arrays[root + "B"]
    i, j, f, o = np.split(gates, 4)
    c = clip(sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j), cell_clip)
    h = sigmoid(o) * np.tanh(c)
    if root + "W_P_0" in arrays:
        h = clip(h @ arrays[root + "W_P_0"], proj_clip)
    return h, c


def lstm_stack(tokens, arrays, direction, lstm, state=None):
    """Runs the layers of one direction on a sentence (tokens, dim).

    Returns the layers, each (tokens, dim), and the last state, a list of
    (h, c).
    """
    tokens = list(tokens)[::-1] if direction else list(tokens)
    layers, last = [], []
    for k in range(lstm["num_layers"]):
        root = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell/"
        units = arrays[root + "B"].shape[0] // 4
        size = arrays.get(root + "W_P_0", np.zeros((0, units))).shape[1]
        h, c = (np.zeros(size), np.zeros(units)) if state is None else state[k]
        outputs = []
        for x in tokens:
            h, c = lstm_step(
                x, h, c, arrays, root, lstm["cell_clip"], lstm["proj_clip"]
            )
            skip = lstm["use_skip_connections"] and k > 0
            outputs.append(h + x if skip else h)
        layers.append(np.array(outputs[::-1] if direction else outputs))
        last.append((h, c))
        tokens = outputs
    return layers, last


def bilm(tokens, arrays, lstm):
    """Maps a sentence (tokens, dim) to its layers, each (tokens, 2 * dim)."""
    forward, _ = lstm_stack(tokens, arrays, 0, lstm)
    backward, _ = lstm_stack(tokens, arrays, 1, lstm)
    return [np.concatenate(pair, axis=-1) for pair in zip(forward, backward)]


def elmo_layers(sentence, arrays, cnn, lstm):
    """Maps token ids (tokens, chars) to layers (layers, tokens, 2 * dim).

    The ids include the boundaries, the result does not.
    """
    x = np.array([encode_token(ids, arrays, **cnn) for ids in sentence])
    layers = [np.concatenate([x, x], axis=-1), *bilm(x, arrays, lstm)]
    return np.array(layers)[:, 1:-1]
