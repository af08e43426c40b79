import copy
import functools
import re

import pytest

from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_options import parse_language_model_options

OPTIONS = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 8,
        "cell_clip": 3,
        "proj_clip": 2.5,
        "dim": 16,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "tanh",
        "filters": [[1, 4], [12, 8]],
        "n_highway": 1,
        "embedding": {"dim": 4},
        "n_characters": 262,
        "max_characters_per_token": 12,
    },
}
REMOVED = object()
PARSED = (
    {
        "projection_dim": 8,
        "filters": [[1, 4], [12, 8]],
        "num_highways": 1,
        "embedding_dim": 4,
        "activation": "tanh",
        "max_characters_per_token": 12,
    },
    {
        "units": 16,
        "projection_dim": 8,
        "num_layers": 2,
        "cell_clip": 3.0,
        "proj_clip": 2.5,
        "use_skip_connections": True,
    },
)


def changed(path, value):
    """Returns the options with another value, or no value, at `a.b.c`."""
    options = copy.deepcopy(OPTIONS)
    *sections, key = path.split(".")
    section = functools.reduce(dict.get, sections, options)
    section[key] = value
    if value is REMOVED:
        del section[key]
    return options


def parse_options(options):
    """Returns the arguments of the token encoder and the encoder."""
    return parse_language_model_options(options)[:2]


def test_options_are_arguments_of_layers():
    before = copy.deepcopy(OPTIONS)
    assert parse_language_model_options(OPTIONS) == (*PARSED, None, 8192, 0.1)
    assert before == OPTIONS


@pytest.mark.parametrize(
    ("path", "values", "name", "expected"),
    [
        ("char_cnn.n_highway", [0, None, REMOVED], "num_highways", 0),
        ("lstm.n_layers", [REMOVED], "num_layers", 1),
        ("lstm.cell_clip", [None, REMOVED], "cell_clip", None),
        ("lstm.proj_clip", [None, REMOVED], "proj_clip", None),
        ("lstm.proj_clip", [5], "proj_clip", 5.0),
        (
            "lstm.use_skip_connections",
            [None, REMOVED],
            "use_skip_connections",
            False,
        ),
    ],
)
def test_optional_keys(path, values, name, expected):
    for value in values:
        token_encoder, encoder = parse_options(changed(path, value))
        found = (token_encoder | encoder)[name]
        assert found == expected and type(found) is type(expected)


def test_make_options_is_the_reverse():
    assert make_options(*PARSED) == OPTIONS
    for path, value in (
        ("char_cnn.n_highway", 0),
        ("lstm.cell_clip", None),
        ("lstm.proj_clip", None),
        ("lstm.use_skip_connections", False),
    ):
        options = changed(path, value)
        assert make_options(*parse_options(options)) == options
    # Both numbers of characters mean the same.
    assert parse_options(changed("char_cnn.n_characters", 261)) == PARSED
    token_encoder, encoder = PARSED
    made = make_options(token_encoder, {**encoder, "projection_dim": None})
    assert made["lstm"]["projection_dim"] == 16


@pytest.mark.parametrize("value", [REMOVED, None])
def test_missing_key(value):
    for path in (
        *("lstm", "lstm.dim", "lstm.projection_dim", "char_cnn.filters"),
        *("char_cnn.embedding", "char_cnn.embedding.dim"),
        *("char_cnn.activation", "char_cnn.n_characters"),
        "char_cnn.max_characters_per_token",
    ):
        with pytest.raises(ValueError, match=f"options lack the key '{path}'"):
            parse_options(changed(path, value))


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("lstm", [[1], "8"]),
        ("lstm.dim", ["16", 16.0, 0, True]),
        ("lstm.projection_dim", [[8], -8, True]),
        ("lstm.n_layers", [0, 1.5, True, 10**9]),
        ("lstm.cell_clip", ["3", -3, 0, True, NAN, INFINITE]),
        ("lstm.proj_clip", [[3], -0.1, False, NAN]),
        ("lstm.use_skip_connections", [1, "false"]),
        ("char_cnn", [[], "8"]),
        ("char_cnn.embedding", [4]),
        ("char_cnn.embedding.dim", [0, "4", True]),
        ("char_cnn.activation", ["gelu", "ReLU", ["relu"]]),
        ("char_cnn.n_highway", [-1, "1", True, 10**9]),
        ("char_cnn.n_characters", [260, "262", True]),
        ("char_cnn.max_characters_per_token", [2, 50.0, True, 10**9]),
        ("char_cnn.filters", [[], {"1": 4}, [1, 4], [[1]], [[1, 4, 2]]]),
        ("char_cnn.filters", [[[1, 0]], [[0, 4]], [[True, 4]], [["1", "4"]]]),
        ("char_cnn.filters", [[[1, 4], [13, 4]]]),
        ("n_tokens_vocab", [0, "40", True]),
        ("n_negative_samples_batch", [0, 2.5]),
        ("dropout", [1, -0.1, True, "0.1", NAN]),
        ("bidirectional", [False, "yes"]),
    ],
)
def test_bad_values(path, values):
    for value in values:
        received = re.escape(repr(value))
        told = f"'a.json': The option '{path}' must.* Received: {received}"
        with pytest.raises(ValueError, match=told):
            parse_language_model_options(changed(path, value), "a.json")


def test_options_must_be_an_object():
    told = "must contain a JSON object.*Received: list"
    with pytest.raises(ValueError, match=told):
        parse_options([OPTIONS])


def test_word_input_is_not_supported():
    words = {"lstm": OPTIONS["lstm"], "n_tokens_vocab": 40}
    with pytest.raises(ValueError, match=r"key 'char_cnn'.*\(word input\)"):
        parse_language_model_options(words)


def test_make_options_with_training():
    training = {"n_tokens_vocab": 1503, "n_negative_samples_batch": 256}
    training |= {"dropout": 0.2, "unroll_steps": 20}
    made = make_options(*PARSED, training)
    assert made == {**OPTIONS, **training, "bidirectional": True}
    found = parse_language_model_options(made)
    assert found == (*PARSED, 1503, 256, 0.2)
    assert make_options(*PARSED, dict.fromkeys(training)) == OPTIONS
