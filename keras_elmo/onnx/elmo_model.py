"""An `ElmoLayer` as an ONNX model, from character ids to named outputs."""

from typing import NamedTuple

import numpy as np

from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.scalar_mix import ScalarMix
from keras_elmo.models.word_model import named_elmo_outputs
from keras_elmo.onnx import elmo_layers
from keras_elmo.onnx.graph_builder import GraphBuilder

TIME, CHARS, LAST = np.array([1]), np.array([2]), np.array([-1])


def elmo_model(elmo, make_product):
    """Makes the ONNX model of a built `ElmoLayer` with character input.

    Args:
        elmo: `ElmoLayer` with a `CharCNNEmbedding`.
        make_product: Function of `products`, for the large kernels.

    Returns:
        `onnx.ModelProto`. It takes `ids`, int32 `(batch, time, chars)`, and
        returns the outputs of the SavedModel's signature `character_ids`.
    """
    graph = GraphBuilder()
    words = padded_on_the_right(graph, "ids")
    outputs, mask = run_elmo(graph, elmo, words, make_product)
    pooled = elmo_layers.pool_words(graph, outputs["elmo"], mask)
    outputs = {
        name: at_words(graph, x, words, elmo) for name, x in outputs.items()
    }
    outputs["default"] = pooled
    width, time = elmo.encoder.direction_dim, output_time(elmo)
    shapes = {name: ["batch", time, 2 * width] for name in outputs}
    shapes["word_emb"] = ["batch", time, width]
    shapes["default"] = ["batch", 2 * width]
    results = {
        name: (value, "float32", shapes[name])
        for name, value in outputs.items()
    }
    return graph.model("elmo", ids_input(elmo), results)


def output_time(elmo):
    """The name of the outputs' time axis: that of the input's, or another."""
    is_same = elmo.add_sentence_boundaries != elmo.keep_sentence_boundaries
    return "time" if is_same else "output_time"


def ids_input(elmo):
    """The input `ids`, as `GraphBuilder.model` takes it."""
    chars = elmo.token_encoder.max_characters_per_token
    return {"ids": ("int32", ["batch", "time", chars])}


class Words(NamedTuple):
    """The ids of sentences, with all padding moved to their ends."""

    ids: str
    """int32 `(batch, time, chars)`"""
    length: str
    """The number of words of each sentence, int64 `(batch, 1)`"""
    indices: str
    """The index in `ids` of each word of the model's input, and of its padding,
    int64 `(batch, time, 1)`"""


def padded_on_the_right(graph, ids):
    """Moves the padding of ids `(batch, time, chars)`, for loops over words."""
    is_id = graph.add("Not", graph.add("Equal", ids, np.int32(0)))
    is_id = graph.cast(is_id, "int64")
    is_word = graph.add("ReduceMax", is_id, CHARS, keepdims=0)  # (batch, time)
    length = graph.add("ReduceSum", is_word, TIME)  # (batch, 1)
    number = graph.add("CumSum", is_word, np.int64(1))  # 1 for the first word
    positions = graph.positions(ids)
    padding = graph.add("Sub", graph.add("Add", positions, length), number)
    number = graph.add("Sub", number, np.int64(1))
    indices = graph.add("Where", graph.cast(is_word, "bool"), number, padding)
    positions = graph.add("Expand", positions, graph.add("Shape", indices))
    order = graph.add("ScatterElements", indices, indices, positions, axis=1)
    order, indices = (graph.add("Unsqueeze", x, LAST) for x in (order, indices))
    ids = graph.add("GatherND", ids, order, batch_dims=1)
    return Words(ids, length, indices)


def keeps_positions(elmo):
    """Whether an `ElmoLayer` leaves padding where it is; else it moves it to
    the right."""
    return elmo.add_sentence_boundaries and not elmo.keep_sentence_boundaries


def at_words(graph, x, words, elmo):
    """Moves an output `(batch, output time, dim)` to where Keras has it."""
    if not keeps_positions(elmo):
        return x
    return graph.add("GatherND", x, words.indices, batch_dims=1)


def run_elmo(graph, elmo, words, make_product):
    """The layers and mixes of an `ElmoLayer`.

    Args:
        graph: `GraphBuilder`.
        elmo: As for `elmo_model`.
        words: `Words`.
        make_product: As for `elmo_model`.

    Returns:
        A dictionary of values `(batch, output time, dim)`, zero at padding,
        which is on the right; and their mask, float32 `(batch, output time,
        1)`, 0 at padding.
    """
    _check_elmo(elmo)
    ids, length = bounded(graph, words, elmo)
    x = encode_tokens(graph, ids, elmo.token_encoder, make_product)
    drops = keeps_positions(elmo)
    encoded = run_encoder(graph, x, length, elmo.encoder, drops, make_product)
    begin, end, mask = output_slots(graph, elmo, x, length)
    if not drops:
        encoded = [graph.cut(y, begin, end) for y in encoded]
    x = graph.cut(x, begin, end)
    layers = [graph.add("Concat", x, x, axis=2), *encoded]
    mixes = [
        elmo_layers.mix(graph, layers, mix, mask) for mix in elmo.scalar_mixes
    ]
    if not mixes:  # The layer was created with `return_all_layers`.
        average = [1 / len(layers)] * len(layers)
        mixes = [elmo_layers.weighted_sum(graph, layers, average)]
    outputs = named_elmo_outputs(x, encoded, mixes)
    is_real = graph.cast(mask, "bool")
    return {
        name: graph.add("Where", is_real, y, np.float32(0))
        for name, y in outputs.items()
    }, mask


