import argparse

_DESCRIPTION = """\
Writes a language model as the files that this package, bilm-tf and AllenNLP
read: above all, turns a bilm-tf training's checkpoint into them.

MODEL is a folder with options.json and a TensorFlow checkpoint, as bilm-tf's
training leaves it; a folder of keras-elmo pretrain; a folder with options.json
and one .hdf5; a .zip of one; or a preset's name.

FOLDER gets options.json and weights.hdf5, and where MODEL has them
softmax.hdf5 and vocab.txt, which are for predicting words: for keras-elmo
perplexity and for fine-tuning by keras-elmo pretrain --from. It is written
whole or not at all.

MODEL may also be a folder or .zip of ELMoForManyLangs. It is written as a
preset folder of this package, as neither bilm-tf nor AllenNLP can hold it.
"""

_EPILOG = """\
examples:
  keras-elmo convert bilm_tf_checkpoint my_elmo
  keras-elmo convert my_elmo my_small_files --dtype float16
  keras-elmo convert 178.zip my_vietnamese_elmo
  keras-elmo convert my_elmo my_fast_elmo --token-embeddings words.txt
"""


def add_parser(commands, run):
    """Adds the command's arguments to those of `keras-elmo`; `run` runs it."""
    parser = commands.add_parser(
        "convert",
        help="write a model's files, from a bilm-tf checkpoint for one",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("model", metavar="MODEL", help="the model to read")
    add(
        "folder", metavar="FOLDER", help="to write; must not exist, or be empty"
    )
    add(
        "--dtype",
        choices=("float32", "float16"),
        default="float32",
        help="in the files; float16 takes half the room, with three digits. "
        "Default: %(default)s",
    )
    add(
        "--token-embeddings",
        metavar="VOCABULARY",
        help="write token_embeddings.hdf5, too: the vectors of the words of "
        "this file, one a line, as bilm-tf's dump_token_embeddings does; and "
        "the words, as token_vocab.txt",
    )
    add(
        "--overwrite",
        action="store_true",
        help="replace FOLDER, if it holds a model and nothing else",
    )
