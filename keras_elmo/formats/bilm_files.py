"""The files of a biLM: two files, a folder, a zip or URLs."""

import fnmatch
import os
import posixpath

from keras_elmo.files.atomic import refuse_existing
from keras_elmo.files.atomic import write_json
from keras_elmo.files.model_folder import ModelFolder
from keras_elmo.files.model_folder import open_folder
from keras_elmo.files.untrusted_files import bounded_lines
from keras_elmo.formats.array_tables import read_variables
from keras_elmo.formats.array_tables import stored_arrays
from keras_elmo.formats.array_tables import stored_shapes
from keras_elmo.formats.bilm_names import CHECKPOINT
from keras_elmo.formats.bilm_names import MODEL_FILES
from keras_elmo.formats.bilm_names import OPTIONS
from keras_elmo.formats.bilm_names import SOFTMAX
from keras_elmo.formats.bilm_names import TRAINING
from keras_elmo.formats.bilm_names import VOCABULARIES
from keras_elmo.formats.bilm_names import WEIGHTS
from keras_elmo.formats.bilm_options import make_options
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.bilm_variables import BILM_TABLE
from keras_elmo.formats.bilm_variables import SOFTMAX_TABLE
from keras_elmo.formats.bilm_variables import variable_shapes
from keras_elmo.formats.tensorflow_checkpoints import open_checkpoint
from keras_elmo.formats.weight_files import WeightFile
from keras_elmo.formats.weight_files import write_arrays
from keras_elmo.text.text_files import open_unpacked

# The weight file is the first of these that exists. The second name is used by
# the NLPL repository.
_WEIGHTS = (WEIGHTS, "model.hdf5", f"*_{WEIGHTS}", "*.hdf5")
# HDF5 files with something else.
_NO_WEIGHTS = (
    "elmo_token_embeddings.hdf5",
    SOFTMAX,
    "token_embeddings.hdf5",
    "training_state.hdf5",
)


class BilmFiles:
    """The options and the arrays in the files of a biLM.

    Arrays are read only when requested.

    Args:
        options: The `ModelFolder` and the name of the options file.
        weights: The `WeightFile` or `Checkpoint`.
        beside: The `ModelFolder` that may contain a softmax and a vocabulary,
            or `None`.
    """

    def __init__(self, options, weights, beside=None):
        folder, name = options
        label = folder.label(name)
        self.label = label if beside is None else beside.path
        """The model's name in messages."""
        self.content = folder.read_object(name)
        """The JSON object in the options file."""
        self.options = parse_language_model_options(self.content, label)
        """The `LanguageModelOptions` in it."""
        self._weights = weights
        self._beside = beside

    @property
    def weight_files(self):
        """The paths of the files with the weights."""
        return self._weights.files

    def read_arrays(self, options=None):
        """Reads the values of the biLM's variables.

        Args:
            options: `LanguageModelOptions` with the expected sizes. Defaults to
                those of the options file.

        Returns:
            Dictionary from the names of variables, as in `variable_shapes`, to
            arrays.

        Raises:
            ValueError: If an array is missing, unexpected, of the wrong shape
                or not of finite floating-point numbers; or if the file cannot
                be read.
        """
        options = options or self.options
        shapes = variable_shapes(options.token_encoder, options.encoder)
        arrays = self._weights.read(stored_shapes(BILM_TABLE, shapes))
        return read_variables(BILM_TABLE, shapes, arrays)

    def read_softmax(self, vocabulary_size=None, options=None):
        """Reads the values of a language model's softmax.

        Args:
            vocabulary_size: Integer. By default, any size is accepted.
            options: As for `read_arrays`.

        Returns:
            Dictionary with `softmax.kernel` (vocabulary_size, dim) and
            `softmax.bias` (vocabulary_size,), or `None` if there is no softmax.

        Raises:
            ValueError: As for `read_arrays`.
        """
        dim = (options or self.options).encoder["projection_dim"]
        shapes = {
            "softmax/b": (vocabulary_size,),
            "softmax/W": (vocabulary_size, dim),
        }
        arrays = self._weights.read_softmax(shapes)
        if arrays is None:
            return None
        if len({len(array) for array in arrays.values()}) > 1:
            found = {key: array.shape for key, array in arrays.items()}
            raise ValueError(
                f"The softmax of '{self.label}' must have one row and one bias "
                f"for each word. Received: shapes {found}"
            )
        return {name: arrays[p.key] for name, p in SOFTMAX_TABLE.items()}

    def read_vocabulary(self):
        """Returns the vocabulary file's name in messages, and its bytes.

        The bytes may be gzip, as `Vocabulary.from_file` takes them. Without a
        vocabulary, it returns `None`.
        """
        for name in VOCABULARIES:
            if name in (self._beside or ()):
                return self._beside.label(name), self._beside.read(name)
        return None

    def write_to(self, folder, dtype="float32"):
        """Writes them to an existing folder, by the names in `MODEL_FILES`.

        Args:
            folder: Path of the folder.
            dtype: As for `write_bilm`.
        """
        content = make_options(self.options.token_encoder, self.options.encoder)
        paths = [os.path.join(folder, name) for name in MODEL_FILES]
        options, weights, softmax, vocabulary = paths
        content = {**self.content, **content}
        write_bilm(options, weights, content, self.read_arrays(), dtype)
        arrays = self.read_softmax()
        if arrays is not None:
            write_softmax(softmax, arrays, dtype)
        found = self.read_vocabulary()
        if found is not None:
            with (
                open_unpacked(*found) as lines,
                open(vocabulary, "wb") as file,
            ):
                file.writelines(bounded_lines(lines, 0))


