import sys

import keras
import numpy as np
import pytest
from comparisons import assert_equal

from keras_elmo import WordVectorization
from keras_elmo import batch_to_ids
from keras_elmo.layers.word_vectorization import vectorization_of
from keras_elmo.text.byte_indexer import ByteIndexer

tf = pytest.importorskip("tensorflow", reason="Its layer takes strings.")

SENTENCES = [
    ["First", "sentence", "."],
    [],
    ["é", "日本語", "\N{GRINNING FACE}", "x" * 80, "日本語" * 9],
    ["", "<S>", "</S>", "<s>", "tab\there", "no-break\u00a0space"],
    [b"\xff\xfe", b"a\0", b"\0", b"\0b", b"\x80" * 60, b"\r\n"],
    [" <S>", "<S>\0", "<S>" * 17, bytes(range(256)), "y" * 47, "y" * 49],
]


def as_bytes(words):
    return [w.encode() if isinstance(w, str) else w for w in words]


def padded(sentences, padding=b""):
    rows = [as_bytes(s) for s in sentences]
    time = max(map(len, rows))
    return tf.constant([row + [padding] * (time - len(row)) for row in rows])


def ragged(sentences):
    return tf.ragged.constant([as_bytes(s) for s in sentences])


@pytest.mark.parametrize("width", [3, 12, 300])
def test_ids_are_those_of_batch_to_ids(width):
    layer = WordVectorization(ByteIndexer(width))
    expected = batch_to_ids(SENTENCES, width)
    lengths = [len(s) for s in SENTENCES]
    for ids in (
        layer([as_bytes(s) for s in SENTENCES]),
        layer(ragged(SENTENCES)),
        layer(padded(SENTENCES)),
        layer(padded(SENTENCES, b"junk"), sequence_len=lengths),
        layer(padded(SENTENCES).numpy(), sequence_len=np.array(lengths)),
    ):
        assert ids.dtype == "int32"
        assert_equal(ids, expected)


@pytest.mark.parametrize("column", [False, True])
def test_sentences_are_split_on_white_space(column):
    layer = WordVectorization(split="whitespace")
    generator = np.random.default_rng(0)
    letters = np.frombuffer(b" \t\n\v\f\r\0\x1c\x85\xa0\xffab ", "uint8")
    lines = [
        generator.choice(letters, generator.integers(0, 12)).tobytes()
        for _ in range(300)
    ]
    expected = [line.split() for line in lines]
    assert [] in expected and max(map(len, expected)) > 3
    given = [[line] for line in lines] if column else lines
    for inputs in (given, tf.constant(given)):
        assert_equal(layer(inputs), batch_to_ids(expected))
    # As for `TextVectorization`, there may be a column of sentences.
    symbolic = keras.Input((1,) if column else (), dtype="string")
    assert layer(symbolic).shape == (None, None, 50)


LINES = ["First sentence .", "Another ."]
COLUMN = [["First sentence ."], ["a\tb"]]


@pytest.mark.parametrize(
    "read",
    [
        lambda layer: layer(LINES),
        lambda layer: layer(COLUMN),
        lambda layer: of_any_shape(layer)(tf.constant(COLUMN)),
    ],
)
def test_sentences_are_not_taken_for_words(read):
    told = "whitespace for sentences"
    with pytest.raises(tf.errors.InvalidArgumentError, match=told):
        read(WordVectorization())


def of_any_shape(layer):
    spec = tf.TensorSpec((None, None), tf.string)
    return tf.function(layer, input_signature=[spec])


def test_words_with_white_space_are_words_where_no_sentences_can_be():
    layer = WordVectorization()
    words = tf.constant([["10 000", "m"], ["no", ""]])
    expected = batch_to_ids([["10 000", "m"], ["no"]])
    assert_equal(of_any_shape(layer)(words), expected)
    one = tf.constant([["10 000"], [""]])
    expected = batch_to_ids([["10 000"], []])
    assert_equal(layer(one, sequence_len=[1, 0]), expected)
    assert_equal(layer([["Stop"], [""]]), batch_to_ids([["Stop"], [""]]))
    assert_equal(layer(["First", "word"]), batch_to_ids([["First", "word"]])[0])


def test_an_empty_string_is_a_word_or_padding():
    layer = WordVectorization(ByteIndexer(5))
    words = [["", "a", ""], ["", "", ""], ["", "", "b"]]
    expected = batch_to_ids([["", "a"], [], words[2]], 5)
    assert_equal(layer(tf.constant(words)), expected)
    expected = batch_to_ids([words[0], [""], []], 5)
    found = layer(tf.constant(words), sequence_len=[3, 1, 0])
    assert_equal(found, expected)
    assert_equal(layer(["", "b c", "d"], sequence_len=1), expected[1])
    assert_equal(layer([["", ""], []]), batch_to_ids([["", ""], []], 5))


@pytest.mark.parametrize("shape", [(0,), (0, 0), (3, 0), (0, 1)])
def test_nothing_has_no_ids(shape):
    split = None if len(shape) == 2 else "whitespace"
    ids = WordVectorization(split=split)(tf.zeros(shape, tf.string))
    assert ids.shape == (shape[0], shape[1] if len(shape) == 2 else 0, 50)


