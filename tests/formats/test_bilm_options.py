import copy
import json

import pytest

from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo.formats import make_options
from keras_elmo.formats import parse_options

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

REFERENCE = {
    "bilm_tf": (
        {
            "projection_dim": 16,
            "filters": [[1, 4], [2, 8], [3, 16], [4, 32], [5, 64]],
            "num_highways": 2,
            "embedding_dim": 4,
            "activation": "relu",
            "max_characters_per_token": 50,
        },
        {
            "units": 64,
            "projection_dim": 16,
            "num_layers": 2,
            "cell_clip": 3.0,
            "proj_clip": 3.0,
            "use_skip_connections": False,
        },
    ),
    "bilm_tf_english": (
        {
            "projection_dim": 128,
            "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]],
            "num_highways": 1,
            "embedding_dim": 16,
            "activation": "relu",
            "max_characters_per_token": 50,
        },
        {
            "units": 512,
            "projection_dim": 128,
            "num_layers": 2,
            "cell_clip": 3.0,
            "proj_clip": 3.0,
            "use_skip_connections": True,
        },
    ),
    "bilm_tf_checkpoint": (
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
    ),
}
# Made of the same numbers, but for the skip connections.
REFERENCE["allennlp"] = (
    REFERENCE["bilm_tf"][0],
    {**REFERENCE["bilm_tf"][1], "use_skip_connections": True},
)


def changed(path, value):
    """The options with another value, or none, at `a.b.c`."""
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


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_reference_options(shared, name):
    path = shared / "reference" / name / "options.json"
    assert parse_options(json.loads(path.read_text())) == REFERENCE[name]


def test_results_are_the_layers_arguments():
    token_encoder, encoder = parse_options(OPTIONS)
    CharCNNEmbedding(**token_encoder)
    BiLMEncoder(**encoder)


def test_parsing_leaves_the_options_alone():
    options = copy.deepcopy(OPTIONS)
    parse_options(options)
    assert options == OPTIONS


@pytest.mark.parametrize("number", [261, 262])
def test_both_numbers_of_characters_mean_the_same(number):
    options = changed("char_cnn.n_characters", number)
    assert parse_options(options) == parse_options(OPTIONS)


@pytest.mark.parametrize(
    "path, value, part, argument, expected",
    [
        ("char_cnn.n_highway", 0, 0, "num_highways", 0),
        ("char_cnn.n_highway", None, 0, "num_highways", 0),
        ("char_cnn.n_highway", REMOVED, 0, "num_highways", 0),
        ("lstm.n_layers", REMOVED, 1, "num_layers", 1),
        ("lstm.cell_clip", None, 1, "cell_clip", None),
        ("lstm.cell_clip", REMOVED, 1, "cell_clip", None),
        ("lstm.cell_clip", 0.5, 1, "cell_clip", 0.5),
        ("lstm.proj_clip", None, 1, "proj_clip", None),
        ("lstm.proj_clip", REMOVED, 1, "proj_clip", None),
        ("lstm.proj_clip", 5, 1, "proj_clip", 5.0),
        ("lstm.use_skip_connections", None, 1, "use_skip_connections", False),
        ("lstm.use_skip_connections", False, 1, "use_skip_connections", False),
        (
            "lstm.use_skip_connections",
            REMOVED,
            1,
            "use_skip_connections",
            False,
        ),
    ],
)
def test_optional_keys(path, value, part, argument, expected):
    assert parse_options(changed(path, value))[part][argument] == expected


def test_make_options_is_the_reverse():
    for options in (
        OPTIONS,
        changed("char_cnn.n_highway", 0),
        changed("lstm.cell_clip", None),
        changed("lstm.proj_clip", None),
        changed("lstm.use_skip_connections", False),
    ):
        made = make_options(*parse_options(options))
        assert made == options
        assert json.loads(json.dumps(made)) == made


