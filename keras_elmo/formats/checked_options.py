"""Options from files, checked one by one."""

import functools

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
        values = self._get(key, _is(dict), "a JSON object")
        return CheckedOptions(values, self._label, f"{self._path}{key}.")

    def integer(self, key, low, default=_REQUIRED, high=None):
        expected = f"at least {low}" if high is None else f"{low} to {high}"
        expected = f"an integer of {expected}"
        is_right = functools.partial(is_integer, low=low, high=high)
        return self._get(key, is_right, expected, default)

    def sections(self, key):
        """Returns a list of JSON objects as `CheckedOptions`."""
        values = dict(enumerate(self._get(key, _is(list), "a list", [])))
        options = CheckedOptions(values, self._label, f"{self._path}{key}.")
        return [options.section(i) for i in values]

    def limit(self, key):
        value = self._get(key, is_limit, "a positive number or null", None)
        return None if value is None else float(value)

    def fraction(self, key, default):
        def is_right(value):
            return is_number(value) and 0 <= value < 1

        expected = "a number of at least 0 and below 1"
        return float(self._get(key, is_right, expected, default))

    def flag(self, key, default=False):
        return self._get(key, _is(bool), "true or false", default)

    def one_of(self, key, choices):
        def is_right(value):
            return value in choices and not isinstance(value, bool)

        return self._get(key, is_right, " or ".join(map(repr, choices)))

    def filters(self, key, max_width):
        expected = (
            "a list of pairs [width, number] of positive integers, with "
            f"widths up to max_characters_per_token ({max_width})"
        )
        is_right = functools.partial(pairs_of_filters, max_width=max_width)
        return self._get(key, is_right, expected)

    def fail(self, key, expected, received):
        raise self.error(
            f"The option '{self._path}{key}' must be {expected}. "
            f"Received: {received!r}"
        )

    def error(self, text):
        """Returns a `ValueError` that names the file."""
        where = "" if self._label is None else f"The file '{self._label}': "
        return ValueError(where + text)

    def _get(self, key, is_right, expected, default=_REQUIRED):
        """Returns a value that is right; or the default, if there is none."""
        value = self.values.get(key)
        if value is None:
            if default is _REQUIRED:
                raise self.error(
                    f"The options lack the key '{self._path}{key}'."
                )
            return default
        if not is_right(value):
            self.fail(key, expected, value)
        return value


def _is(kind):
    return lambda value: isinstance(value, kind)
