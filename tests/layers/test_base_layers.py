"""What the layers of ids take, and what they say of anything else."""

import keras
import numpy as np
import pytest
from comparisons import assert_equal
from conftest import ON_TENSORFLOW
from keras import ops
from small_models import make_shallow_elmo

from keras_elmo import batch_to_ids
from keras_elmo.ops.inputs import as_ids

# These include ids from 257, which half precision rounds.
IDS = batch_to_ids([["<S>", "a", "</S>"], ["é"]], 12)


@pytest.fixture(scope="module")
def elmo():
    return make_shallow_elmo(dtype="mixed_bfloat16")


def numpy(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64", "float32"])
def test_whole_numbers_of_types_that_hold_all_ids_are_cast(elmo, dtype):
    expected = elmo(IDS)
    for ids in (IDS.astype(dtype), ops.convert_to_tensor(IDS.astype(dtype))):
        output = elmo(ids)
        assert_equal(numpy(output), numpy(expected))
        assert_equal(numpy(output._keras_mask), numpy(expected._keras_mask))
        assert_equal(numpy(elmo.all_layers(ids)), numpy(elmo.all_layers(IDS)))


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="It works on PyTorch."
)
def test_a_scope_that_would_recompute_a_layer_says_what_to_do():
    with keras.RematScope():
        elmo = make_shallow_elmo()
    with pytest.raises(NotImplementedError, match="outside of the `keras"):
        elmo(IDS)


def test_keras_quantization_leads_to_ours(elmo):
    for layer in (elmo, elmo.token_encoder):
        told = f"'{layer.name}'.*ElmoEmbedder.*export_onnx.*int8"
        with pytest.raises(NotImplementedError, match=told):
            layer.quantize("int8")


def test_few_ids_fit_into_a_small_type():
    ids = np.array([[0, 128, 255]], "uint8")
    assert_equal(as_ids(ids, 256, "ids"), ids)
    with pytest.raises(ValueError, match=r"int32.*dtype=uint8"):
        as_ids(ids, 257, "ids")


@pytest.mark.parametrize("dtype", ["int64", "uint64", "uint32", "float64"])
def test_large_numbers_do_not_become_small_ids(elmo, dtype):
    large = 2**32 + 5 if dtype != "uint32" else 2**31 + 5
    bad = np.full((1, 12), large, dtype)
    with pytest.raises(ValueError, match=r"ids from 0 to 261|fit into int32"):
        elmo.token_encoder(bad)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        compiled = tf.function(elmo.token_encoder)
        with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to"):
            compiled(tf.constant(bad))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            IDS + np.float32(0.5),
            r'0 to 261.*fractions.*keras.Input\(.*"int32".*: ids from 0.5',
        ),
        (np.where(IDS == 0, -1, IDS), "0 to 261. Received: ids from -1 to -1"),
        (np.where(IDS == 0, 262, IDS), "0 to 261.*ids from 262 to 262"),
        (IDS[..., :11], r", 12\).*Received: shape=\(2, 3, 11\)"),
        (IDS.astype("bool"), "as int32 and int64.*Received: dtype=bool"),
        (ops.zeros(IDS.shape, "bfloat16"), '"int32".*dtype=bfloat16'),
        (IDS.tolist(), "batch_to_ids.*Received: list"),
        (np.array([["a", "b"]]), "batch_to_ids.*: ndarray, dtype=<U1"),
    ],
)
def test_bad_ids_are_named(elmo, bad, message):
    for function in (elmo, elmo.all_layers, elmo.token_encoder):
        with pytest.raises(ValueError, match=message):
            function(bad)


@ON_TENSORFLOW
def test_tensors_of_words_and_ragged_ids_are_refused(elmo):
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_tensor(IDS, lengths=[3, 1])
    for bad in (tf.constant([["a"]]), ragged):
        with pytest.raises(
            ValueError, match=r"padded with zeros.*batch_to_ids.*Tensor, dtype"
        ):
            elmo(bad)
