"""The names of a biLM's files, beside others in a folder or a zip."""

import posixpath

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
SOFTMAX = "softmax.hdf5"
VOCABULARY = "vocab.txt"
VOCABULARIES = (VOCABULARY, f"{VOCABULARY}.gz")
_TRAINING = "training.json"
# The second name is that of the NLPL repository's models.
_WEIGHTS = (WEIGHTS, "model.hdf5")
_BESIDE_WEIGHTS = (
    "elmo_token_embeddings.hdf5",
    SOFTMAX,
    "token_embeddings.hdf5",
    "training_state.hdf5",
)


def is_training_without_model(names):
    """Whether these are the files of a training that has just begun."""
    return _TRAINING in names and OPTIONS not in names


def find_options(names, where):
    """Picks the options file out of the names of the files of `where`.

    Without one of the name `options.json`, another may end in it.
    """
    if is_training_without_model(names):
        raise ValueError(
            f"The training in '{where}' has no model yet: keras-elmo pretrain "
            "writes the first one at its first held-out perplexity or "
            "checkpoint, by default after 10 steps. Run its command again to "
            "go on."
        )
    return _only(
        names,
        where,
        "an 'options.json'",
        lambda n: n == OPTIONS,
        lambda n: n.endswith(f"_{OPTIONS}"),
    )


def find_weights(names, where):
    """Picks the weight file out of the names of the files of `where`.

    Other HDF5 files may lie beside one of the name `weights.hdf5`; without,
    beside one of the name `model.hdf5`, or one whose name ends in
    `_weights.hdf5`.
    """
    return _only(
        names,
        where,
        "a '.hdf5' file",
        *(lambda n, name=name: n == name for name in _WEIGHTS),
        lambda n: n.endswith(f"_{WEIGHTS}"),
        lambda n: n.endswith(".hdf5") and n not in _BESIDE_WEIGHTS,
    )


def _only(names, where, what, *tests):
    """The one name that passes the first test which any name passes."""
    for test in tests:
        found = sorted(n for n in names if test(posixpath.basename(n)))
        if len(found) == 1:
            return found[0]
        if found:
            break
    raise ValueError(
        f"'{where}' must hold {what}, and only one. Received: "
        f"{found or sorted(names)}; pass the two files themselves to choose."
    )
