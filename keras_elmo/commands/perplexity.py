"""The command `keras-elmo perplexity`."""

import json

from keras_elmo.commands.pretrain_reports import describe_perplexity
from keras_elmo.commands.status_line import StatusLine
from keras_elmo.commands.threads import set_threads
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.text.vocabulary import Vocabulary


def run(arguments):
    """Runs `keras-elmo perplexity`."""
    set_threads(arguments.threads)
    vocabulary = arguments.vocabulary
    found = measure(
        arguments.model,
        read_sentences(arguments.text),
        vocabulary and Vocabulary.from_file(vocabulary),
        arguments.procedure,
        arguments.rows,
        arguments.dtype,
        arguments.quiet,
    )
    if arguments.json:
        what = {"procedure": arguments.procedure, "model": arguments.model}
        print(json.dumps({**found._asdict(), **what}))
    else:
        print(describe_perplexity(found))
        print(
            f"{found.tokens:,} tokens in each direction, with one mark for "
            f"each sentence; procedure {arguments.procedure}"
        )


def measure(
    model,
    sentences,
    vocabulary=None,
    procedure="stream",
    rows=1,
    dtype=None,
    quiet=False,
):
    """Returns the `Perplexity` of a model's files; shows how far it is.

    Args:
        model: As for `load_language_model`.
        sentences: List of sentences, each a list of words as bytes.
        vocabulary: As for `load_language_model`.
        procedure: As for `Evaluator`.
        rows: As for `Evaluator`.
        dtype: As for `load_language_model`.
        quiet: Boolean, whether to show nothing.
    """
    line = StatusLine(quiet)
    with line.waiting("reading the model"):
        loaded = load_language_model(model, vocabulary, dtype)
    evaluator = Evaluator(loaded.model, loaded.vocabulary, procedure, rows)
    total = sum(len(sentence) + 1 for sentence in sentences)
    with line.waiting("compiling"):
        found = evaluator.evaluate(
            sentences,
            lambda done: line.show(
                lambda: f"measuring the perplexity: {done:,}/{total:,} tokens"
            ),
        )
        line.close()
    return found