def test_make_options_writes_262_characters():
    made = make_options(*parse_options(changed("char_cnn.n_characters", 261)))
    assert made["char_cnn"]["n_characters"] == 262


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
        "lstm",
        "lstm.dim",
        "lstm.projection_dim",
        "char_cnn.filters",
        "char_cnn.embedding",
        "char_cnn.embedding.dim",
        "char_cnn.activation",
        "char_cnn.n_characters",
        "char_cnn.max_characters_per_token",
    ],
)
def test_missing_key(path):
    with pytest.raises(ValueError, match=f"options lack the key '{path}'"):
        parse_options(changed(path, REMOVED))


@pytest.mark.parametrize(
    "path, value",
    [
        ("lstm", [1]),
        ("lstm", None),
        ("lstm.dim", "16"),
        ("lstm.dim", 16.0),
        ("lstm.dim", 0),
        ("lstm.dim", True),
        ("lstm.projection_dim", [8]),
        ("lstm.projection_dim", -8),
        ("lstm.projection_dim", True),
        ("lstm.n_layers", 0),
        ("lstm.n_layers", 1.5),
        ("lstm.n_layers", True),
        ("lstm.cell_clip", "3"),
        ("lstm.cell_clip", -3),
        ("lstm.cell_clip", 0),
        ("lstm.cell_clip", True),
        ("lstm.cell_clip", float("nan")),
        ("lstm.cell_clip", float("inf")),
        ("lstm.proj_clip", [3]),
        ("lstm.proj_clip", -0.1),
        ("lstm.proj_clip", False),
        ("lstm.proj_clip", float("nan")),
        ("lstm.use_skip_connections", 1),
        ("lstm.use_skip_connections", "false"),
        ("char_cnn", []),
        ("char_cnn", None),
        ("char_cnn.embedding", 4),
        ("char_cnn.embedding.dim", 0),
        ("char_cnn.embedding.dim", "4"),
        ("char_cnn.embedding.dim", True),
        ("char_cnn.activation", "gelu"),
        ("char_cnn.activation", "ReLU"),
        ("char_cnn.activation", ["relu"]),
        ("char_cnn.n_highway", -1),
        ("char_cnn.n_highway", "1"),
        ("char_cnn.n_highway", True),
        ("char_cnn.n_characters", 260),
        ("char_cnn.n_characters", "262"),
        ("char_cnn.n_characters", True),
        ("char_cnn.max_characters_per_token", 2),
        ("char_cnn.max_characters_per_token", 50.0),
        ("char_cnn.max_characters_per_token", True),
        ("char_cnn.filters", []),
        ("char_cnn.filters", {"1": 4}),
        ("char_cnn.filters", [1, 4]),
        ("char_cnn.filters", [[1]]),
        ("char_cnn.filters", [[1, 4, 2]]),
        ("char_cnn.filters", [[1, 0]]),
        ("char_cnn.filters", [[0, 4]]),
        ("char_cnn.filters", [[True, 4]]),
        ("char_cnn.filters", [["1", "4"]]),
        ("char_cnn.filters", [[1, 4], [13, 4]]),
    ],
)
def test_bad_value(path, value):
    with pytest.raises(ValueError, match=f"The option '{path}' must") as info:
        parse_options(changed(path, value))
    assert f"Received: {value!r}" in str(info.value)


@pytest.mark.parametrize("options", [[OPTIONS], None, "{}", 3])
def test_options_must_be_an_object(options):
    with pytest.raises(ValueError, match="must hold a JSON object") as info:
        parse_options(options)
    assert f"Received: {type(options).__name__}" in str(info.value)


def test_word_input_has_no_char_cnn():
    options = changed("char_cnn", REMOVED)
    with pytest.raises(ValueError, match="no key 'char_cnn'") as info:
        parse_options(options)
    assert "only models with character input" in str(info.value)
    assert "Received keys: ['lstm']" in str(info.value)
