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

[options]

examples:
  keras-elmo convert bilm_tf_checkpoint my_elmo
  keras-elmo convert my_elmo my_small_files --output-dtype float16
  keras-elmo convert 178.zip my_vietnamese_elmo
"""

import os

SUMMARY = "write a model's files, for example from a bilm-tf checkpoint"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo convert`."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="the model to read")
    add("folder", metavar="FOLDER", help="the folder to write; new or empty")
    add(
        "--output-dtype",
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
    from keras_elmo.files.atomic import refuse_other_files
    from keras_elmo.files.atomic import write_folder_atomically
    from keras_elmo.layers.elmo_layer import ElmoLayer
    from keras_elmo.models.find_model import find_model
    from keras_elmo.models.presets import PRESETS
    from keras_elmo.models.presets import TAGGERS

    folder = arguments.folder
    model = find_model(arguments.model)
    names, write = model.conversion(ElmoLayer, arguments.output_dtype)
    refuse_other_files(folder, names)
    write_folder_atomically(folder, write, names, arguments.overwrite)
    _print_files(folder, names)
    is_name = folder in {*PRESETS, *TAGGERS}
    path = os.path.join(".", folder) if is_name else folder
    print(f"To load it: {find_model(path).how_to_load()}")


def _print_files(folder, names):
    print(f"'{folder}' contains:")
    found = [name for name in names if name in os.listdir(folder)]
    for name in found:
        size = os.path.getsize(os.path.join(folder, name)) / 1e6
        print(f"  {name:{max(map(len, found))}}  {size:,.2f} MB")
    if missing := [name for name in names if name not in found]:
        print(f"MODEL has no {' or '.join(missing)}: it cannot predict words.")
