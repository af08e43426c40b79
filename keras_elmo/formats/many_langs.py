"""The files of an ELMoForManyLangs model, and what they say.

They are `config.json`, which names a second file with the sizes; the lists
`char.dic` and, for some models, `word.dic`; and the state dicts
`token_embedder.pkl` and `encoder.pkl`.
"""

import contextlib
import io
import math
import os
import posixpath
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

from keras_elmo.files.archives import member_names
from keras_elmo.files.archives import open_archive
from keras_elmo.files.archives import read_member
from keras_elmo.files.fetch import fetch
from keras_elmo.formats.array_checks import check_keys
from keras_elmo.formats.array_checks import checked_array
from keras_elmo.formats.bilm_files import parse_json
from keras_elmo.formats.bilm_shapes import bilm_shapes
from keras_elmo.formats.option_section import MOST_CHARACTERS
from keras_elmo.formats.option_section import MOST_LAYERS
from keras_elmo.formats.option_section import OptionSection
from keras_elmo.formats.torch_state_dicts import read_state_dict

_CONFIG = "config.json"
_CHARACTERS, _WORDS = "char.dic", "word.dic"
_TOKEN_EMBEDDER, _ENCODER = "token_embedder.pkl", "encoder.pkl"

# What all published models have, few of which bring the file that says so.
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
        "filters": [[i, max(32, 2 ** (i + 3))] for i in range(1, 8)],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}


class ManyLangsFiles(NamedTuple):
    """What the files of a model say."""

    token_encoder: dict
    """Arguments of `LexiconEmbedding`."""
    encoder: dict
    """Arguments of `BiLMEncoder`."""
    read: Callable
    """From two dictionaries of shapes, by the keys of the token embedder's and
    of the encoder's state dict, to two of arrays by the same keys."""


@contextlib.contextmanager
def open_many_langs(path):
    """Reads a model's lists and sizes; its numbers are read later.

    Args:
        path: Path of a folder; or path or http(s) URL of a `.zip` of one.

    Yields:
        A `ManyLangsFiles`, to be used while the context lasts.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If a file is not what it should be.
        OSError: If a download fails.
    """
    path = fetch(path, "directory")
    if os.path.isdir(path):
        yield _parse(_Folder(path))
    elif not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file or directory '{path}'.")
    else:
        with open_archive(path) as archive:
            yield _parse(_Zip(archive, path))


class _Folder:
    def __init__(self, path):
        self.path = path

    def __contains__(self, name):
        return os.path.isfile(self.label(name))

    def label(self, name):
        return os.path.join(self.path, name)

    def size(self, name):
        return os.path.getsize(self.label(name)) if name in self else 0

    def read(self, name):
        if name not in self:
            raise FileNotFoundError(f"There is no file '{self.label(name)}'.")
        with open(self.label(name), "rb") as file:
            return file.read()


class _Zip:
    def __init__(self, archive, path):
        self._archive, self._path = archive, path
        self._names = member_names(archive, path)
        found = [n for n in self._names if posixpath.basename(n) == _ENCODER]
        if len(found) != 1:
            raise ValueError(
                f"The archive '{path}' must hold an '{_ENCODER}', and only "
                f"one. Received: {found or self._names}"
            )
        self._root = posixpath.dirname(found[0])

    def __contains__(self, name):
        return posixpath.join(self._root, name) in self._names

    def label(self, name):
        return posixpath.join(self._path, self._root, name)

    def size(self, name):
        if name not in self:
            return 0
        name = posixpath.join(self._root, name)
        return self._archive.getinfo(name).file_size

    def read(self, name):
        if name not in self:
            raise FileNotFoundError(f"There is no file '{self.label(name)}'.")
        name = posixpath.join(self._root, name)
        return read_member(self._archive, name, self._path)


def _parse(files):
    sizes, label = _read_sizes(files)
    token_encoder, encoder = _parse_sizes(sizes, label)
    if sizes is not _STANDARD:  # A damaged file may say any.
        _check_sizes(files, token_encoder, encoder)
    token_encoder["characters"] = _read_lexicon(files, _CHARACTERS)
    token_encoder["words"] = None
    if token_encoder["word_embedding_dim"]:
        token_encoder["words"] = _read_lexicon(files, _WORDS)
    else:
        del token_encoder["word_embedding_dim"]

    def read(*shapes):
        names = (_TOKEN_EMBEDDER, _ENCODER)
        return [_read_arrays(files, n, s) for n, s in zip(names, shapes)]

    return ManyLangsFiles(token_encoder, encoder, read)


