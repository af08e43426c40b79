"""Converts a model, such as the checkpoint of a bilm-tf training, to the files
that this package, bilm-tf and AllenNLP read.

MODEL is a folder with options.json and a TensorFlow checkpoint, as written by
bilm-tf's training; a folder written by keras-elmo pretrain; a folder with
options.json and one .hdf5 file; a .zip of such a folder, or its URL; or the
name of a preset.

FOLDER receives options.json and weights.hdf5 and, if MODEL has them,
softmax.hdf5 and vocab.txt, which keras-elmo perplexity and keras-elmo pretrain
--from need to predict words. It is written atomically.

MODEL may also be a folder or .zip of ELMoForManyLangs. It is written as a
preset folder of this package, as the formats of bilm-tf and AllenNLP cannot
represent it.
"""

import os

from keras_elmo.formats.bilm_names import OPTIONS
from keras_elmo.formats.bilm_names import SOFTMAX
from keras_elmo.formats.bilm_names import VOCABULARY
from keras_elmo.formats.bilm_names import WEIGHTS

_BILM_FILES = OPTIONS, WEIGHTS, SOFTMAX, VOCABULARY

SUMMARY = "write a model's files, for example from a bilm-tf checkpoint"
EPILOG = """\
examples:
  keras-elmo convert bilm_tf_checkpoint my_elmo
  keras-elmo convert my_elmo my_small_files --dtype float16
  keras-elmo convert 178.zip my_vietnamese_elmo
"""


def add_arguments(parser):
    """Adds the arguments of `keras-elmo convert`."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="the model to read")
    add("folder", metavar="FOLDER", help="the folder to write; new or empty")
    add(
        "--dtype",
        choices=("float32", "float16"),
        default="float32",
        help="dtype in the files; float16 halves the size and keeps three "
        "digits. Default: %(default)s",
    )
    add(
        "--overwrite",
        action="store_true",
        help="replace FOLDER if it holds a model and nothing else",
    )


def run(arguments):
    """Runs `keras-elmo convert`."""
    from keras_elmo.files.atomic import write_folder_atomically
    from keras_elmo.models.find_model import find_model
    from keras_elmo.models.many_langs import ManyLangs

    folder = arguments.folder
    model = find_model(arguments.model)
    if isinstance(model, ManyLangs):
        _convert_many_langs(model, arguments)
        return
    _check_folder(arguments, _BILM_FILES)
    files = model.open_language_model()

    def write(path):
        _write_files(path, files, arguments.dtype)

    write_folder_atomically(folder, write, _BILM_FILES, arguments.overwrite)
    _print_summary(folder)


def _convert_many_langs(model, arguments):
    """Writes an ELMoForManyLangs model, which has no bilm-tf format."""
    from keras_elmo.formats.preset_files import PRESET_FILES
    from keras_elmo.models.preset_folder import save_to_preset
    from keras_elmo.models.presets import PRESETS

    folder = arguments.folder
    if arguments.dtype != "float32":
        raise ValueError(
            "--dtype must be left out: an ELMoForManyLangs model is written as "
            f"a preset folder, in float32. Received: {arguments.dtype}"
        )
    _check_folder(arguments, PRESET_FILES)
    save_to_preset(model.load(), folder, arguments.overwrite)
    _print_files(folder, PRESET_FILES)
    path = os.path.join(".", folder) if folder in PRESETS else folder
    print(f'To use it: keras_elmo.ElmoLayer.from_preset("{path}")')


def _check_folder(arguments, names):
    """Raises `ValueError` if FOLDER has files that may not be replaced."""
    folder = arguments.folder
    found = os.listdir(folder) if os.path.isdir(folder) else []
    kept = {name for name in found if not name.startswith(".")}
    if arguments.overwrite:
        kept -= {*names}
    if kept:
        raise ValueError(
            "FOLDER must not exist yet, or must be empty; --overwrite replaces "
            f"a model in it, only if all its files are among {sorted(names)}. "
            f"Received: '{folder}' with {sorted(kept)}"
        )


def _write_files(folder, files, dtype):
    from keras_elmo.formats.bilm_files import write_bilm
    from keras_elmo.formats.bilm_files import write_softmax
    from keras_elmo.formats.bilm_options import make_options

    options = make_options(files.options.token_encoder, files.options.encoder)
    options = {**files.content, **options}
    paths = [os.path.join(folder, name) for name in (OPTIONS, WEIGHTS)]
    write_bilm(*paths, options, files.read_arrays(), dtype)
    softmax = files.read_softmax()
    if softmax is not None:
        write_softmax(os.path.join(folder, SOFTMAX), softmax, dtype)
    vocabulary = files.read_vocabulary()
    if vocabulary is not None:
        with open(os.path.join(folder, VOCABULARY), "wb") as file:
            file.write(vocabulary)


def _print_summary(folder):
    _print_files(folder, _BILM_FILES)
    names = os.listdir(folder)
    missing = [name for name in (SOFTMAX, VOCABULARY) if name not in names]
    if missing:
        print(f"MODEL has no {' or '.join(missing)}: it cannot predict words.")
    print(f'To use it: keras_elmo.ElmoLayer.from_bilm("{folder}")')


def _print_files(folder, names):
    print(f"'{folder}' contains:")
    found = [name for name in names if name in os.listdir(folder)]
    for name in found:
        size = os.path.getsize(os.path.join(folder, name)) / 1e6
        print(f"  {name:{max(map(len, found))}}  {size:,.2f} MB")
