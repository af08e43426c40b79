"""What tells a training's texts from others."""

import hashlib
import os

from keras_elmo.models.fingerprint import file_digest

_TO_BEGIN_ANEW = "To begin anew, choose another folder, or --restart."


def describe_shards(paths):
    """Returns a list `[name, digest]` for each shard, for `check_shards`."""
    return [[os.path.basename(path), file_digest(path)] for path in paths]


def check_shards(paths, before):
    """Raises `ValueError` unless the shards are those of a description."""
    names = [os.path.basename(path) for path in paths]
    old_names = [name for name, _ in before]
    if names != old_names:
        raise ValueError(
            "A training that goes on must have the shards that it began with. "
            f"Missing: {sorted(set(old_names) - set(names)) or 'none'}. "
            f"New: {sorted(set(names) - set(old_names)) or 'none'}. "
            f"{_TO_BEGIN_ANEW}"
        )
    changed = [
        path
        for path, (_, digest) in zip(paths, before)
        if file_digest(path) != digest
    ]
    if changed:
        raise ValueError(
            "A training that goes on must have the text that it began with. "
            f"Changed since: {changed}. Put back what was there. "
            f"{_TO_BEGIN_ANEW}"
        )


def text_digest(sentences):
    """Returns a digest of a text, a list of lists of words, or `None`."""
    if sentences is None:
        return None
    digest = hashlib.sha256()
    for words in sentences:
        digest.update(b" ".join(words) + b"\n")
    return digest.hexdigest()[:16]


def check_heldout(digest, before):
    """Raises `ValueError` unless a held-out text is the one of before."""
    if digest != before:
        received = "none" if digest is None else "another text"
        raise ValueError(
            "The held-out text (--heldout) must be the one that the best model "
            "so far was measured on: perplexities of two texts do not compare. "
            f"Received: {received}. {_TO_BEGIN_ANEW}"
        )
