"""Fingerprints of everything that affects the vectors of a model."""

import hashlib
import json


def fingerprint(content, files):
    """Returns a digest, 16 hex digits.

    Args:
        content: Anything that can be written as JSON.
        files: Paths of files, of which the contents count.
    """
    parts = [json.dumps(content, sort_keys=True), *map(file_digest, files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def file_digest(path):
    """Returns a digest of a file, 16 hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
