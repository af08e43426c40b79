import copy
import json

import pytest

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
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
REFERENCE = (
    {
        "projection_dim": 32,
        "filters": [[1, 8], [2, 8], [3, 16], [4, 32]],
        "num_highways": 1,
        "embedding_dim": 8,
        "activation": "relu",
        "max_characters_per_token": 50,
    },
    {
        "units": 64,
        "projection_dim": 32,
        "num_layers": 2,
        "cell_clip": 3.0,
        "proj_clip": 3.0,
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


def test_options_of_the_reference(shared):
    path = shared / "reference/bilm_tf_checkpoint/options.json"
    found = parse_language_model_options(json.loads(path.read_text()))
    assert found == (*REFERENCE, 1503, 256, 0.1)


@pytest.mark.parametrize(
    ("path", "values", "part", "argument", "expected"),
    [
        ("char_cnn.n_highway", [0, None, REMOVED], 0, "num_highways", 0),
        ("lstm.n_layers", [REMOVED], 1, "num_layers", 1),
        ("lstm.cell_clip", [None, REMOVED], 1, "cell_clip", None),
        ("lstm.cell_clip", [0.5], 1, "cell_clip", 0.5),
        ("lstm.proj_clip", [None, REMOVED], 1, "proj_clip", None),
        ("lstm.proj_clip", [5], 1, "proj_clip", 5.0),
        (
            "lstm.use_skip_connections",
            [None, False, REMOVED],
            1,
            "use_skip_connections",
            False,
        ),
    ],
)
def test_optional_keys(path, values, part, argument, expected):
    for value in values:
        found = parse_options(changed(path, value))[part][argument]
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


def test_make_options_takes_layer_configs():
    token_encoder, encoder = parse_options(OPTIONS)
    made = make_options(
        CharCNNEmbedding(**token_encoder).get_config(),
        BiLMEncoder(**encoder).get_config(),
    )
    assert made == OPTIONS


def test_make_options_without_projection():
    token_encoder, encoder = parse_options(OPTIONS)
    made = make_options(token_encoder, {**encoder, "projection_dim": None})
    assert made["lstm"]["projection_dim"] == made["lstm"]["dim"] == 16


@pytest.mark.parametrize(
    "path",
    [
        *("lstm", "lstm.dim", "lstm.projection_dim", "char_cnn.filters"),
        *("char_cnn.embedding", "char_cnn.embedding.dim"),
        *("char_cnn.activation", "char_cnn.n_characters"),
        "char_cnn.max_characters_per_token",
    ],
)
def test_missing_key(path):
    for value in (REMOVED, None):
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
        with pytest.raises(ValueError, match=f"option '{path}' must") as info:
            parse_options(changed(path, value))
        assert f"Received: {value!r}" in str(info.value)


@pytest.mark.parametrize("options", [[OPTIONS], None, "{}", 3])
def test_options_must_be_an_object(options):
    with pytest.raises(ValueError, match="must contain a JSON object") as info:
        parse_options(options)
    assert f"Received: {type(options).__name__}" in str(info.value)


def test_a_file_is_named():
    with pytest.raises(ValueError, match=r"'my/options\.json': The option "):
        parse_language_model_options(
            changed("lstm.dim", 0), label="my/options.json"
        )


TRAINING = {
    "n_tokens_vocab": 1503,
    "n_negative_samples_batch": 256,
    "dropout": 0.2,
    "unroll_steps": 20,
    "batch_size": 16,
    "all_clip_norm_val": 10.0,
}


def test_language_model_options_by_default():
    found = parse_language_model_options(OPTIONS)
    assert found[2:] == (None, 8192, 0.1)


def test_word_input_is_not_supported():
    words = {"lstm": OPTIONS["lstm"], "n_tokens_vocab": 40}
    with pytest.raises(ValueError, match=r"key 'char_cnn'.*\(word input\)"):
        parse_language_model_options(words)


def test_make_options_with_training():
    made = make_options(*parse_options(OPTIONS), TRAINING)
    assert made == {**OPTIONS, **TRAINING, "bidirectional": True}
    again = {**TRAINING, "bidirectional": True}
    assert make_options(*parse_options(OPTIONS), again) == made
    found = parse_language_model_options(made)
    assert found[2:] == (1503, 256, 0.2)
    assert parse_options(made) == parse_options(OPTIONS)
    nothing = dict.fromkeys(TRAINING)
    assert make_options(*parse_options(OPTIONS), nothing) == OPTIONS
