"""Damaged files, for tests of their readers."""

import copy
import functools
import json
import operator

import pytest
from hypothesis import strategies as st

_HOSTILE_VALUES = [
    None, True, False, 0, -1, 1.5, 1e308, 10**9, 10**30, "", "3", "\0", "😀",
    [], [[]], {}, [0], [[1, 2, 3]], {"dim": {}}, "NaN", ["relu"], [10**9] * 2,
]  # fmt: skip


def damaged(content):
    """A strategy for damaged versions of `content`, bytes."""
    places = st.integers(0, max(0, len(content) - 1))
    pieces = st.binary(min_size=1, max_size=40)
    bits = st.lists(
        st.tuples(places, st.integers(0, 7)), min_size=1, max_size=9
    )
    # Parts that are left out, repeated, replaced or put in between.
    joined = st.tuples(places, places, pieces | st.just(b"")).map(
        lambda a: content[: a[0]] + a[2] + content[a[1] :]
    )
    cut = places.map(lambda i: content[:i])
    flipped = bits.map(lambda found: _flip(content, found))
    return st.one_of(cut, flipped, joined, joined, pieces)


def damaged_json(content):
    """Like `damaged`, for JSON: also valid JSON with other values."""
    value = json.loads(content)
    paths = st.sampled_from(list(_paths(value)))
    others = st.sampled_from(_HOSTILE_VALUES)
    rewritten = st.tuples(paths, others).map(
        lambda a: json.dumps(_replaced(value, *a)).encode()
    )
    lacking = paths.filter(bool).map(
        lambda path: json.dumps(_without(value, path)).encode()
    )
    deep = st.just(b'{"lstm": ' + b"[" * 100_000)
    return st.one_of(damaged(content), rewritten, rewritten, lacking, deep)


def reads_or_says_why(read, *names):
    """Calls a reader, which may fail if it names a file and a reason.

    Args:
        read: Function without arguments.
        *names: Strings, one of which must be in the error message.

    Returns:
        What was read, or `None`.
    """
    try:
        return read()
    except (ValueError, FileNotFoundError) as error:
        message = str(error)
    if not any(name in message for name in names):
        pytest.fail(f"The error names none of {names}: {message}")
    return None


def _flip(content, bits):
    content = bytearray(content)
    for place, bit in bits:
        content[place] ^= 1 << bit
    return bytes(content)


def _paths(value, path=()):
    yield path
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return
    for key, item in items:
        yield from _paths(item, (*path, key))


def _replaced(value, path, new):
    if not path:
        return new
    key, *rest = path
    value = value.copy()
    value[key] = _replaced(value[key], rest, new)
    return value


def _without(value, path):
    *rest, key = path
    value = copy.deepcopy(value)
    del functools.reduce(operator.getitem, rest, value)[key]
    return value
