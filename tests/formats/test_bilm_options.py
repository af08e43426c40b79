import copy
import json

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
    section = options
    for name in sections:
        section = section[name]
    if value is REMOVED:
        del section[key]
    else:
        section[key] = value
    return options


def parse_options(options):
    """Returns the arguments of the token encoder and the encoder."""
    return parse_language_model_options(options)[:2]


def test_options_are_arguments_of_layers():
    assert parse_language_model_options(OPTIONS) == (*PARSED, None, 8192, 0.1)


@pytest.mark.parametrize(
    ("path", "values", "expected"),
    [
        ("char_cnn.n_highway", [0, None, REMOVED], 0),
        ("lstm.n_layers", [REMOVED], 1),
        ("lstm.cell_clip", [None, REMOVED], None),
        ("lstm.cell_clip", [0.5], 0.5),
        ("lstm.proj_clip", [None, REMOVED], None),
        ("lstm.proj_clip", [5], 5.0),
        ("lstm.use_skip_connections", [None, False, REMOVED], False),
    ],
)
def test_optional_keys(path, values, expected):
    _, name = path.split(".")
    name = {"n_highway": "num_highways", "n_layers": "num_layers"}.get(
        name, name
    )
    for value in values:
        token_encoder, encoder = parse_options(changed(path, value))
        found = (token_encoder | encoder)[name]
        assert found == expected and type(found) is type(expected)


def test_make_options_is_the_reverse():
    for options in (
        OPTIONS,
        changed("char_cnn.n_highway", 0),
        changed("lstm.cell_clip", None),
        changed("lstm.proj_clip", None),
        changed("lstm.use_skip_connections", False),
    ):
        before = copy.deepcopy(options)
        made = make_options(*parse_options(options))
        assert made == options == before
        assert json.loads(json.dumps(made)) == made


def test_both_numbers_of_characters_mean_the_same():
    parsed = parse_options(changed("char_cnn.n_characters", 261))
    assert parsed == parse_options(OPTIONS)
    assert make_options(*parsed) == OPTIONS


def test_make_options_without_projection():
    token_encoder, encoder = PARSED
    made = make_options(token_encoder, {**encoder, "projection_dim": None})
    assert made["lstm"]["projection_dim"] == made["lstm"]["dim"] == 16


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
    told = rf"'my/options\.json': The option '{path}' must"
    for value in values:
        with pytest.raises(ValueError, match=told) as info:
            parse_language_model_options(
                changed(path, value), "my/options.json"
            )
        assert f"Received: {value!r}" in str(info.value)


@pytest.mark.parametrize("options", [[OPTIONS], None, "{}", 3])
def test_options_must_be_an_object(options):
    with pytest.raises(ValueError, match="must contain a JSON object") as info:
        parse_options(options)
    assert f"Received: {type(options).__name__}" in str(info.value)


TRAINING = {
    "n_tokens_vocab": 1503,
    "n_negative_samples_batch": 256,
    "dropout": 0.2,
    "unroll_steps": 20,
}


def test_word_input_is_not_supported():
    words = {"lstm": OPTIONS["lstm"], "n_tokens_vocab": 40}
    with pytest.raises(ValueError, match=r"key 'char_cnn'.*\(word input\)"):
        parse_language_model_options(words)


def test_make_options_with_training():
    made = make_options(*PARSED, TRAINING)
    assert made == {**OPTIONS, **TRAINING, "bidirectional": True}
    again = {**TRAINING, "bidirectional": True}
    assert make_options(*PARSED, again) == made
    found = parse_language_model_options(made)
    assert found == (*PARSED, 1503, 256, 0.2)
    assert make_options(*PARSED, dict.fromkeys(TRAINING)) == OPTIONS