def _check_sizes(files, token_encoder, encoder):
    """Raises `ValueError` if the files cannot hold as many numbers."""
    shapes = bilm_shapes(token_encoder, encoder).items()
    # Of characters there may be fewer.
    numbers = sum(math.prod(s) for key, s in shapes if key != "char_embed")
    stored = sum(map(files.size, (_TOKEN_EMBEDDER, _ENCODER)))
    if numbers > stored:
        raise ValueError(
            f"The files '{files.label(_TOKEN_EMBEDDER)}' and '{_ENCODER}' are "
            f"too small for a model of these sizes, {numbers:,} numbers. "
            f"Received: {stored:,} bytes"
        )


def _read_sizes(files):
    """Returns what the file that `config_path` names says, and its label."""
    config = _read_object(files, _CONFIG)
    path = config.get("config_path")
    if not isinstance(path, str):
        raise ValueError(
            f"The file '{files.label(_CONFIG)}' must name a file as "
            f"'config_path'. Received: {path!r}"
        )
    # It is from where the model was trained. Nothing out of the model is read.
    for name in (posixpath.normpath(path), posixpath.basename(path)):
        if not name.startswith(("/", "..")) and name in files:
            return _read_object(files, name), files.label(name)
    return _STANDARD, files.label(_CONFIG)


def _read_object(files, name):
    label = files.label(name)
    found = parse_json(files.read(name), label)
    if not isinstance(found, dict):
        raise ValueError(
            f"The file '{label}' must hold a JSON object. "
            f"Received: {type(found).__name__}"
        )
    return found


def _parse_sizes(content, label):
    """Returns arguments of `LexiconEmbedding` and of `BiLMEncoder`."""
    sizes = OptionSection(content)
    try:
        encoder = _parse_encoder(sizes.section("encoder"))
        token_encoder = _parse_token_embedder(sizes.section("token_embedder"))
    except ValueError as error:
        raise ValueError(f"The file '{label}': {error}") from error
    token_encoder["projection_dim"] = encoder["projection_dim"]
    return token_encoder, encoder


def _parse_encoder(section):
    section.one_of("name", ("elmo",))
    # As there, no clip may be written as 0, too.
    for key in ("cell_clip", "proj_clip"):
        if section.values.get(key) == 0:
            section.values[key] = None
    units = section.integer("dim", 1)
    projection_dim = section.integer("projection_dim", 1)
    if units == projection_dim:
        section.fail(
            "projection_dim",
            f"another than 'dim' ({units}): here, LSTMs of one size have no "
            "projection",
            projection_dim,
        )
    return {
        "units": units,
        "projection_dim": projection_dim,
        "num_layers": section.integer("n_layers", 1, high=MOST_LAYERS),
        "cell_clip": section.limit("cell_clip"),
        "proj_clip": section.limit("proj_clip"),
        "use_skip_connections": True,
    }


def _parse_token_embedder(section):
    section.one_of("name", ("cnn",))
    max_characters = section.integer(
        "max_characters_per_token", 3, high=MOST_CHARACTERS
    )
    return {
        "filters": section.filters("filters", max_characters),
        "num_highways": section.integer("n_highway", 0, high=MOST_LAYERS),
        "embedding_dim": section.integer("char_dim", 1),
        "word_embedding_dim": section.integer("word_dim", 0, default=0),
        "activation": section.one_of("activation", ("relu", "tanh")),
        "max_characters_per_token": max_characters,
    }


def _read_lexicon(files, name):
    """Returns a list's entries in the order of their numbers."""
    label = files.label(name)
    try:
        lines = files.read(name).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"The file '{label}' is not UTF-8: {error}") from error
    entries: dict[Any, str] = {}
    for i, line in enumerate(lines, start=1):
        # As there: an entry that is white space is that of U+3000.
        *entry, number = ["\u3000", *line.strip().split("\t")][-2:]
        if not line:
            continue
        if not number.isdecimal() or int(number) in entries:
            raise ValueError(
                f"Line {i} of the file '{label}' must hold an entry, a tab and "
                f"a number of its own. Received: {line!r}"
            )
        entries[int(number)] = entry[0]
    if sorted(entries) != list(range(len(entries))):
        raise ValueError(
            f"The numbers in the file '{label}' must be those from 0 to "
            f"{len(entries) - 1}. Received: numbers up to {max(entries)}"
        )
    return [entries[i] for i in range(len(entries))]


def _read_arrays(files, name, shapes):
    label = files.label(name)
    arrays = read_state_dict(io.BytesIO(files.read(name)), label)
    subject = f"state dict '{label}'"
    check_keys(set(arrays), set(shapes), subject)
    return {
        key: checked_array(arrays[key], key, shape, subject)
        for key, shape in shapes.items()
    }
