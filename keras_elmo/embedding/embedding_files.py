"""Files of embeddings: an array per sentence, and the text of the sentences."""

import json
import os
import zipfile
from collections.abc import Callable

import h5py
import numpy as np

from keras_elmo.files.atomic import write_atomically
from keras_elmo.files.hdf5_files import create_hdf5


def embeddings_writer(path: str | os.PathLike) -> Callable:
    """Returns the function that writes the kind of file that a name stands for.

    It takes the path to write, which is written atomically, an iterable of
    pairs of a sentence's text and its array, and whether to replace a file.

    The key of each sentence's array is its index: `"0"`, `"1"`, ... The text of
    the sentences is stored in another way in each kind of file:

    - `.hdf5` and `.h5`: HDF5 as AllenNLP writes it. `sentence_to_index`, of
      shape `(1,)`, is a JSON object that maps a sentence to its key (for
      repeated sentences, the last key).
    - `.npz`: for `numpy.load`. `sentences` is the UTF-8 bytes of a JSON list:
      `json.loads(archive["sentences"].tobytes())`.

    Only one array at a time is in memory, besides the text of all sentences
    and, for `.npz`, the archive's table of contents.

    Args:
        path: Path of the file that the user asked for.

    Raises:
        ValueError: If its name ends in none of these.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _WRITERS:
        raise ValueError(
            "The output's name must end in .hdf5 or .h5, for HDF5, or in .npz, "
            f"for NumPy. Received: '{path}'"
        )
    write = _WRITERS[suffix]
    return lambda path, embeddings, overwrite=True: write_atomically(
        path, lambda temporary: write(temporary, embeddings), overwrite
    )


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


def _write_hdf5(path, embeddings):
    index = {}
    with create_hdf5(path) as (store, check):
        for i, (text, vectors) in enumerate(embeddings):
            store.create_dataset(str(i), data=vectors)
            index[text] = str(i)
            check()
        texts = store.create_dataset(
            "sentence_to_index", (1,), h5py.string_dtype()
        )
        texts[0] = json.dumps(index)


_WRITERS = {".npz": _write_npz, ".hdf5": _write_hdf5, ".h5": _write_hdf5}
