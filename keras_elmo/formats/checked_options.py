"""Options from files, checked one by one."""

from keras_elmo.checks import is_integer
from keras_elmo.checks import is_limit
from keras_elmo.checks import is_number
from keras_elmo.checks import pairs_of_filters

_REQUIRED = object()


class CheckedOptions:
    """A dictionary of options, such as a JSON object, or a section of one.

    Args:
        values: The dictionary.
        label: The file's name in messages, if there is a file.
        path: Empty at the top level; otherwise ends in a dot.
    """

    def __init__(self, values, label=None, path=""):
        self.values = values
        self._label = label
        self._path = path
        if not isinstance(values, dict):
            raise self.error(
                "The options must contain a JSON object. "
                f"Received: {type(values).__name__}"
            )

    def section(self, key):
        values = self._get(key, _REQUIRED)
        if not isinstance(values, dict):
            self.fail(key, "a JSON object", values)
        return CheckedOptions(values, self._label, f"{self._path}{key}.")

    def integer(self, key, low, default=_REQUIRED, high=None):
        value = self._get(key, default)
        if value is None:
            return None
        if not is_integer(value, low, high):
            expected = f"at least {low}" if high is None else f"{low} to {high}"
            self.fail(key, f"an integer of {expected}", value)
        return value

    def sections(self, key):
        """Returns a list of JSON objects as `CheckedOptions`."""
        values = self._get(key, [])
        if not isinstance(values, list):
            self.fail(key, "a list", values)
        values = dict(enumerate(values))
        options = CheckedOptions(values, self._label, f"{self._path}{key}.")
        return [options.section(i) for i in values]

    def limit(self, key):
        value = self._get(key, None)
        if value is None:
            return None
        if not is_limit(value):
            self.fail(key, "a positive number or null", value)
        return float(value)

    def fraction(self, key, default):
        value = self._get(key, default)
        if not is_number(value) or not 0 <= value < 1:
            self.fail(key, "a number of at least 0 and below 1", value)
        return float(value)

    def flag(self, key, default=False):
        value = self._get(key, default)
        if not isinstance(value, bool):
            self.fail(key, "true or false", value)
        return value

    def one_of(self, key, choices):
        value = self._get(key, _REQUIRED)
        if value not in choices or isinstance(value, bool):
            self.fail(key, " or ".join(repr(c) for c in choices), value)
        return value

    def filters(self, key, max_width):
        value = self._get(key, _REQUIRED)
        if pairs_of_filters(value, max_width) is None:
            self.fail(
                key,
                "a list of pairs [width, number] of positive integers, with "
                f"widths up to max_characters_per_token ({max_width})",
                value,
            )
        return value

    def fail(self, key, expected, received):
        raise self.error(
            f"The option '{self._path}{key}' must be {expected}. "
            f"Received: {received!r}"
        )

    def error(self, text):
        """Returns a `ValueError` that names the file."""
        where = "" if self._label is None else f"The file '{self._label}': "
        return ValueError(where + text)

    def _get(self, key, default):
        value = self.values.get(key)
        if value is not None:
            return value
        if default is _REQUIRED:
            raise self.error(f"The options lack the key '{self._path}{key}'.")
        return default
