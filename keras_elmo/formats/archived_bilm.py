"""What is unpacked of a zip file that holds a biLM."""

import posixpath

from keras_elmo.files.archives import extract_members
from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import read_member
from keras_elmo.formats.bilm_files import bilm_shapes
from keras_elmo.formats.bilm_files import parse_json
from keras_elmo.formats.bilm_names import VOCABULARIES
from keras_elmo.formats.bilm_names import find_options
from keras_elmo.formats.bilm_names import find_weights
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.weight_files import most_of_arrays

_ENDINGS = (".json", ".hdf5", ".h5", ".index", ".pkl", ".dic")
_NOT_READ = ("training_state.hdf5",)


def extract_model(archive, root, folder, path):
    """Writes the files in the archive's folder `root` to `folder`.

    What is read of no model is left empty. No weight file or softmax may be
    larger than the options need.

    Args:
        archive: The `zipfile.ZipFile`.
        root: Name of the folder in the archive.
        folder: Path of the folder to write to.
        path: Path of the archive.

    Raises:
        ValueError: If a file cannot be read, or declares too large a size.
    """
    most = _most_by_options(archive, root, path)
    extract_members(archive, root, folder, path, _is_read, most)


def _is_read(name):
    if name in (*VOCABULARIES, "checkpoint") or ".data-0" in name:
        return True
    return name.endswith(_ENDINGS) and name not in _NOT_READ


def _most_by_options(archive, root, path):
    """Dictionary from names to the most bytes; empty if nothing tells."""
    names = member_names(archive, path)
    names = [n for n in names if posixpath.dirname(n) == root]
    most = {}
    try:
        name = find_options(names, path)
        most[name] = 1 << 20
        content = read_member(archive, name, path, most[name])
        options = parse_language_model_options(parse_json(content, name))
        weights = find_weights(names, path)
    except ValueError:  # Its reader says what is wrong.
        return most
    shapes = bilm_shapes(options.token_encoder, options.encoder)
    most[weights] = most_of_arrays(shapes)
    if options.vocabulary_size is not None:
        softmax = posixpath.join(root, "softmax.hdf5")
        size = (
            options.vocabulary_size,
            options.encoder["projection_dim"] + 1,
        )
        most[softmax] = most_of_arrays({"W and b": size})
    return most
