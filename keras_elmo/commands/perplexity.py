"""Measures the perplexity of a language model on a text, that is, how well it
predicts the text. A perplexity of 50 is as if each word had to be guessed among
50 equally likely ones, so lower is better.

  perplexity = exp((mean forward loss + mean backward loss) / 2)

The losses are exact: over all words of the vocabulary, and without dropout. A
word outside the vocabulary is read by its characters, and predicted as <UNK>.
Compare perplexities only on the same text and with the same vocabulary, and not
with the loss shown in training.

To compare models with different vocabularies, use the same --vocabulary for
each: every word outside it counts as <UNK>, with the sum of the probabilities
of all such words. The model must be able to predict every word that counts. If
--vocabulary is repeated, only the words in all of its files count: name the
vocabularies of both models.

TEXT is tokenised like the model's training text: one sentence per line, with
spaces between the tokens, or CoNLL-U, in its original case, in UTF-8, plain or
.gz. MODEL must have a softmax (softmax.hdf5, or the checkpoint of a bilm-tf
training) and a vocabulary (vocab.txt). The command also prints the share of the
words of TEXT that the vocabulary has. If it is below 90%, there is a warning,
because a perplexity over many words that count as <UNK> is too low.

[options]

procedures:
  stream     as in bilm-tf: the text is one stream, and the state is carried
             from each sentence to the next. This is the default, as published
             perplexities are measured this way.
  sentences  each sentence separately, as ElmoLayer reads it. The perplexity is
             higher, as the first words of a sentence have no context.

examples:
  keras-elmo perplexity my_elmo heldout.txt
  keras-elmo perplexity bilm_tf_checkpoint 'heldout/*.txt.gz' --json
  keras-elmo perplexity a heldout.txt --vocabulary a/vocab.txt \\
      --vocabulary b/vocab.txt
  keras-elmo perplexity b heldout.txt --vocabulary a/vocab.txt \\
      --vocabulary b/vocab.txt
"""

import itertools
import json

from keras_elmo.commands.arguments import add_dtype_argument
from keras_elmo.commands.arguments import positive_integer
from keras_elmo.commands.arguments import set_threads
from keras_elmo.commands.progress import ProgressDisplay

SUMMARY = "measure how well a language model predicts a text"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo perplexity`."""
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="a folder written by keras-elmo pretrain, keras-elmo convert or "
        "bilm-tf's training; a .zip of one; or the name of a preset",
    )
    add(
        "text", nargs="+", metavar="TEXT", help="files, or quoted glob patterns"
    )
    add(
        "--json",
        action="store_true",
        help="print a JSON object: perplexity, forward, backward, tokens, "
        "coverage, procedure, model",
    )
    add(
        "--procedure",
        choices=("stream", "sentences"),
        default="stream",
        help="see below. Default: %(default)s",
    )
    add(
        "--rows",
        type=positive_integer,
        metavar="N",
        help="streams into which the text is divided: more are faster, but "
        "only 1 is exactly bilm-tf's procedure. Default: 1",
    )
    add(
        "--vocabulary",
        action="append",
        metavar="FILE",
        help="the words that count, one per line; if repeated, the words in "
        "all of the files. Default: all that the model predicts",
    )
    add_dtype_argument(add)
    add("--quiet", action="store_true", help="show no progress")


def run(arguments):
    """Runs `keras-elmo perplexity`."""
    from keras_elmo.pretraining.bidirectional_language_model import (
        BidirectionalLanguageModel,
    )
    from keras_elmo.pretraining.corpus_shards import read_sentences
    from keras_elmo.pretraining.model_files import load_language_model
    from keras_elmo.pretraining.perplexity import Evaluator
    from keras_elmo.text.vocabulary import Vocabulary
    from keras_elmo.text.vocabulary import covered_share

    if arguments.rows is not None and arguments.procedure != "stream":
        raise ValueError(
            "--rows needs --procedure stream. "
            f"Received: --procedure {arguments.procedure}"
        )
    set_threads()
    sentences = read_sentences(arguments.text)
    counted = None
    if arguments.vocabulary:
        lists = map(Vocabulary.from_file, arguments.vocabulary)
        counted = set.intersection(*(set(x.words) for x in lists))
    with ProgressDisplay(arguments.quiet) as progress:
        with progress.waiting("loading the model"):
            model, vocabulary = load_language_model(
                BidirectionalLanguageModel,
                arguments.model,
                dtype=arguments.dtype,
            )
        rows = min(arguments.rows or 1, len(sentences))
        evaluator = Evaluator(
            model, vocabulary, arguments.procedure, rows, counted
        )
        counted = counted or vocabulary.words
        share = covered_share(itertools.chain(*sentences), counted)
        total = sum(len(sentence) + 1 for sentence in sentences)
        progress.start("tokens", total, "measuring the perplexity: ")
        is_first = itertools.chain([True], itertools.repeat(False))
        with progress.waiting("compiling"):  # Until the first window is done.
            found = evaluator.evaluate(
                sentences,
                lambda done: progress.update(done, done, next(is_first)),
            )
    if arguments.json:
        what = {"procedure": arguments.procedure, "model": arguments.model}
        print(json.dumps({**found._asdict(), "coverage": share, **what}))
    else:
        print(describe_perplexity(found))
        print(
            f"{found.tokens:,} predictions in each direction, including a BOS "
            "or EOS token for each sentence "
            f"(--procedure {arguments.procedure})"
        )
        print(f"The vocabulary has {share:.1%} of the text's words.")


def describe_perplexity(perplexity):
    """Returns a `Perplexity` as text."""
    return (
        f"perplexity {perplexity.perplexity:,.2f} "
        f"(forward {perplexity.forward:,.1f}, "
        f"backward {perplexity.backward:,.1f})"
    )
