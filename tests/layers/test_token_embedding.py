import keras
import numpy as np
import pytest
from comparisons import assert_close
from comparisons import assert_equal
from keras.ops import convert_to_numpy as numpy
from small_models import randomize

from keras_elmo import BiLMEncoder
from keras_elmo import ElmoLayer
from keras_elmo import TokenEmbedding

pytestmark = pytest.mark.in_graphs(False)

IDS = np.array([[3, 9, 1, 4], [7, 2, 0, 0], [0, 0, 0, 0]], "int32")
LENGTHS = [4, 2, 0]


@pytest.fixture
def layer():
    layer = TokenEmbedding(9, 6)
    layer.build(IDS.shape)
    return layer


@pytest.fixture
def elmo():
    elmo = ElmoLayer(TokenEmbedding(9, 6), BiLMEncoder(7, 6))
    elmo.build((None, None))
    randomize(elmo)
    return elmo


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_id_i_is_row_i_less_one_and_padding_is_zero(layer, dtype):
    rows = np.vstack([np.zeros((1, 6)), numpy(layer.embeddings)])
    assert np.all(np.any(rows[1:], axis=-1))
    for ids in (IDS, IDS.reshape(3, 2, 2), IDS[0], IDS[0, 0]):
        ids = np.asarray(ids, dtype)
        assert_equal(layer(ids), rows[ids])


def test_weights_start_with_a_deviation_that_keeps_the_size():
    layer = TokenEmbedding(400, 64)
    layer.build((None,))
    assert np.std(numpy(layer.embeddings)) == pytest.approx(1 / 8, rel=0.05)


def test_boundary_ids():
    layer = TokenEmbedding(4, 6, ["the", "</S>", "cat", "<S>"])
    assert layer.token_shape == ()
    assert layer.boundary_ids.dtype == "int32"
    assert layer.boundary_ids.tolist() == [4, 2]
    assert TokenEmbedding(9, 6).boundary_ids.tolist() == [1, 2]
    with pytest.raises(ValueError, match="must hold <S> and </S>"):
        ElmoLayer(TokenEmbedding(2, 6, ["<S>", "the"]), BiLMEncoder(7, 6))


def test_elmo_puts_boundaries_around_words(elmo):
    output = elmo(IDS)
    assert tuple(output.shape) == (3, 4, 12)
    assert_equal(output._keras_mask, IDS != 0)
    given = ElmoLayer(
        elmo.token_encoder,
        elmo.encoder,
        elmo.scalar_mixes,
        add_sentence_boundaries=False,
    )
    for i, length in enumerate(LENGTHS):
        bounded = np.array([[1, *IDS[i, :length], 2]], "int32")
        assert_close(
            numpy(output)[i, :length], numpy(given(bounded))[0], rtol=0
        )
        assert np.all(numpy(output)[i, length:] == 0)


def test_elmo_of_documents_and_of_symbolic_words(elmo):
    expected = numpy(elmo(IDS))
    assert_close(numpy(elmo(IDS[None]))[0], expected, rtol=0)
    inputs = keras.Input((None,), dtype="int32")
    model = keras.Model(inputs, elmo(inputs))
    assert model.output_shape == (None, None, 12)
    assert_close(model.predict(IDS, verbose=0), expected, rtol=0)


def test_elmo_refuses_characters(elmo):
    with pytest.raises(ValueError, match=r"\(batch, time\) or \(batch, sen"):
        elmo(np.ones((2, 3, 4, 5), "int32"))


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (IDS + 0.5, ["integer", "float64"]),
        (IDS.astype("bool"), ["int32 or int64", "bool"]),
        (IDS + 1, ["0 to 9", "1 to 10"]),
        (IDS - 1, ["0 to 9", "-1 to 8"]),
    ],
)
def test_bad_ids_are_named(layer, elmo, ids, words):
    for function in (layer, elmo):
        with pytest.raises(ValueError, match="Received") as error:
            function(ids)
        for word in words:
            assert word in str(error.value)


@pytest.mark.parametrize(
    "arguments, name",
    [
        ((0, 6), "num_tokens"),
        ((9, 0), "projection_dim"),
        ((9.0, 6), "num_tokens"),
        ((3, 6, ["a", "b"]), "vocabulary"),
        ((2, 6, ["a", "b"], "c"), "unknown_word"),
        ((2, 6, None, "<UNK>"), "unknown_word"),
    ],
)
def test_bad_arguments_are_named(arguments, name):
    with pytest.raises(ValueError, match=f"`{name}` .*Received"):
        TokenEmbedding(*arguments)
