"""Checks that every public layer must pass, whatever it computes."""

import json
import os

import keras
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops


def flat(x):
    return [ops.convert_to_numpy(t) for t in keras.tree.flatten(x)]


def symbolic_input(x, unknown=()):
    """Returns a `keras.Input` like `x`, with unknown sizes at some axes."""

    def one(x):
        shape = [None if i in unknown else n for i, n in enumerate(x.shape)]
        return keras.Input(batch_shape=shape, dtype=str(x.dtype))

    return keras.tree.map_structure(one, x)


def model_of(layer, x, unknown=()):
    inputs = symbolic_input(x, unknown)
    return keras.Model(inputs, layer(inputs))


def build_shape(x):
    return keras.tree.map_structure(lambda x: x.shape, x)


def check_config_round_trip(make, x):
    layer = make()
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config
    serialized = json.loads(
        json.dumps(keras.saving.serialize_keras_object(layer))
    )
    assert serialized["registered_name"] == f"keras_elmo>{type(layer).__name__}"
    copy = keras.saving.deserialize_keras_object(serialized)
    assert type(copy) is type(layer)
    assert copy.get_config() == config


def check_build_from_shape_alone(make, x):
    built, called = make(), make()
    built.build(build_shape(x))
    called(x)
    names = [[v.name for v in layer.weights] for layer in (built, called)]
    shapes = [[v.shape for v in layer.weights] for layer in (built, called)]
    assert names[0] == names[1] and shapes[0] == shapes[1]
    assert all(layer.built for layer in built._flatten_layers())


def check_weight_count(make, x, number):
    layer = make()
    layer(x)
    assert len(layer.trainable_weights) == number
    assert len({v.path for v in layer.weights}) == len(layer.weights)


def check_symbolic_call(make, x, dtypes=None):
    """Checks shapes and dtypes: the compute dtype, unless `dtypes` is given."""
    layer = make()
    outputs = flat(layer(x))
    symbolic = keras.tree.flatten(layer(symbolic_input(x)))
    assert len(outputs) == len(symbolic)
    dtypes = dtypes or [layer.compute_dtype] * len(outputs)
    for output, expected, dtype in zip(outputs, symbolic, dtypes, strict=True):
        assert output.shape == tuple(expected.shape)
        assert str(output.dtype) == expected.dtype == dtype
    shapes = layer.compute_output_shape(build_shape(x))
    is_shape = isinstance(shapes, tuple) and isinstance(shapes[0], int)
    shapes = [shapes] if is_shape else list(shapes)
    assert [tuple(s) for s in shapes] == [o.shape for o in outputs]


def check_keras_file_round_trip(make, x, folder):
    layer = make()
    model = model_of(layer, x)
    expected = flat(model(x))
    path = os.path.join(folder, "model.keras")
    model.save(path)
    loaded = keras.saving.load_model(path)
    for a, b in zip(flat(loaded(x)), expected):
        assert_equal(a, b)
    path = os.path.join(folder, "model.weights.h5")
    model.save_weights(path)
    other = model_of(type(layer).from_config(layer.get_config()), x)
    other.load_weights(path)
    for a, b in zip(flat(other(x)), expected):
        assert_equal(a, b)


def check_export(make, x, folder):
    """Checks the SavedModel as a graph, the way a server runs it."""
    import tensorflow as tf

    model = model_of(make(), x, unknown=(0, 1))
    path = os.path.join(folder, "exported")
    model.export(path, verbose=False)
    served = tf.saved_model.load(path).signatures["serving_default"]
    names = sorted(served.structured_input_signature[1])
    for batch, time in ((2, 3), (1, 3), (2, 2)):
        part = [t[:batch, :time] for t in keras.tree.flatten(x)]
        answer = served(**dict(zip(names, map(tf.constant, part), strict=True)))
        expected = flat(model(keras.tree.pack_sequence_as(x, part)))
        for key, value in zip(sorted(answer), expected, strict=True):
            assert_close(answer[key], value, atol=1e-5)
