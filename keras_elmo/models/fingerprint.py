"""Fingerprints of trained biLMs, of everything that affects the vectors."""

import hashlib
import json
import os

from keras_elmo.formats.bilm_files import open_bilm


def bilm_fingerprint(options, weights=None):
    """Returns a digest of a biLM, 16 hex digits.

    It covers the options, the weights and, for a model with word input, the
    vocabulary next to them.

    Args:
        options: As for `open_bilm`.
        weights: As for `open_bilm`.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: As for `open_bilm`.
    """
    with open_bilm(options, weights) as files:
        parts = [_of_json(files.content), *map(_of_file, files.weight_files)]
        if files.options.is_word_input:
            vocabulary = files.read_vocabulary()
            if vocabulary is not None:
                parts.append(hashlib.sha256(vocabulary).digest())
    return _of_parts(parts)


def files_fingerprint(folder, names, said=None):
    """Returns a digest of some files in a folder, 16 hex digits.

    Args:
        folder: Path of the folder.
        names: Names of the files.
        said: The contents of other files, in a form that fits JSON.
    """
    parts = [_of_json(said)]
    for name in sorted(names):
        parts.append(hashlib.sha256(name.encode()).digest())
        parts.append(_of_file(os.path.join(folder, name)))
    return _of_parts(parts)


def file_digest(path):
    """Returns a digest of a file, 16 hex digits."""
    return _of_file(path).hex()[:16]


def _of_parts(digests):
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]


def _of_json(content):
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).digest()


def _of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
