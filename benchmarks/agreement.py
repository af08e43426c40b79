"""Checks that all implementations compute the same."""

import sys

import numpy as np
from bench import tell

NUM_SENTENCES = 32

LARGEST_DIFFERENCE = 1e-5
"""Of float32 vectors, relative to the largest value."""
LARGEST_ERRORS = {"bfloat16": 1e-2, "int8": 2e-2}
"""Of other vectors: the norm of the difference, relative to the norm."""
LARGEST_LOSS_DIFFERENCE = 1e-4
"""Of training losses, relative to the loss."""


def compare_vectors(bench, implementations):
    """Compares the vectors of the first batch; exits if they differ.

    Each is compared with the first float32 implementation that returns all
    layers: AllenNLP, if given.
    """
    vectors = {i.name: _vectors(bench, i) for i in implementations}
    expected = next(
        vectors[i.name]
        for i in implementations
        if i.precision == "float32" and len(vectors[i.name]) > 1
    )
    bench.results["agreement"] = {
        i.name: _compare(i, vectors[i.name], expected) for i in implementations
    }


def _vectors(bench, implementation):
    path = bench.folder / "vectors.npy"
    bench.call(
        implementation,
        "save_vectors",
        sentences=bench.text[:NUM_SENTENCES],
        path=str(path),
    )
    return np.load(path)


def _compare(implementation, vectors, expected):
    """Returns the largest difference, or the error of each layer."""
    if len(vectors) == 1:  # An untrained mix.
        expected = expected.mean(axis=0, keepdims=True)
    if vectors.shape != expected.shape:
        sys.exit(
            f"{implementation.name} returned vectors of shape {vectors.shape} "
            f"instead of {expected.shape}. Stopping."
        )
    difference = vectors - expected
    if implementation.precision == "float32":
        measured = [np.abs(difference).max() / np.abs(expected).max()]
        limit = LARGEST_DIFFERENCE
    else:
        norm = np.linalg.norm
        measured = norm(difference, axis=(1, 2)) / norm(expected, axis=(1, 2))
        limit = LARGEST_ERRORS[implementation.precision]
    _check(implementation.name, measured, limit)
    return [float(x) for x in measured]


def compare_losses(losses):
    """Compares {name: list of losses}; exits if they differ."""
    expected = next(iter(losses.values()))
    for name, values in losses.items():
        measured = [abs(x / y - 1) for x, y in zip(values, expected)]
        _check(f"{name}, losses", measured, LARGEST_LOSS_DIFFERENCE)


def _check(name, measured, limit):
    numbers = ", ".join(f"{x:.1e}" for x in measured)
    tell(f"{name}: differs by {numbers}")
    if not max(measured) < limit:
        sys.exit(
            f"{name} differs by {numbers}, more than {limit:.0e}. Stopping."
        )