def test_in_a_pipeline():
    layer = WordVectorization(split="whitespace")
    lines = ["one two", "three", "", "four five six"]
    words = [line.split() for line in lines]
    expected = [batch_to_ids(words[:2]), batch_to_ids(words[2:])]
    each = tf.data.Dataset.from_tensor_slices(lines)
    rows = tf.data.Dataset.from_tensor_slices(tf.ragged.constant(words))
    for found in (
        each.batch(2).map(layer),
        each.map(layer).padded_batch(2),
        rows.ragged_batch(2).map(WordVectorization()),
        rows.map(WordVectorization()).padded_batch(2),
    ):
        assert found.element_spec.shape.as_list() == [None, None, 50]
        for a, b in zip(found, expected, strict=True):
            assert_equal(a, b)


def test_in_a_model_that_is_saved(tmp_path):
    tokens = keras.Input((None,), dtype="string")
    lengths = keras.Input((), dtype="int32")
    layer = WordVectorization(ByteIndexer(12))
    by_length = layer(tokens, sequence_len=lengths)
    assert by_length.shape == (None, None, 12) and by_length.dtype == "int32"
    model = keras.Model([tokens, lengths], [layer(tokens), by_length])
    model.save(tmp_path / "model.keras")
    words = tf.constant([["a", "b", "c"], ["d", "", ""]])
    given = [words, tf.constant([2, 2])]
    for either in (model, keras.saving.load_model(tmp_path / "model.keras")):
        whole, cut = either(given)
        assert_equal(whole, batch_to_ids([["a", "b", "c"], ["d"]], 12))
        assert_equal(cut[:, :2], batch_to_ids([["a", "b"], ["d", ""]], 12))
        assert not np.any(cut[:, 2])


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"`split` must be .*Received"):
        WordVectorization(split=True)
    with pytest.raises(ValueError, match=r"`indexer` must .*indexer=50"):
        WordVectorization(50)


def test_config():
    layer = WordVectorization(ByteIndexer(12), "whitespace", name="ids")
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert copy.get_config() == layer.get_config()
    assert copy.indexer.max_characters_per_token == 12
    assert copy.split == "whitespace" and copy.name == "ids"
    default = WordVectorization.from_config({})
    assert default.split is None and default.indexer.token_shape == (50,)


@pytest.mark.parametrize(
    ("inputs", "split"),
    [
        *((tf.constant("a sentence"), None), ("a sentence", None)),
        *((tf.constant([[["a"]]]), None), (tf.constant([[1, 2]]), None)),
        *(([1, 2], None), ([["a"], "b"], None)),
        (keras.Input((1,), dtype="string"), None),
        (keras.Input((), dtype="string"), None),
        ([["a", "b"]], "whitespace"),
        ([["a b"], []], "whitespace"),
        (tf.ragged.constant([["a b"]]), "whitespace"),
        (keras.Input((None,), dtype="string"), "whitespace"),
    ],
)
def test_other_inputs_are_refused(inputs, split):
    told = r'such as \[\["A".*pass `split=.whitespace'
    if split:
        told = r'such as \["A s.*pass `split=None`'
    with pytest.raises(ValueError, match=told):
        WordVectorization(split=split)(inputs)


def test_lengths_go_with_padded_words_alone():
    for inputs, split in (
        (["a b"], "whitespace"),
        ([["a"], ["b", "c"]], None),
    ):
        with pytest.raises(ValueError, match="leave it out for sentences"):
            WordVectorization(split=split)(inputs, sequence_len=[1])


@pytest.mark.parametrize("lengths", [[3, 1], [-1, 1], [1], [1, 1, 1]])
def test_lengths_that_cannot_be(lengths):
    message = "sequence_len. must have one number per sentence, none negative"
    layer = WordVectorization()
    words = tf.constant([["a", "b"], ["c", ""]])
    spec = tf.TensorSpec([None] * 2, tf.string), tf.TensorSpec([None], "int32")

    def call(words, lengths):
        return layer(words, sequence_len=lengths)

    compiled = tf.function(call, input_signature=spec)
    for function in (call, compiled):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            function(words, tf.constant(lengths))


def test_other_backends(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    layer = WordVectorization(ByteIndexer(12))
    with pytest.raises(RuntimeError, match=r"batch_to_ids.*backend='jax'"):
        layer(keras.Input((None,), dtype="string"))
    words = [["a", "b"], ["c"]]
    lines = tf.data.Dataset.from_tensors(["a b", "c"])
    (found,) = lines.map(WordVectorization(split="whitespace"))
    assert_equal(found, batch_to_ids(words))
    (found,) = tf.data.Dataset.from_tensors(words[0]).map(layer)
    assert_equal(found, batch_to_ids(words, 12)[0])
    assert_equal(layer(words), batch_to_ids(words, 12))
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(RuntimeError, match=r"batch_to_ids.*backend='jax'"):
        layer(words)
    assert_equal(layer.batch_to_ids(words), batch_to_ids(words, 12))


class Custom(keras.layers.Layer):
    token_shape = (7,)


def test_a_token_encoder_without_a_vectorization_of_its_own():
    encoder = Custom()
    vectorization = vectorization_of(encoder)
    assert type(vectorization) is WordVectorization
    assert vectorization.indexer.token_shape == (7,)
    encoder.token_shape = ()
    for of_numbers in (encoder, keras.layers.Dense(3)):
        with pytest.raises(ValueError, match=r"`make_vectorization`.*Received"):
            vectorization_of(of_numbers)
