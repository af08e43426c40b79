"""The names of a biLM's files in a folder or a zip."""

import fnmatch
import posixpath

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
SOFTMAX = "softmax.hdf5"
VOCABULARY = "vocab.txt"
CHECKPOINT = "checkpoint"
VOCABULARIES = (VOCABULARY, f"{VOCABULARY}.gz")
_TRAINING = "training.json"
# The second name is used by the NLPL repository.
_WEIGHTS = (WEIGHTS, "model.hdf5")
_BESIDE_WEIGHTS = (
    "elmo_token_embeddings.hdf5",
    SOFTMAX,
    "token_embeddings.hdf5",
    "training_state.hdf5",
)


def find_options(names, where):
    """Picks the options file from the names of the files in `where`.

    It is named `options.json`; if there is none, the name may end in
    `_options.json`.
    """
    if _TRAINING in names and OPTIONS not in names:
        raise ValueError(
            f"The training in '{where}' has no model yet: keras-elmo pretrain "
            "writes the first one at its first evaluation or checkpoint, by "
            "default after 10 steps. Run its command again to resume it."
        )
    return _only(
        names,
        where,
        "an options file ('options.json' or '*_options.json')",
        (OPTIONS, f"*_{OPTIONS}"),
    )


def holds_checkpoint(names):
    """Whether files with these names include a checkpoint of bilm-tf."""
    return any(n == CHECKPOINT or n.endswith(".index") for n in names)


def find_weights(names, where):
    """Picks the weight file from the names of the files in `where`.

    It is the first of these that exists: `weights.hdf5`, `model.hdf5`, a name
    that ends in `_weights.hdf5`, or any other HDF5 file that is not a softmax,
    token embeddings or a training state.
    """
    return _only(
        names,
        where,
        "a '.hdf5' file",
        (*_WEIGHTS, f"*_{WEIGHTS}", "*.hdf5"),
        _BESIDE_WEIGHTS,
    )


def _only(names, where, what, patterns, others=()):
    """Returns the only name that matches the first pattern that any matches.

    In a zip, a name may be a path. Those among `others` match no pattern.
    """
    files = {name: posixpath.basename(name) for name in names}
    for pattern in patterns:
        found = sorted(
            name
            for name, file in files.items()
            if fnmatch.fnmatchcase(file, pattern) and file not in others
        )
        if len(found) == 1:
            return found[0]
        if found:
            break
    raise ValueError(
        f"'{where}' must contain {what}, and only one. Received: "
        f"{found or sorted(names)}; to choose, pass the two files themselves."
    )
