"""The options file of a biLM: its JSON, as the layers' arguments, and back."""

_REQUIRED = object()


def parse_options(options):
    """Turns an options file's content into constructor arguments.

    Args:
        options: Dictionary, as parsed from the JSON.

    Returns:
        Two dictionaries: the arguments of `CharCNNEmbedding` and those of
        `BiLMEncoder`.

    Raises:
        ValueError: Naming the key, what it must be, and what was found.
    """
    if not isinstance(options, dict):
        raise ValueError(
            "A biLM options file must hold a JSON object. "
            f"Received: {type(options).__name__}"
        )
    if "char_cnn" not in options:
        raise ValueError(
            "The options have no key 'char_cnn': only models with character "
            f"input can be loaded. Received keys: {sorted(options)}"
        )
    lstm = _Section(options, "lstm")
    units = lstm.integer("dim", 1)
    projection_dim = lstm.integer("projection_dim", 1)
    encoder = {
        "units": units,
        "projection_dim": projection_dim,
        "num_layers": lstm.integer("n_layers", 1, default=1),
        "cell_clip": lstm.limit("cell_clip"),
        "proj_clip": lstm.limit("proj_clip"),
        "use_skip_connections": lstm.flag("use_skip_connections"),
    }
    char_cnn = _Section(options, "char_cnn")
    max_characters = char_cnn.integer("max_characters_per_token", 3)
    # Training writes 261, prediction 262, over the same 261 rows of weights.
    char_cnn.one_of("n_characters", (261, 262))
    token_encoder = {
        "projection_dim": projection_dim,
        "filters": char_cnn.filters("filters", max_characters),
        "num_highways": char_cnn.integer("n_highway", 0, default=0),
        "embedding_dim": char_cnn.section("embedding").integer("dim", 1),
        "activation": char_cnn.one_of("activation", ("relu", "tanh")),
        "max_characters_per_token": max_characters,
    }
    return token_encoder, encoder


def make_options(token_encoder, encoder):
    """The reverse of `parse_options`: two configs -> an options dictionary."""
    output_dim = encoder["projection_dim"] or encoder["units"]
    return {
        "lstm": {
            "use_skip_connections": encoder["use_skip_connections"],
            "projection_dim": output_dim,
            "cell_clip": encoder["cell_clip"],
            "proj_clip": encoder["proj_clip"],
            "dim": encoder["units"],
            "n_layers": encoder["num_layers"],
        },
        "char_cnn": {
            "activation": token_encoder["activation"],
            "filters": token_encoder["filters"],
            "n_highway": token_encoder["num_highways"],
            "embedding": {"dim": token_encoder["embedding_dim"]},
            "n_characters": 262,
            "max_characters_per_token": token_encoder[
                "max_characters_per_token"
            ],
        },
    }


class _Section:
    """A dictionary inside the options, whose values are checked when read."""

    def __init__(self, parent, key, path=""):
        self.path = f"{path}{key}"
        if key not in parent:
            raise ValueError(f"The options lack the key '{self.path}'.")
        self.values = parent[key]
        if not isinstance(self.values, dict):
            self._fail(None, "a JSON object", self.values)

    def section(self, key):
        return _Section(self.values, key, f"{self.path}.")

    def integer(self, key, low, default=_REQUIRED):
        value = self._get(key, default)
        if not _is_integer(value) or value < low:
            self._fail(key, f"an integer of at least {low}", value)
        return value

    def limit(self, key):
        value = self._get(key, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._fail(key, "a positive number or null", value)
        if not 0 < value < 3e38:  # float32 ends there
            self._fail(key, "a positive number or null", value)
        return float(value)

    def flag(self, key):
        value = self._get(key, False)
        if not isinstance(value, bool):
            self._fail(key, "true or false", value)
        return value

    def one_of(self, key, choices):
        value = self._get(key, _REQUIRED)
        if value not in choices or isinstance(value, bool):
            self._fail(key, " or ".join(repr(c) for c in choices), value)
        return value

    def filters(self, key, max_width):
        value = self._get(key, _REQUIRED)
        good = isinstance(value, list) and value
        good = good and all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(_is_integer(n) and n >= 1 for n in pair)
            and pair[0] <= max_width
            for pair in value
        )
        if not good:
            self._fail(
                key,
                "a list of pairs [width, number] of positive integers, no "
                f"width above max_characters_per_token ({max_width})",
                value,
            )
        return value

    def _get(self, key, default):
        value = self.values.get(key)
        if value is None:
            if default is _REQUIRED:
                raise ValueError(
                    f"The options lack the key '{self.path}.{key}'."
                )
            return default
        return value

    def _fail(self, key, expected, received):
        path = f"{self.path}.{key}" if key else self.path
        raise ValueError(
            f"The option '{path}' must be {expected}. Received: {received!r}"
        )


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)
