"""Files of embeddings: an array per sentence, and the text of the sentences."""

import functools
import json
import os
import re
import zipfile
from collections.abc import Iterable

import h5py
import numpy as np

from keras_elmo.checks import check_choice
from keras_elmo.choices import LAYOUTS
from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.hdf5_files import create_hdf5


def write_embeddings(
    path: str | os.PathLike,
    embeddings: Iterable[tuple[str, np.ndarray]],
    layout: str = "allennlp",
) -> None:
    """Writes embeddings to a file one by one; the file is written atomically.

    The key of each sentence's array is its index: `"0"`, `"1"`, ... The layouts
    differ in how the text of the sentences is stored:

    - `"allennlp"`: HDF5 as AllenNLP writes it. `sentence_to_index`, of shape
      `(1,)`, is a JSON object that maps a sentence to its key (for repeated
      sentences, the last key).
    - `"bilm-tf"`: HDF5 as bilm-tf writes it, and in addition `sentences`, an
      array of strings in the order of the keys. HDF5 strings cannot represent
      two things, which are replaced: NUL by U+2400, and lone surrogates by
      U+FFFD.
    - `"npz"`: for `numpy.load`. `sentences` is the UTF-8 bytes of a JSON list:
      `json.loads(archive["sentences"].tobytes())`.

    Only one array at a time is in memory. For `"allennlp"`, the text of all
    sentences is in memory too, and for `"npz"`, also the archive's table of
    contents.

    Args:
        path: Path of the file.
        embeddings: Iterable of pairs of a sentence's text and its array.
        layout: `"allennlp"`, `"bilm-tf"` or `"npz"`.

    Raises:
        ValueError: If the layout is not one of these.
    """
    check_choice("layout", layout, LAYOUTS)
    write_atomically(
        path, functools.partial(_WRITERS[layout], embeddings=embeddings)
    )


def guess_layout(path):
    """Returns the layout for a file name."""
    suffix = os.path.splitext(path)[1].lower()
    layouts = {".npz": "npz", ".hdf5": "allennlp", ".h5": "allennlp"}
    if suffix not in layouts:
        raise ValueError(
            "The output's name must end in .hdf5, .h5 or .npz, or `layout` "
            f"must be given. Received: '{path}'"
        )
    return layouts[suffix]


def _write_npz(path, embeddings):
    texts = []
    with zipfile.ZipFile(path, "w") as archive:
        for i, (text, vectors) in enumerate(embeddings):
            _write_member(archive, str(i), vectors)
            texts.append(text)
        encoded = np.frombuffer(json.dumps(texts).encode(), dtype="uint8")
        _write_member(archive, "sentences", encoded)


def _write_member(archive, key, array):
    # Without a date, so that equal embeddings give identical files.
    member = zipfile.ZipInfo(f"{key}.npy")
    with archive.open(member, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _write_allennlp(path, embeddings):
    index = {}
    with create_hdf5(path) as (store, check):
        for key, text in _write_datasets(store, embeddings, check):
            index[text] = key
        texts = store.create_dataset("sentence_to_index", (1,), _STRING)
        texts[0] = json.dumps(index)


def _write_bilm_tf(path, embeddings):
    with create_hdf5(path) as (store, check):
        texts = store.create_dataset(
            "sentences", (0,), _STRING, maxshape=(None,), chunks=(1024,)
        )
        for key, text in _write_datasets(store, embeddings, check):
            texts.resize(int(key) + 1, axis=0)
            texts[int(key)] = _storable(text)


def _write_datasets(store, embeddings, check):
    """Writes the arrays, and yields each sentence's key and text."""
    for i, (text, vectors) in enumerate(embeddings):
        store.create_dataset(str(i), data=vectors)
        yield str(i), text
        check()


def _storable(text):
    text = text.replace("\0", "\u2400")
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


_STRING = h5py.string_dtype()
_WRITERS = {
    "allennlp": _write_allennlp,
    "bilm-tf": _write_bilm_tf,
    "npz": _write_npz,
}
