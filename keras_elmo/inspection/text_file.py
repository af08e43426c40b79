"""Text files: options, vocabularies, vectors of words."""

import gzip
import json
import os
import re
import zlib

from keras_elmo.files.untrusted_files import UntrustedFile
from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.files.untrusted_files import check_regular
from keras_elmo.inspection.bilm_model import add_options
from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.finding import size_of
from keras_elmo.inspection.finding import unreadable
from keras_elmo.text.special_words import BEGIN_SENTENCE
from keras_elmo.text.special_words import END_SENTENCE
from keras_elmo.text.special_words import UNKNOWN

_SPECIAL = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def inspect_json(path):
    """Returns the `Finding` of a file that should be JSON."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except (ValueError, RecursionError) as error:
        return unreadable(path, "a file", f"It is no JSON: {error}")
    if not isinstance(content, dict) or "lstm" not in content:
        keys = (
            ", ".join(sorted(content)[:8]) if isinstance(content, dict) else ""
        )
        return Finding(path, "a JSON file", {"keys": keys or "none"})
    finding = Finding(path, "the options file of a biLM")
    add_options(finding, path)
    if not finding.problems:
        finding.uses.append(
            f'keras_elmo.ElmoLayer.from_bilm("{path}", "weights.hdf5")'
        )
    return finding


def inspect_text(path):
    """Returns the `Finding` of a text file, plain or gzip."""
    try:
        lines = _first_lines(path, 3)
    except (OSError, EOFError, zlib.error) as error:
        reason = f"It cannot be unpacked, and may be cut off: {error}"
        return unreadable(path, "a gzip file", reason)
    except UnicodeDecodeError:
        return unreadable(
            path,
            "a file of bytes",
            "It is nothing that this package knows, and no UTF-8 text.",
        )
    size = {"size": size_of(os.path.getsize(path))}
    fields = lines[-1].split() if lines else []
    if len(fields) > 2 and all(map(_NUMBER.fullmatch, fields[1:])):
        finding = Finding(path, "vectors of words", size)
        finding.uses.append(f'keras_elmo.read_word_vectors("{path}")')
        return finding
    if all(" " not in line for line in lines):
        finding = Finding(path, "a vocabulary, one word a line", size)
        add_vocabulary(finding, path)
        return finding
    return Finding(
        path,
        "text",
        size,
        [f"keras-elmo embed {path} vectors.hdf5 --model english_tiny"],
    )


def add_vocabulary(finding, path, options=None):
    """Adds what a vocabulary file holds, and whether it fits the options."""
    try:
        with _open(path) as file:
            lines = bounded_lines(file, os.path.getsize(path))
            words = [line.rstrip(b"\r\n") for line in lines]
    except (OSError, EOFError, zlib.error, UntrustedFile) as error:
        finding.problems.append(
            f"{os.path.basename(path)} cannot be read: {error}"
        )
        return
    missing = [word.decode() for word in _SPECIAL if word not in words]
    told = f"{len(words):,} words"
    if missing:
        told += f", without {', '.join(missing)}"
    if len(set(words)) < len(words):
        told += f", {len(words) - len(set(words)):,} of them there before"
    finding.facts["vocabulary"] = told
    expected = options and options.vocabulary_size
    if expected and expected != len(words):
        finding.problems.append(
            f"{os.path.basename(path)} must have as many words as the options "
            f"say, n_tokens_vocab={expected:,}. Received: {len(words):,}"
        )


def _first_lines(path, number):
    """The first lines that hold something, at most 4096 characters of each."""
    with _open(path) as file:
        lines = [file.readline(1 << 16) for _ in range(number)]
    texts = [line.decode("utf-8-sig").rstrip("\r\n") for line in lines]
    if any("\0" in text for text in texts):
        raise UnicodeDecodeError("utf-8", b"\0", 0, 1, "it holds a NUL")
    return [text for text in texts if text]


def _open(path):
    check_regular(path)
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else open(path, "rb")
