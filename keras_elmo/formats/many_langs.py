"""Reads the files of an ELMoForManyLangs model.

They are `config.json`, which names a second file with the sizes; the lists
`char.dic` and, for some models, `word.dic`; and the state dicts
`token_embedder.pkl` and `encoder.pkl`.
"""

import posixpath

from keras_elmo.choices import PAPER_FILTERS
from keras_elmo.files.model_folder import open_folder
from keras_elmo.formats.array_tables import checked_arrays
from keras_elmo.formats.array_tables import read_variables
from keras_elmo.formats.array_tables import stored_shapes
from keras_elmo.formats.bilm_options import parse_character_cnn
from keras_elmo.formats.bilm_options import parse_encoder
from keras_elmo.formats.bilm_variables import variable_shapes
from keras_elmo.formats.checked_options import CheckedOptions
from keras_elmo.formats.many_langs_table import ENCODER
from keras_elmo.formats.many_langs_table import TOKEN_EMBEDDER
from keras_elmo.formats.torch_state_dicts import read_state_dict
from keras_elmo.text.character_indexer import CharacterIndexer

_CONFIG = "config.json"
_ENCODER = "encoder.pkl"
CHARACTERS, WORDS = "char.dic", "word.dic"
STATE_DICTS = {"token_embedder.pkl": TOKEN_EMBEDDER, _ENCODER: ENCODER}

# The sizes of all published models; few of them include the file with sizes.
_STANDARD = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [list(pair) for pair in PAPER_FILTERS],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}


class ManyLangsFiles:
    """The options and the arrays in the files of a model.

    Its lists and sizes are read at once, its arrays when requested.

    Args:
        path: The `ModelFolder`; or path of a folder or of a `.zip` of one.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file is not valid.
    """

    def __init__(self, path):
        self._folder = folder = open_folder(path).holding(_find_encoder)
        options = CheckedOptions(*_read_sizes(folder))
        encoder = _parse_encoder(options.section("encoder"))
        token_encoder = _parse_token_embedder(options.section("token_embedder"))
        characters, words = _read_lexicon(folder, CHARACTERS), None
        if token_encoder["word_embedding_dim"]:
            words = _read_lexicon(folder, WORDS)
        else:
            del token_encoder["word_embedding_dim"]
        try:
            CharacterIndexer(characters, words)
        except ValueError as error:
            raise ValueError(f"The model '{folder.path}': {error}") from error
        token_encoder |= {
            "characters": characters,
            "words": words,
            "projection_dim": encoder["projection_dim"],
        }
        self.sizes = token_encoder, encoder
        """Arguments of `LexiconEmbedding` and of `BiLMEncoder`."""

    @property
    def weight_files(self):
        """The paths of the files with the weights."""
        return [self._folder.file(name) for name in STATE_DICTS]

    def read_arrays(self):
        """Reads the values of the biLM's variables.

        Returns:
            Dictionary from the names of variables, as in `variable_shapes`, to
            arrays.

        Raises:
            FileNotFoundError: If a state dict is missing.
            ValueError: If it cannot be read, or an array is missing,
                unexpected, of the wrong shape or not of finite floating-point
                numbers.
        """
        shapes = variable_shapes(*self.sizes)
        values = {}
        for name, table in STATE_DICTS.items():
            part = "encoder." if table is ENCODER else "token_encoder."
            of_part = {k: s for k, s in shapes.items() if k.startswith(part)}
            label = self._folder.label(name)
            arrays = checked_arrays(
                read_state_dict(self._folder.read(name), label),
                stored_shapes(table, of_part),
                f"state dict '{label}'",
            )
            values |= read_variables(table, of_part, arrays)
        return values


def _find_encoder(names, path):
    found = [n for n in names if posixpath.basename(n) == _ENCODER]
    if len(found) != 1:
        raise ValueError(
            f"The archive '{path}' must contain an '{_ENCODER}', and only one. "
            f"Received: {found or names}"
        )
    return found[0]


def _read_sizes(files):
    """Returns the content and the label of the file at `config_path`."""
    config = files.read_object(_CONFIG)
    path = config.get("config_path")
    if not isinstance(path, str):
        raise ValueError(
            f"The file '{files.label(_CONFIG)}' must name a file as "
            f"'config_path'. Received: {path!r}"
        )
    # The path is that of the training machine. Only files of the model are
    # read.
    for name in (posixpath.normpath(path), posixpath.basename(path)):
        if not name.startswith(("/", "..")) and name in files:
            return files.read_object(name), files.label(name)
    return _STANDARD, files.label(_CONFIG)


def _parse_encoder(section):
    section.one_of("name", ("elmo",))
    # In ELMoForManyLangs, 0 also means no clip.
    for key in ("cell_clip", "proj_clip"):
        if section.values.get(key) == 0:
            section.values[key] = None
    encoder = parse_encoder(section) | {"use_skip_connections": True}
    units = encoder["units"]
    if units == encoder["projection_dim"]:
        section.fail(
            "projection_dim",
            f"different from 'dim' ({units}): LSTMs with equal sizes have no "
            "projection in this package",
            units,
        )
    return encoder


def _parse_token_embedder(section):
    section.one_of("name", ("cnn",))
    return {
        **parse_character_cnn(section),
        "embedding_dim": section.integer("char_dim", 1),
        "word_embedding_dim": section.integer("word_dim", 0, default=0),
    }


def _read_lexicon(files, name):
    """Returns the entries of a list in the order of their numbers."""
    label = files.label(name)
    try:
        lines = files.read(name).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"The file '{label}' is not UTF-8: {error}") from error
    entries: dict[int, str] = {}
    for i, line in enumerate(lines, start=1):
        # As in ELMoForManyLangs, an entry of white space is U+3000.
        *entry, number = ["\u3000", *line.strip().split("\t")][-2:]
        if not line:
            continue
        if not number.isdecimal() or int(number) in entries:
            raise ValueError(
                f"Line {i} of the file '{label}' must have an entry, a tab and "
                f"a number that no other line has. Received: {line!r}"
            )
        entries[int(number)] = entry[0]
    if sorted(entries) != list(range(len(entries))):
        raise ValueError(
            f"The numbers in the file '{label}' must be all from 0 to "
            f"{len(entries) - 1}. Received: numbers up to {max(entries)}"
        )
    return [entries[i] for i in range(len(entries))]
