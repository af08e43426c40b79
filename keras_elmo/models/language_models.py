"""Finding a language model's files: a preset, a folder, a zip."""

import contextlib
import os

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.models.presets import PRESETS
from keras_elmo.models.presets import download_preset


@contextlib.contextmanager
def open_language_model(model):
    """Finds the files of a language model, and reads its options.

    Args:
        model: One of `PRESETS`; or the path of a directory, or path or URL of
            a `.zip` of one. It holds `options.json`, and either a checkpoint
            of bilm-tf's training, or one `.hdf5` file of the name
            `weights.hdf5`, `model.hdf5` or any other. In the second case
            `softmax.hdf5` may lie beside it, in both `vocab.txt` or
            `vocab.txt.gz`. Where there are both, the checkpoint is read, as it
            has the softmax.

    Yields:
        A `BilmFiles`, to be used while the context lasts.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: As `open_bilm`.
        OSError: If a download fails.
    """
    if isinstance(model, str) and model in PRESETS:
        path = os.path.dirname(download_preset(model)[0])
    else:
        path = fetch(model, "model")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"There is no file or directory '{path}', and no preset of that "
            f"name. The presets are {sorted(PRESETS)}."
        )
    with open_bilm(path, prefers_checkpoint=True) as files:
        yield files
