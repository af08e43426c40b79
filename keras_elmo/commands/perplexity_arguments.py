import argparse

from keras_elmo.choices import PROCEDURES
from keras_elmo.commands.argument_types import positive_integer
from keras_elmo.pretraining.settings import DTYPES

_DESCRIPTION = """\
Tells how well a language model predicts a text: its perplexity, which is as if
each word had to be guessed among so many, all as likely. The lower, the better.

  perplexity = exp((mean forward loss + mean backward loss) / 2)

Every loss is exact: over all words of the vocabulary, without dropout. A word
outside it is predicted as <UNK>, and read by its characters. Perplexities of
different vocabularies or texts cannot be compared, nor with a training's
sampled_loss.

TEXT is tokenised as the model's training text was: one sentence a line, spaces
between the tokens, cased, UTF-8, plain or .gz. MODEL must have its softmax and
its vocabulary: softmax.hdf5, or the checkpoint of a bilm-tf training, and
vocab.txt.
"""

_EPILOG = """\
procedures:
  stream     bilm-tf's: the text is one stream, and the state is carried from
             each sentence to the next. The default, for published numbers.
  sentences  each sentence on its own, as ElmoLayer reads it. A higher number,
             as there is nothing to tell a sentence's first words from.

examples:
  keras-elmo perplexity my_elmo heldout.txt
  keras-elmo perplexity bilm_tf_checkpoint 'heldout/*.txt.gz' --json
"""


def add_parser(commands, run):
    """Adds the command's arguments to those of `keras-elmo`; `run` runs it."""
    parser = commands.add_parser(
        "perplexity",
        help="measure how well a language model predicts a text",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="a folder of keras-elmo pretrain, of keras-elmo convert or of a "
        "bilm-tf training; a .zip of one; or a preset's name",
    )
    add("text", nargs="+", metavar="TEXT", help="files, or quoted patterns")
    add(
        "--json",
        action="store_true",
        help="print a JSON object: perplexity, forward, backward, tokens, "
        "procedure, model",
    )
    add(
        "--procedure",
        choices=PROCEDURES,
        default="stream",
        help="see below. Default: %(default)s",
    )
    add(
        "--rows",
        type=positive_integer,
        default=1,
        metavar="N",
        help="streams that the text is shared out to: more are faster, and no "
        "longer just bilm-tf's procedure. Default: %(default)s",
    )
    add(
        "--vocabulary",
        metavar="FILE",
        help="that of the model's training, if it is not in MODEL",
    )
    add(
        "--dtype",
        choices=DTYPES,
        default="float32",
        help="to compute in. Default: %(default)s",
    )
    add(
        "--threads",
        type=positive_integer,
        metavar="N",
        help="processors to use. Default: all, without a GPU",
    )
    add("--quiet", action="store_true", help="no progress")