def open_bilm(options, weights=None, is_language_model=False):
    """Finds a biLM's files, and reads its options.

    Args:
        options: Path of the options file; or, without `weights`, the
            `ModelFolder` or the path of a directory or a `.zip`. It must
            contain one options file, and one weight file or a checkpoint of
            bilm-tf's training.
        weights: Path of the weight file, or `None`.
        is_language_model: Boolean, whether the softmax is needed. If so, a
            checkpoint is preferred to a weight file, as it has a softmax; and
            with `weights`, its folder is searched for a softmax and a
            vocabulary.

    Returns:
        The `BilmFiles`. What it unpacks of a zip is removed with it.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a directory or zip does not have exactly one options file
            and one weight file, if a zip is corrupt, or if the options are not
            those of a biLM.
    """
    if weights is not None:
        for what, path in (("options", options), ("weight", weights)):
            if not os.path.isfile(path):
                raise FileNotFoundError(f"There is no {what} file '{path}'.")
        folder, name = _in_folder(weights)
        return BilmFiles(
            _in_folder(options),
            WeightFile(folder, name),
            folder if is_language_model else None,
        )
    folder = open_folder(options).holding(_find_options)
    names = folder.names
    options = folder, _find_options(names, folder.path)
    has_hdf5 = {*fnmatch.filter(names, "*.hdf5")}.difference(_NO_WEIGHTS)
    has_checkpoint = CHECKPOINT in names or fnmatch.filter(names, "*.index")
    if has_checkpoint and (is_language_model or not has_hdf5):
        return BilmFiles(options, open_checkpoint(folder), folder)
    name = _only(names, folder.path, "a '.hdf5' file", _WEIGHTS)
    return BilmFiles(options, WeightFile(folder, name), folder)


def _find_options(names, where):
    """Picks the options file from the names of the files in `where`.

    It is named `options.json`; if there is none, the name may end in
    `_options.json`.
    """
    if TRAINING in names and OPTIONS not in names:
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


def _only(names, where, what, patterns):
    """Returns the only name that matches the first pattern that any matches.

    In a zip, a name may be a path.
    """
    found = []
    for pattern in patterns:
        for name in names:
            file = posixpath.basename(name)
            is_match = fnmatch.fnmatchcase(file, pattern)
            if is_match and file not in _NO_WEIGHTS:
                found.append(name)
        if len(found) == 1:
            return found[0]
        if found:
            break
    raise ValueError(
        f"'{where}' must contain {what}, and only one. Received: "
        f"{sorted(found or names)}; to choose, pass the two files themselves."
    )


def _in_folder(path):
    folder, name = os.path.split(path)
    return ModelFolder(folder), name


def write_bilm(
    options_path,
    weights_path,
    options,
    arrays,
    dtype="float32",
    overwrite=True,
):
    """Writes a biLM's two files, each of them atomically.

    Args:
        options_path: Path of the options file.
        weights_path: Path of the weight file.
        options: Dictionary, the content of the options file.
        arrays: As `BilmFiles.read_arrays` returns them.
        dtype: `"float32"`, or `"float16"` for half the size.
        overwrite: Boolean, whether existing files may be replaced.

    Raises:
        FileExistsError: If there is a file at a path, and `overwrite` is not
            set.
        ValueError: If the two paths are one, or the options cannot represent
            the layers, for example their activation; or as for `write_arrays`.
    """
    paths = options_path, weights_path
    if len(set(map(os.path.realpath, paths))) == 1:
        raise ValueError(
            "`options_path` and `weights_path` must be two files. "
            f"Received: '{options_path}' for both"
        )
    for path in paths:
        refuse_existing(path, overwrite)
    parse_language_model_options(options)
    stored = stored_arrays(BILM_TABLE, arrays)
    # The weights come first: if writing them fails, the options are unchanged.
    write_json(
        options_path,
        options,
        lambda: write_arrays(weights_path, stored.items(), dtype, overwrite),
        overwrite,
    )


def write_softmax(path, arrays, dtype="float32"):
    """Writes a softmax beside a model's weights, atomically.

    Args:
        path: Path of the file, `softmax.hdf5`.
        arrays: As `BilmFiles.read_softmax` returns them.
        dtype: `"float32"`, or `"float16"` for half the size.

    Raises:
        ValueError: As for `write_arrays`.
    """
    stored = stored_arrays(SOFTMAX_TABLE, arrays)
    write_arrays(path, stored.items(), dtype)


def read_options(path):
    """Returns the JSON object in an options file."""
    folder, name = _in_folder(path)
    return folder.read_object(name)
