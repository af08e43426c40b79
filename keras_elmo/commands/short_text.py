"""Shortens the error messages of other libraries."""

import re

_LONGEST = 200
_OPENING = re.compile(r"[\[{]")
# Strings are skipped, as the brackets in them are text.
_INSIDE = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\[\]{}]""", re.DOTALL
)


def shorten(text):
    """Shortens long lists and dictionaries in a text, such as a vocabulary."""
    parts, start = [], 0
    while opening := _OPENING.search(text, start):
        end = _end(text, opening.start())
        parts.append(text[start : opening.start()])
        parts.append(_cut(text[opening.start() : end]))
        start = end
    return "".join([*parts, text[start:]])


def _end(text, opening):
    """Returns the end of the bracketed text that starts at `opening`."""
    depth = 0
    for found in _INSIDE.finditer(text, opening):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
            if not depth:
                return found.end()
    return len(text)


def _cut(group):
    if len(group) <= _LONGEST:
        return group
    closing = group[-1] if group[-1] in "]}" else ""
    return f"{group[: _LONGEST // 2]} ... {closing}"