def _check_elmo(elmo):
    # A subclass may compute something else.
    for name, part, cls in (
        ("layer", elmo, ElmoLayer),
        ("token encoder", elmo.token_encoder, CharCNNEmbedding),
        ("encoder", elmo.encoder, BiLMEncoder),
        *(("mix", mix, ScalarMix) for mix in elmo.scalar_mixes),
    ):
        if type(part) is not cls:
            raise ValueError(
                f"For ONNX, the {name} of a model must be a `{cls.__name__}` "
                f"and not of a subclass. Received: {part!r}"
            )
    if not elmo.built:
        chars = elmo.token_encoder.max_characters_per_token
        elmo.build((None, None, chars))


def bounded(graph, words, elmo):
    """Adds `<S>` and `</S>` to each sentence if the layer does.

    Returns:
        The ids `(batch, slots, chars)`, and the number of slots that are not
        padding, int64 `(batch, 1)`.
    """
    ids, length, _ = words
    if not elmo.add_sentence_boundaries:
        # Ensure at least one slot, as loops must not be empty.
        return graph.add("Pad", ids, np.array([0, 0, 0, 0, 1, 0])), length
    first, last = elmo.token_encoder.boundary_ids.astype("int32")
    ids = graph.add("Pad", ids, np.array([0, 1, 0, 0, 1, 0]))
    slots = graph.positions(ids)
    end = graph.add("Add", length, np.int64(1))
    for slot, boundary in ((np.int64(0), first), (end, last)):
        here = graph.add("Equal", slots, slot)  # (slots,) or (batch, slots)
        here = graph.add("Unsqueeze", here, LAST)
        ids = graph.add("Where", here, boundary, ids)
    return ids, graph.add("Add", length, np.int64(2))


def encode_tokens(graph, ids, encoder, make_product):
    """Encodes each distinct token once: (batch, slots, projection)."""
    chars = encoder.max_characters_per_token
    tokens = graph.add("Reshape", ids, np.array([-1, chars]))
    # Ensure at least one token, as multiplications must not be empty.
    tokens = graph.add("Concat", tokens, np.zeros((1, chars), "int32"), axis=0)
    tokens = graph.cast(tokens, "int64")  # `Unique` always supports int64.
    distinct, _, index, _ = graph.add("Unique", tokens, axis=0, num_outputs=4)
    distinct = graph.cast(distinct, "int32")
    vectors = elmo_layers.encode_characters(
        graph, distinct, encoder, make_product
    )
    index = graph.add("Slice", index, np.array([0]), np.array([-1]))
    shape = graph.sizes(ids, 0, 2)
    index = graph.add("Reshape", index, shape, allowzero=1)  # (batch, slots)
    return graph.add("Gather", vectors, index, axis=0)


def run_encoder(graph, x, length, encoder, drops_ends, make_product):
    """The biLM's layers: a list of values (batch, slots, 2 * projection).

    Args:
        graph: `GraphBuilder`.
        x: Value `(batch, slots, projection)`.
        length: Value `(batch, 1)`.
        encoder: `BiLMEncoder`.
        drops_ends: Boolean, whether to drop the first and last slot. The last
            step of each direction then affects no output and is skipped.
        make_product: Function of `products`.
    """
    x = graph.add("Transpose", x, perm=[1, 0, 2])  # (slots, batch, projection)
    forward = backward = x
    if drops_ends:
        forward, backward = graph.cut(x, 0, 1, 0), graph.cut(x, 1, 0, 0)
        length = graph.add("Sub", length, np.int64(1))
    length = graph.add("Squeeze", length, TIME)  # (batch,)

    def reverse(x):
        return graph.add(
            "ReverseSequence", x, length, time_axis=0, batch_axis=1
        )

    outputs = []
    both = [forward, reverse(backward)]
    for forward, backward in elmo_layers.run_directions(
        graph, encoder, both, make_product
    ):
        backward = reverse(backward)
        if drops_ends:
            forward = graph.cut(forward, 1, 0, 0)
            backward = graph.cut(backward, 0, 1, 0)
        output = graph.add("Concat", forward, backward, axis=2)
        outputs.append(graph.add("Transpose", output, perm=[1, 0, 2]))
    return outputs


def output_slots(graph, elmo, x, length):
    """Which slots of `x` `(batch, slots, dim)` are in the output.

    Returns:
        How many are left out at the start and at the end; and the mask of the
        others, float32 `(batch, output time, 1)`, 0 at padding.
    """
    begin = end = 0
    if not elmo.keep_sentence_boundaries:
        begin = end = 1
        length = graph.add("Sub", length, np.int64(1))
    if not elmo.add_sentence_boundaries:
        end += 1  # The slot that `bounded` added.
    mask = graph.add("Less", graph.positions(x), length)
    mask = graph.add("Unsqueeze", graph.cast(mask, "float32"), CHARS)
    return begin, end, graph.cut(mask, begin, end)
