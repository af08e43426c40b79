"""Scores a tagger on labelled sentences on which it was not trained.

FILE is a labelled file of any kind that keras-elmo train-tagger reads: a word
and its label in each line, with an empty line after each sentence; CoNLL-U
(.conllu); or annotated text (.jsonl, or .json of Label Studio).

The command prints the share of the words whose label is right. If the tagger
marks entities, it also prints the precision, recall and F1 of each type: an
entity is right if its first word, its last word and its type are. The labels
may be in another scheme than the tagger's. If the tagger marks no entities,
words are counted instead, for each label.

[options]

examples:
  keras-elmo evaluate ner.keras test.conll
  keras-elmo evaluate english_pos en_ewt-ud-test.conllu
  keras-elmo evaluate ner.keras test.conll --json > scores.json

In Python, keras_elmo.Tagger.evaluate does the same.
"""

import json

from keras_elmo.commands import labelled_files
from keras_elmo.commands.arguments import add_tagger_argument
from keras_elmo.commands.progress import ProgressDisplay

SUMMARY = "score a tagger on labelled sentences"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo evaluate`."""
    add = parser.add_argument
    add_tagger_argument(add)
    add("file", metavar="FILE", help="the file of labelled sentences")
    labelled_files.add_arguments(add)
    add(
        "--json",
        action="store_true",
        help="print a JSON object: accuracy, types and, for entities, "
        "precision, recall, f1 and count",
    )
    add("--quiet", action="store_true", help="show no progress or report")


def run(arguments):
    """Runs `keras-elmo evaluate`."""
    from keras_elmo.tagging.tagger import Tagger

    text, scheme = labelled_files.read(arguments.file, arguments)
    with ProgressDisplay(arguments.quiet) as progress:
        with progress.waiting("loading the model"):
            tagger = Tagger.load(arguments.model)
        known = tagger.tag_names, tagger.scheme
        labelled_files.check_known(text, scheme, *known)
        scheme = tagger.scheme and (scheme or tagger.scheme)
        progress.say(labelled_files.describe(text, scheme))
    verbose = 0 if arguments.quiet else None
    scores = tagger.evaluate(text.words, text.tags, verbose=verbose)
    report = labelled_files.describe_scores(arguments.file, scores)
    print(json.dumps(scores) if arguments.json else report)
