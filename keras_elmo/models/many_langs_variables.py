"""Which variables of a layer are which arrays of an ELMoForManyLangs model."""

import numpy as np


def assign_many_langs_weights(elmo, read):
    """Sets the variables of a layer to the arrays of its files.

    Args:
        elmo: A built `ElmoLayer` of a `LexiconEmbedding`.
        read: `ManyLangsFiles.read`. Only when it has returned are variables
            set.
    """
    tables = [
        list(_token_encoder_table(elmo.token_encoder)),
        list(_encoder_table(elmo.encoder)),
    ]
    shapes = [{key: shape for key, shape, _ in table} for table in tables]
    for table, arrays in zip(tables, read(*shapes)):
        for key, _, assign in table:
            assign(arrays[key])


def _token_encoder_table(encoder):
    """Yields (key, shape in the file, function that sets variables to it)."""
    yield _same("char_emb_layer.embedding.weight", encoder.embeddings)
    if encoder.has_words:
        yield _same("word_emb_layer.embedding.weight", encoder.word_embeddings)
    for i, (kernel, bias) in enumerate(
        zip(encoder.conv_kernels, encoder.conv_biases)
    ):
        yield _transposed(f"convolutions.{i}.weight", kernel)
        yield _same(f"convolutions.{i}.bias", bias)
    for i, highway in enumerate(encoder.highways):
        yield from _highway_table(f"highways._layers.{i}", highway)
    yield _transposed("projection.weight", encoder.projection_kernel)
    yield _same("projection.bias", encoder.projection_bias)


def _highway_table(root, highway):
    dim = highway.carry_bias.shape[0]

    # Their gate lets the input through, ours what is made of it: as
    # 1 - sigmoid(z) = sigmoid(-z), all of its numbers change their sign.
    def assign_kernels(array):  # (2 * dim, dim), the gate's rows last
        highway.transform_kernel.assign(array[:dim].T)
        highway.carry_kernel.assign(-array[dim:].T)

    def assign_biases(array):  # (2 * dim,)
        highway.transform_bias.assign(array[:dim])
        highway.carry_bias.assign(-array[dim:])

    yield f"{root}.weight", (2 * dim, dim), assign_kernels
    yield f"{root}.bias", (2 * dim,), assign_biases


def _encoder_table(encoder):
    for direction, cells in (
        ("forward", encoder.forward_cells),
        ("backward", encoder.backward_cells),
    ):
        for layer, cell in enumerate(cells):
            yield from _cell_table(f"{direction}_layer_{layer}", cell)


def _cell_table(root, cell):
    for key, kernel in (
        ("input_linearity", cell.kernel),
        ("state_linearity", cell.recurrent_kernel),
    ):
        yield (
            f"{root}.{key}.weight",
            kernel.shape[::-1],
            lambda array, kernel=kernel: kernel.assign(_reordered(array).T),
        )

    def assign_bias(array):
        # Their forget gate has no +1 of its own.
        ours = np.repeat(np.float32([0, 0, 1, 0]), cell.units)
        cell.bias.assign(_reordered(array) - ours)

    yield f"{root}.state_linearity.bias", cell.bias.shape, assign_bias
    yield _transposed(f"{root}.state_projection.weight", cell.projection_kernel)


def _reordered(array):
    """From their order of gates to ours, along the first axis.

    Theirs are input, forget, new input, output; ours input, new input, forget,
    output.
    """
    i, f, j, o = np.split(array, 4)
    return np.concatenate([i, j, f, o])


def _same(key, variable):
    return key, tuple(variable.shape), variable.assign


def _transposed(key, variable):
    """All axes the other way round."""
    return key, tuple(variable.shape[::-1]), lambda x: variable.assign(x.T)
