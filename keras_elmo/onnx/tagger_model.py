"""A Keras model that starts with an `ElmoLayer`, as an ONNX model."""

import json
import os

import keras
import numpy as np

from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.word_vectors import WordVectors
from keras_elmo.models.word_model import check_tagged_outputs
from keras_elmo.models.word_model import named_outputs
from keras_elmo.models.word_model import tag_names_of
from keras_elmo.onnx.crf_decoding import CRFScores
from keras_elmo.onnx.elmo_model import at_words
from keras_elmo.onnx.elmo_model import ids_input
from keras_elmo.onnx.elmo_model import keeps_positions
from keras_elmo.onnx.elmo_model import output_time
from keras_elmo.onnx.elmo_model import padded_on_the_right
from keras_elmo.onnx.elmo_model import run_elmo
from keras_elmo.onnx.graph_builder import GraphBuilder
from keras_elmo.onnx.masks import check_masks
from keras_elmo.onnx.tagger_layers import TaggerLayers
from keras_elmo.onnx.word_vectors import word_vectors
from keras_elmo.ops.private_keras import call_of
from keras_elmo.ops.private_keras import get_mask
from keras_elmo.ops.private_keras import layer_of


def tagger_model(model, make_product, tag_names=None):
    """Makes the ONNX model of a Functional or Sequential Keras model.

    Args:
        model: Keras model that starts with an `ElmoLayer` on character ids.
        make_product: Function of `products`, for the large kernels of ELMo.
        tag_names: As for `export_onnx`.

    Returns:
        `onnx.ModelProto`. It takes `ids`, int32 `(batch, time, chars)`, and
        returns the model's outputs, named after their layers.
    """
    (elmo, _, mixes, _), *others = steps = read_graph(model)
    ids = model.inputs[0]
    graph = GraphBuilder()
    words = padded_on_the_right(graph, "ids")
    vectors, mask = run_elmo(graph, elmo, words, make_product)
    names = [name for name in vectors if name.startswith("elmo")]

    def add_token(x):
        # Ensure at least one token, as loops must not be empty.
        return graph.add("Pad", x, np.array([0, 0, 0, 0, 1, 0]))

    values = {id(x): add_token(vectors[name]) for x, name in zip(mixes, names)}
    mask = add_token(mask)
    layers = TaggerLayers(graph, mask)
    for layer, inputs, outputs, _ in others:
        if type(layer) is WordVectors and inputs[0] is ids:
            own = words.ids if keeps_positions(elmo) else "ids"
            found = word_vectors(graph, own, layer)
            values[id(outputs[0])] = add_token(found)
            continue
        if not all(id(x) in values for x in inputs):
            raise ValueError(
                "For ONNX, the inputs of each layer must be outputs of earlier "
                f"layers. Received: layer '{layer.name}'"
            )
        found = layers.add(
            layer, [values[id(x)] for x in inputs], len(outputs[0].shape)
        )
        # Of an LSTM with `return_state`, only the first one is known.
        values.update(zip(map(id, outputs), found))
    check_masks(ids, steps)
    is_real = graph.cast(mask, "bool")
    results = {}
    symbolic = named_outputs(model)
    for name, x in symbolic.items():
        if id(x) not in values:
            raise ValueError(
                "For ONNX, each output of a model must be that of one of its "
                f"layers. Received: output '{name}'"
            )
        if name == "ids":
            raise ValueError(
                "For ONNX, no output of a model may have the name of the "
                "input: rename its layer. Received: output 'ids'"
            )
        value = values[id(x)]
        if isinstance(value, CRFScores):
            raise ValueError(
                "For ONNX, end the model with a `CRFDecoder`. Received: the "
                f"scores of layer '{name}' as an output"
            )
        shape = ["batch", output_time(elmo), x.shape[-1]]
        per_word = len(x.shape) == 2 and type(layer_of(x)) is CRFDecoder
        if per_word or len(x.shape) == 3:
            value = graph.add("Where", is_real, value, np.float32(0))
            value = graph.cut(value, 0, 1)  # The added token.
            value = at_words(graph, value, words, elmo)
        else:
            del shape[1]
        if per_word:
            value = graph.add("Squeeze", value, np.array([2]))
            value = graph.cast(value, x.dtype)
            del shape[2]
        results[name] = value, x.dtype, shape
    tag_names = tag_names_of(symbolic, tag_names)
    check_tagged_outputs(tag_names, symbolic)
    metadata = {
        f"{name}_tag_names": json.dumps([os.fsdecode(x) for x in names])
        for name, names in tag_names.items()
    }
    return graph.model("tagger", ids_input(elmo), results, metadata)


def read_graph(model):
    """Reads the layers of a model, in an order in which they can be called.

    The first one is its `ElmoLayer`.

    Returns:
        A list of tuples: a layer, its symbolic inputs, its outputs, and the
        mask that it is given, or `None`.

    Raises:
        ValueError: If the model is not a graph of layers that starts with ids.
    """
    if not (getattr(model, "inputs", None) and model.outputs):
        raise ValueError(
            "For ONNX, a model must be Functional or Sequential, and built. "
            f"Received: model={model!r}"
        )
    steps, seen = [], set()

    def visit(x):
        layer, given, inputs, outputs = call_of(x)
        if not inputs or id(x) in seen:
            return
        seen.update(map(id, outputs))
        if not isinstance(layer, keras.layers.Layer):
            raise ValueError(
                "For ONNX, a model must consist of layers only. Received: "
                f"an operation {type(layer).__name__} of `keras.ops`"
            )
        mask = given.pop("mask", None)
        (_, first), *others = given.items()
        others = {k: x for k, x in others if x is not None and x is not False}
        if set(others) - {"return_state"}:
            raise ValueError(
                "For ONNX, a layer must be called with its inputs only. "
                f"Received: layer '{layer.name}' with {sorted(others)}"
            )
        first = keras.tree.flatten(first)
        for each in first:
            visit(each)
        mask = get_mask(first[0]) if mask is None else mask
        steps.append((layer, first, outputs, mask))

    for x in model.outputs:
        visit(x)
    # ELMo first: a `WordVectors` beside it also takes the ids.
    steps.sort(key=lambda step: type(step[0]) is not ElmoLayer)
    if (
        not steps
        or type(steps[0][0]) is not ElmoLayer
        or [id(x) for x in steps[0][1]] != [id(x) for x in model.inputs]
        or len(model.inputs[0].shape) != 3
        or steps[0][0].return_all_layers
        or sum(type(step[0]) is ElmoLayer for step in steps) > 1
    ):
        raise ValueError(
            "For ONNX, a model must have exactly one input and one "
            "`ElmoLayer`, which is its first layer and mixes its layers, on "
            "ids of shape (batch, time, chars). "
            f"Received: model '{model.name}'"
        )
    return steps
