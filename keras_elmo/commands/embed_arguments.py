import argparse

from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import LAYOUTS
from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.models.presets import PRESETS

_DESCRIPTION = """\
Embeds a corpus: an array of ELMo vectors for each sentence, in one file.

INPUT is tokenised text, one sentence a line with spaces between the tokens
(cased: do not lowercase), or CoNLL-U; plain or .gz; "-" is standard input. An
empty line is a sentence without tokens and keeps its number.

OUTPUT holds the arrays under the keys "0", "1", ..., the sentences' numbers,
and their text. It appears once all is done. Until then the work is in the
folder OUTPUT.parts: after an interruption of any kind, run the same command
again, and it goes on. Both together take twice the room.
"""

_EXAMPLES = """\
examples:
  keras-elmo embed corpus.txt corpus.hdf5 --model small
  keras-elmo embed dev.conllu.gz dev.hdf5 --model model_folder --layers top
  zcat text.gz | keras-elmo embed - out.npz --options options.json \\
      --weights weights.hdf5 --layers 0,2 --dtype float16

To read the result:
  with h5py.File("corpus.hdf5") as file:
      vectors = file["0"][()]   # (layers, tokens, width)
      numbers = json.loads(file["sentence_to_index"][0])
"""


def add_parser(commands, run):
    """Adds the command's arguments to those of `keras-elmo`; `run` runs it."""
    parser = commands.add_parser(
        "embed",
        help="embed a corpus into a file",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("input", metavar="INPUT", help='the corpus; "-" for standard input')
    add("output", metavar="OUTPUT", help="the file to write")

    add = parser.add_argument_group("model").add_argument
    add(
        "--model",
        help="a folder or .zip with options.json and one .hdf5, or of "
        "ELMoForManyLangs; a preset folder; or one of "
        f"{', '.join(PRESETS)}, which is in the package or downloaded once",
    )
    add("--options", metavar="FILE", help="in place of --model, its two files")
    add("--weights", metavar="FILE", help="goes with --options")
    add(
        "--token-embeddings",
        metavar="FILE",
        help="vectors of a vocabulary's words, as keras-elmo convert writes "
        "them, to look up in place of running the character CNN; goes with "
        "--vocabulary. Other words are read by their characters",
    )
    add(
        "--vocabulary",
        metavar="FILE",
        help="the words of --token-embeddings, or of a model with word input "
        "(by default its vocab.txt), one a line",
    )
    add(
        "--layers",
        type=_layers,
        default="all",
        help="all, top, average, sum, or numbers from 0, such as 0,2. top, "
        "average, sum and a single number give arrays (tokens, width), the "
        "others (layers, tokens, width). Default: all",
    )

    add = parser.add_argument_group("files").add_argument
    add(
        "--format",
        choices=CORPUS_FORMATS,
        help="of INPUT. Default: conllu for .conllu and .conllu.gz, else text",
    )
    add(
        "--encoding-errors",
        choices=("strict", "replace"),
        default="strict",
        help="what to do where INPUT is not UTF-8: stop, or read U+FFFD. "
        "Default: strict",
    )
    add(
        "--layout",
        choices=LAYOUTS,
        help="of OUTPUT: allennlp is HDF5 with sentence_to_index, bilm-tf is "
        "HDF5 with an array of sentences, npz is for numpy.load. Default: npz "
        "for .npz, allennlp for .hdf5 and .h5",
    )
    add(
        "--dtype",
        choices=VECTOR_DTYPES,
        default="float32",
        help="in OUTPUT; float16 takes half the room. Default: float32",
    )
    add("--overwrite", action="store_true", help="replace OUTPUT if it exists")
    add(
        "--restart",
        action="store_true",
        help="throw away what an unfinished run did, and start over",
    )
    add(
        "--cropped",
        metavar="FILE",
        help="write all words that were too long for the model, a line each: "
        "number of the sentence (from 1, as lines of text are), of the token "
        "in it (from 0), and the word, with tabs between",
    )

    add = parser.add_argument_group("speed").add_argument
    add(
        "--compute-dtype",
        choices=("float32", "mixed_bfloat16"),
        default="float32",
        help="mixed_bfloat16 is faster where the processor knows it, with two "
        "to three digits. Default: float32",
    )
    add(
        "--batch-tokens",
        type=int,
        default=16384,
        metavar="N",
        help="tokens computed at a time; fewer need less memory. Default: "
        "%(default)s",
    )
    add("--quiet", action="store_true", help="no progress, no summary")


def _layers(text):
    if text in ("all", "top", "average", "sum"):
        return text
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            "must be all, top, average, sum, or numbers such as 0,2. "
            f"Received: {text!r}"
        ) from None
    return numbers if len(numbers) > 1 else numbers[0]
