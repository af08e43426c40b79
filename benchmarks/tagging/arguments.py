"""The command line of `train.py`."""

import argparse

from model import ELMO_AT
from reading import SCHEMES

_ABOUT = """\
Trains a tagger, scores it, and saves it.

The baseline embeds each word and, with a BiLSTM, its characters. A BiLSTM reads
the sentence, and a CRF finds its tags. ELMo enters at the input, next to the
word embedding, at the output, next to the BiLSTM's output, or both.

Files have one word per line, with its tag in another column, and a blank line
after each sentence (CoNLL-2003, WNUT 2017). Files named .conllu are CoNLL-U;
the tagger learns their part-of-speech tags (UPOS).
"""
_EXAMPLES = """\
examples:
  # NER on WNUT 2017 (two columns, BIO): a quick check that everything works.
  train.py wnut17/train.conll wnut17/dev.conll --quick --output /tmp/quick

  # The baseline, then ELMo, with five seeds each; ELMo computed once.
  train.py wnut17/train.conll wnut17/dev.conll --test wnut17/test.conll \\
      --elmo-at none --seeds 1 2 3 4 5 --output baseline
  train.py wnut17/train.conll wnut17/dev.conll --test wnut17/test.conll \\
      --precompute --seeds 1 2 3 4 5 --output elmo

  # CoNLL-2003: four columns, of which the last has entities in IOB1.
  train.py eng.train eng.testa --test eng.testb --scheme IOB1 --output conll

  # Part-of-speech tags, from a tenth of the sentences and only layer 1.
  train.py train.conllu dev.conllu --fraction 0.1 --mix 1 --output pos

  # Train the biLM too, at a tenth of the learning rate.
  train.py train.conll dev.conll --fine-tune --output fine_tuned
"""


def parse_arguments(argv=None):
    """Returns the namespace of the command-line arguments."""
    parser = argparse.ArgumentParser(
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("train", help="tagged sentences for training")
    add("dev", help="tagged sentences for early stopping")

    add = parser.add_argument_group("files").add_argument
    add("--test", help="tagged sentences to score at the end")
    add("--output", required=True, help="folder to write, with a folder for "
        "each seed")  # fmt: skip
    add("--word-column", type=int, default=0, help="from 0; default: 0")
    add("--tag-column", type=int, default=-1, help="default: -1, the last")
    add(
        "--scheme",
        choices=SCHEMES,
        help="how tags mark spans; default: BIO, or none for CoNLL-U. IOB1 is "
        "read as BIO. The score is the F1 of entities, or with none the "
        "accuracy of tags",
    )

    add = parser.add_argument_group("ELMo").add_argument
    add("--elmo", default="english_mini", help="name or folder of a preset; "
        "default: english_mini, which ships with the package")  # fmt: skip
    add("--elmo-at", choices=ELMO_AT, default="both", help="default: both")
    add(
        "--mix",
        default="learned",
        help="how the layers are combined: 'learned' weights (default), "
        "'average', 'top', or a layer's number; layer 0 sees only the spelling",
    )
    add(
        "--mix-l2",
        type=float,
        default=0.0,
        help="how strongly learned weights are regularized towards each other; "
        "default: 0",
    )
    add(
        "--precompute",
        nargs="?",
        const=True,
        metavar="FOLDER",
        help="run the frozen biLM once instead of every epoch, with the same "
        "result. With FOLDER, its vectors are kept for the next training",
    )
    add("--fine-tune", action="store_true", help="train the biLM too")
    add(
        "--fine-tune-factor",
        type=float,
        default=0.1,
        help="factor of the learning rate for the biLM; default: 0.1",
    )

    add = parser.add_argument_group("the tagger").add_argument
    add("--no-words", action="store_true", help="leave out word embeddings")
    add("--no-characters", action="store_true", help="leave out characters")
    add("--word-vectors", help="file of word vectors, such as GloVe")
    add("--max-vectors", type=int, help="read at most this many vectors")
    add("--word-dim", type=int, default=100, help="default: 100")
    add("--character-units", type=int, default=25, help="default: 25")
    add(
        "--units",
        type=int,
        default=100,
        help="BiLSTM units per direction; 0 leaves it out. Default: 100",
    )
    add("--dropout", type=float, default=0.5, help="default: 0.5")
    add("--elmo-dropout", type=float, default=0.5, help="default: 0.5")

    add = parser.add_argument_group("training").add_argument
    add("--seeds", type=int, nargs="+", default=[1], help="default: 1")
    add("--fraction", type=float, default=1.0, help="fraction of the training "
        "sentences to use, sampled per seed; default: 1")  # fmt: skip
    add("--epochs", type=int, default=50, help="most epochs; default: 50")
    add("--patience", type=int, default=8, help="stop after this many "
        "evaluations without a better score; default: 8")  # fmt: skip
    add("--evaluate-every", type=int, metavar="UPDATES",
        help="default: once an epoch")  # fmt: skip
    add("--batch-size", type=int, default=32, help="sentences; default: 32")
    add("--learning-rate", type=float, default=1e-3, help="default: 0.001")
    add("--decay", type=float, default=0.5, help="factor for the learning rate "
        "after --decay-patience evaluations without a better score; "
        "default: 0.5")  # fmt: skip
    add("--decay-patience", type=int, default=3, help="default: 3")
    add("--clip", type=float, default=5.0, help="maximum global norm of the "
        "gradients; default: 5")  # fmt: skip
    add("--threads", type=int, help="default: TensorFlow's choice. With 1, you "
        "can run one training per core")  # fmt: skip
    add("--quick", action="store_true", help="check that everything works: 300 "
        "sentences of each file, 15 epochs, a learning rate of at least "
        "0.005")  # fmt: skip

    arguments = parser.parse_args(argv)
    arguments.scheme = arguments.scheme or (
        "none" if arguments.train.endswith(".conllu") else "BIO"
    )
    if not 0 < arguments.fraction <= 1:
        parser.error(f"--fraction must be above 0 and at most 1. Received: "
                     f"{arguments.fraction}")  # fmt: skip
    if arguments.fine_tune and arguments.precompute:
        parser.error("--precompute needs a frozen biLM: omit it, or omit "
                     "--fine-tune")  # fmt: skip
    if arguments.elmo_at == "none" and arguments.fine_tune:
        parser.error("--fine-tune needs ELMo. Received: --elmo-at none")
    return arguments
