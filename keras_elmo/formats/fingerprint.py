"""What tells one trained biLM from another."""

import hashlib
import json
import os

from keras_elmo.formats.bilm_files import open_bilm


def bilm_fingerprint(options, weights=None):
    """Returns a digest of a biLM's options and weights, 16 hex digits.

    Args:
        options: As for `open_bilm`.
        weights: As for `open_bilm`.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: As `open_bilm`.
    """
    with open_bilm(options, weights) as files:
        parsed = json.dumps(files.read_options(), sort_keys=True)
        digest = hashlib.sha256(parsed.encode())
        digest.update(_digest(files.weights.file))
    return digest.hexdigest()[:16]


def files_fingerprint(folder, names):
    """Returns a digest of some files of a folder, 16 hex digits."""
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0")
        digest.update(_digest(os.path.join(folder, name)))
    return digest.hexdigest()[:16]


def file_digest(path):
    """Returns a digest of a file, 16 hex digits."""
    return _digest(path).hex()[:16]


def _digest(file):
    if hasattr(file, "read"):
        return hashlib.file_digest(file, "sha256").digest()
    with open(file, "rb") as opened:
        return _digest(opened)
