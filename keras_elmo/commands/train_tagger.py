"""Trains a tagger on your own labelled sentences, for example for named
entities or parts of speech. ELMo is frozen and embeds the text once; a BiLSTM
and a CRF are trained on its vectors.

TRAIN has a word and its label in each line, separated by tabs or spaces, and
an empty line after each sentence; or it is CoNLL-U (.conllu). It is in UTF-8,
plain or .gz. Labels may be of any kind. If they mark entities in the scheme
BIO, BIOES or BIOUL, only labels of that scheme can be predicted; IOB1, as in
CoNLL-2003, is converted to BIO.

After each epoch, the sentences of --dev are scored, by entity F1 or by the
accuracy of other labels. Training ends when the score stops rising, and OUTPUT
is the tagger of the best epoch. Ctrl-C ends it at once, with the best so far.

OUTPUT is one .keras file with everything that is needed: ELMo, the layers
after it, and the labels. It is written atomically.

[options]

examples:
  keras-elmo train-tagger train.conll ner.keras --dev dev.conll
  keras-elmo tag ner.keras corpus.txt tagged.conll
  keras-elmo export ner.keras ner.onnx

In Python, keras_elmo.Tagger.train does the same, and has more settings.
"""

import os
import sys

from keras_elmo.commands.arguments import positive_integer

SUMMARY = "train a tagger on labelled sentences"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo train-tagger`."""
    add = parser.add_argument
    add("train", metavar="TRAIN", help="the file of labelled sentences")
    add("output", metavar="OUTPUT", help="the .keras file to write")
    add(
        "--dev",
        metavar="FILE",
        help="labelled sentences to score after each epoch. Default: a tenth "
        "of TRAIN, on which it is then not trained",
    )
    add("--test", metavar="FILE", help="labelled sentences to score at the end")
    add(
        "--column",
        type=positive_integer,
        metavar="N",
        help="the column of the labels, from 1. Default: the last one; in "
        "CoNLL-U the fourth, parts of speech",
    )
    add(
        "--elmo",
        metavar="MODEL",
        default="english_mini",
        help="an ELMo model, as for keras-elmo embed. Default: %(default)s, "
        "which is in the package",
    )
    add(
        "--seed",
        type=int,
        default=1,
        help="seed of all random numbers. With the same seed, the tagger "
        "predicts the same labels on the same machine. Default: %(default)s",
    )
    add("--overwrite", action="store_true", help="replace OUTPUT if it exists")
    add("--quiet", action="store_true", help="show no progress or scores")


def run(arguments):
    """Runs `keras-elmo train-tagger`."""
    import keras

    from keras_elmo.crf.tags import find_scheme
    from keras_elmo.tagging.tagger import Tagger
    from keras_elmo.tagging.tagger import writable_path
    from keras_elmo.tagging.tagger import write_tagger
    from keras_elmo.text.tagged_text import read_conll

    say = (lambda _: None) if arguments.quiet else print
    # Rather now than after the training.
    writable_path(arguments.output, arguments.overwrite)
    data = {}
    for name in ("train", "dev", "test"):
        if path := getattr(arguments, name):
            data[name] = read_conll(path, arguments.column)
            labels = [label for tags in data[name][1] for label in tags]
            scheme = find_scheme(labels) or "none (they mark no entities)"
            say(
                f"{path}: {len(labels):,} words, scheme of the labels: {scheme}"
            )
    keras.utils.set_random_seed(arguments.seed)
    bars = 1 if sys.stdout.isatty() else 2
    tagger = Tagger.train(
        *data.pop("train"),
        data.get("dev"),
        arguments.elmo,
        verbose=0 if arguments.quiet else bars,
    )
    write_tagger(tagger, arguments.output, arguments.overwrite)
    for name, tagged in {} if arguments.quiet else data.items():
        say(_describe(getattr(arguments, name), tagger.evaluate(*tagged)))
    size = os.path.getsize(arguments.output) / 1e6
    say(f"'{arguments.output}' ({size:,.1f} MB)")


def _describe(path, scores):
    """Returns scores as a table."""
    rows = {"all": scores} if "f1" in scores else {}
    lines = [
        f"{path}: {scores['accuracy']:.1%} of the labels are right",
        f"{'':12} {'F1':>7} {'precision':>10} {'recall':>7} {'number':>7}",
    ]
    for name, x in (rows | scores["types"]).items():
        shares = f"{x['f1']:7.1%} {x['precision']:10.1%} {x['recall']:7.1%}"
        lines.append(f"{name:12} {shares} {x['count']:7,}")
    return "\n".join(lines)
