"""The vectors with which `keras-elmo inspect` compares models."""

import os
import zipfile
from typing import NamedTuple

import numpy as np

from keras_elmo.embedding.embedding_files import read_npz
from keras_elmo.embedding.embedding_files import write_embeddings

TOLERANCE = 1e-4

# Short and long words, an unknown one, and letters of several scripts.
_SENTENCES = (
    ("The", "children", "play", "in", "the", "garden", "."),
    ("我", "今天", "去", "天津", "上学"),
    ("Don't", "antidisestablishmentarianism", "1,234.5", "naïve", "!"),
)


class Result(NamedTuple):
    """The result of writing or comparing vectors."""

    is_good: bool
    message: str
    difference: float | None = None


def write(inspection, path):
    """Writes the vectors of a model's three sentences."""
    if os.path.isfile(path):
        raise ValueError(
            f"--vectors must be a new file. Received: '{path}', which exists. "
            "To compare with it, use --verify."
        )
    vectors = _embed(inspection)
    texts = map(" ".join, _SENTENCES)
    write_embeddings(path, zip(texts, vectors), "npz")
    return Result(True, f"The vectors of three sentences are in '{path}'.")


def compare(inspection, path):
    """Compares a model's vectors with those of a file that `write` wrote."""
    try:
        stored = list(read_npz(path))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(
            "--verify must be a file that --vectors wrote. "
            f"Received: '{path}', which cannot be read as one: {error}"
        ) from error
    if [text for text, _ in stored] != list(map(" ".join, _SENTENCES)):
        raise ValueError(
            "--verify must be a file that --vectors wrote. "
            f"Received: '{path}', with other sentences"
        )
    worst = 0.0
    largest = 0.0
    for (_, expected), found in zip(stored, _embed(inspection)):
        if expected.shape != found.shape:
            return Result(
                False,
                f"The vectors are not those in '{path}': their shape is "
                f"{found.shape}, the file's is {expected.shape}.",
            )
        difference = np.abs(found - expected)  # (layers, tokens, width)
        size = np.abs(expected).max(axis=(1, 2), keepdims=True)
        relative = difference / np.maximum(size, np.finfo("float32").tiny)
        # Unlike `max`, this keeps a NaN, which is not within the tolerance.
        worst = float(np.maximum(worst, relative.max()))
        largest = float(np.maximum(largest, difference.max()))
    is_good = worst <= TOLERANCE
    return Result(
        is_good,
        f"The vectors are {'' if is_good else 'not '}those in '{path}': the "
        f"largest difference is {largest:.3g}, {worst:.2g} of the layer's "
        f"largest value (up to {TOLERANCE:g} counts as the same).",
        largest,
    )


def _embed(inspection):
    # Imported here, as these load all of Keras.
    from keras_elmo.embedding import ElmoEmbedder
    from keras_elmo.models.find_model import find_model

    if not inspection.model:
        raise ValueError(
            "It has no vectors to compute: "
            + (
                "see above."
                if inspection.problems
                else "it is not a model that embeds words."
            )
        )
    elmo = find_model(*inspection.model).load()
    return list(ElmoEmbedder(elmo).embed_sentences(_SENTENCES))
