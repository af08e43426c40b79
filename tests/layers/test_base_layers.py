"""What the layers of ids take, and what they say of anything else."""

import keras
import numpy as np
import pytest
from comparisons import assert_equal
from keras import ops
from small_models import make_shallow_elmo
from text.listed_characters import SPECIAL

from keras_elmo import batch_to_ids
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding

# These include ids from 257, which half precision rounds.
IDS = batch_to_ids([["<S>", "a", "</S>"], ["é"]], 12)
on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="It is about TensorFlow."
)


@pytest.fixture(scope="module")
def elmo():
    return make_shallow_elmo(dtype="mixed_bfloat16")


def numpy(x):
    return ops.convert_to_numpy(ops.cast(x, "float32"))


@pytest.mark.parametrize(
    "dtype", ["int16", "uint16", "uint32", "float32", "float64"]
)
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


def make_lexicon(number):
    """Returns a token encoder of ids from 0 to `number`, three for a word."""
    others = map(chr, range(0x4E00, 0x4E00 + number - len(SPECIAL)))
    return LexiconEmbedding(
        [*SPECIAL, *others],
        *(None, 4, [(1, 2)], 0),
        max_characters_per_token=3,
    )


def test_few_characters_fit_into_a_small_type():
    layer = make_lexicon(255)
    ids = np.array([[0, 128, 255]])
    assert_equal(numpy(layer(ids.astype("uint8"))), numpy(layer(ids)))
    with pytest.raises(ValueError, match=r"int32.*dtype=uint8"):
        make_lexicon(256)(ids.astype("uint8"))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "uint32", "float64"])
def test_large_numbers_do_not_become_small_ids(dtype):
    layer = make_lexicon(9)
    good = np.array([[9, 9, 9]])
    assert_equal(numpy(layer(good.astype(dtype))), numpy(layer(good)))
    large = 2**32 + 5 if dtype != "uint32" else 2**31 + 5
    bad = np.array([[large, 9, 9]], dtype)
    with pytest.raises(ValueError, match=r"ids from 0 to 9|fit into int32"):
        layer(bad)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to 9"):
            tf.function(layer)(tf.constant(bad))


FRACTIONS = r'0 to 261.*fractions.*keras.Input\(.*"int32".*Received: ids from '


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (IDS + np.float32(0.5), FRACTIONS + "0.5"),
        (IDS + np.float32("nan"), FRACTIONS + "nan"),
        (np.where(IDS == 0, -1, IDS), "0 to 261. Received: ids from -1 to -1"),
        (np.where(IDS == 0, 262, IDS), "0 to 261.*ids from 262 to 262"),
        (IDS[..., :11], r", 12\).*Received: shape=\(2, 3, 11\)"),
        (IDS.astype("uint8"), "as int32 and int64.*Received: dtype=uint8"),
        (IDS.astype("int8"), "as int32 and int64.*Received: dtype=int8"),
        (IDS.astype("bool"), "as int32 and int64.*Received: dtype=bool"),
        ([["a", "b"]], "batch_to_ids.*Received: list"),
        (IDS.tolist(), "batch_to_ids.*Received: list"),
        (np.array([["a", "b"]]), "batch_to_ids.*: ndarray, dtype=<U1"),
        (np.array([["a"], ["b", "c"]], "object"), "ndarray, dtype=object"),
        (None, "batch_to_ids.*Received: NoneType"),
    ],
)
def test_bad_ids_are_named(elmo, bad, message):
    for function in (elmo, elmo.all_layers, elmo.token_encoder):
        with pytest.raises(ValueError, match=message):
            function(bad)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_refused(elmo, dtype):
    for layer in (elmo, elmo.token_encoder):
        with pytest.raises(
            ValueError, match=rf'keras.Input\(.*"int32".*dtype={dtype}'
        ):
            layer(ops.cast(ops.zeros((1, 2, 12)), dtype))


@on_tensorflow
def test_fractions_are_refused_in_a_graph(elmo):
    import tensorflow as tf

    compiled = tf.function(elmo.token_encoder)
    floats = IDS.astype("float32")
    assert_equal(numpy(compiled(floats)), numpy(compiled(IDS)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="fractions"):
        compiled(floats + 0.5)


@on_tensorflow
def test_tensors_of_words_and_ragged_ids_are_refused(elmo):
    import tensorflow as tf

    words = tf.constant([["a"]]), tf.ragged.constant([["a"], []])
    for bad in (*words, tf.RaggedTensor.from_tensor(IDS, lengths=[3, 1])):
        with pytest.raises(
            ValueError, match=r"padded with zeros.*batch_to_ids.*Tensor, dtype"
        ):
            elmo(bad)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8"])
def test_symbolic_inputs_of_any_dtype_pass(elmo, dtype):
    inputs = keras.Input((None, 12), dtype=dtype)
    output = elmo(inputs)
    assert output.shape == (None, None, 12) and output.dtype == "bfloat16"
    if dtype == "float32":
        assert_equal(numpy(keras.Model(inputs, output)(IDS)), numpy(elmo(IDS)))
