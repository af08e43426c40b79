"""Trains a biLM, the language model behind ELMo's vectors, on raw text.

TEXT and the text of --heldout are tokenised: one sentence per line, with
spaces between the tokens, or CoNLL-U, in UTF-8, plain or .gz. Keep the case,
and tokenise it like the text on which the model will be used. The vocabulary is
the list of words that can be predicted, one per line: <S>, </S> and <UNK>
first, then by decreasing count, as the sampled softmax depends on the rank.
Without --vocabulary it is that of --from, if that has one, and else it is built
from the corpus. The input is characters, so any word can be read.

FOLDER receives the model with the best held-out perplexity so far, or without
--heldout the latest one, as options.json, weights.hdf5, softmax.hdf5 and
vocab.txt. It also has the text as integers, training_text.bin, four bytes for
each token, which you can delete when the training is finished. After an
interruption, including Ctrl-C, the same command resumes from the last
checkpoint, with the same results as without the interruption. With more
--epochs or --steps, a finished training continues.

The loss that is shown measures how well the right word is told apart from
--negatives random ones. It shows progress, but it is not a perplexity, and it
depends on --negatives. The held-out perplexity is exact: over all words, and
without dropout. Lower is better. Compare models only with the same vocabulary
and the same held-out text. It is read in 32 streams; keras-elmo perplexity
reads it in one, as bilm-tf does.

[options]

recipes:
  paper   94 M parameters without the softmax; Adagrad with a constant rate. It
          takes days on large GPUs.
  laptop  a small model that learns quickly; Muon with a linear decay of the
          rate.
  gpu     a model of the size of english_mini, which one large GPU trains in
          minutes; as laptop, but in bfloat16, with large windows, and for
          15,000 steps.

examples:
  keras-elmo pretrain 'corpus/*.txt.gz' my_elmo --heldout heldout.txt \\
      --recipe laptop

fine-tuning (training a model further on another kind of text):
  keras-elmo pretrain my_text.txt my_elmo --from english_mini \\
      --heldout my_heldout.txt --recipe laptop --epochs 1 --batch-size 16 \\
      --warmup-steps 20 --learning-rate 0.0003
  AllenNLP's models have no softmax and no vocabulary. Add --new-softmax: the
  vocabulary is built from the text, unless you pass --vocabulary.
"""

import sys
import warnings

from keras_elmo.checks import argument_name
from keras_elmo.checks import check_choice
from keras_elmo.commands.arguments import positive_integer
from keras_elmo.commands.pretrain_settings import DEFAULT_RECIPE
from keras_elmo.commands.pretrain_settings import add_settings
from keras_elmo.commands.pretrain_settings import make_settings
from keras_elmo.pretraining.settings import RECIPES

SUMMARY = "train a language model on text, or train one further"

_NEEDS = {
    "evaluate_every": "heldout",
    "patience": "heldout",
    "new_softmax": "initial",
}


def add_arguments(parser):
    """Adds the arguments of `keras-elmo pretrain`."""
    _add_files(parser.add_argument_group("files").add_argument)
    _add_model(parser.add_argument_group("model"))
    add_settings(parser.add_argument_group("training"))
    parser.add_argument(
        "--quiet", action="store_true", help="show no progress or summary"
    )


def run(arguments):
    """Runs `keras-elmo pretrain`; returns its exit status."""
    import keras

    from keras_elmo.commands.arguments import set_threads
    from keras_elmo.commands.pretrain_reports import TrainingDisplay
    from keras_elmo.commands.progress import ProgressDisplay
    from keras_elmo.models.find_model import find_model
    from keras_elmo.ops.backends import backend
    from keras_elmo.pretraining.pretrain import pretrain

    check_choice("KERAS_BACKEND", backend().name, ("tensorflow", "jax"))
    given = {k for k, value in vars(arguments).items() if value}
    for name, needed in _NEEDS.items():
        if name in given and needed not in given:
            raise ValueError(
                f"{argument_name(name)} needs {argument_name(needed)}. "
                "Received: none"
            )
    if {"initial", "min_count"} <= given and not arguments.new_softmax:
        raise ValueError(
            f"{argument_name('min_count')} needs {argument_name('new_softmax')}"
            f" here, because {argument_name('initial')} keeps its vocabulary."
        )
    set_threads()
    if backend().name == "jax" and len(keras.distribution.list_devices()) > 1:
        keras.distribution.set_distribution(keras.distribution.DataParallel())
    initial = arguments.initial and find_model(arguments.initial)
    with ProgressDisplay(arguments.quiet) as progress:
        if not given.intersection(("recipe", "options", "initial")):
            progress.say(
                "training the paper's model, which takes days on large GPUs; "
                "for a small text or a computer without one: --recipe laptop"
            )
        training = pretrain(
            arguments.text,
            arguments.output,
            make_settings(arguments, initial),
            heldout=arguments.heldout,
            vocabulary=arguments.vocabulary,
            min_count=arguments.min_count or 3,
            initial=initial,
            new_softmax=arguments.new_softmax,
            restart=arguments.restart,
            report=TrainingDisplay(progress),
        )
    progress = training.progress
    if not arguments.heldout:
        model = f"the model of step {progress.step:,}"
    elif progress.best_step is None:
        model = "no model before the first evaluation"
    else:
        model = (
            f"the best model, of step {progress.best_step:,}: "
            f"held-out perplexity {progress.best:,.2f}"
        )
    contents = f"'{arguments.output}' contains {model}."
    if not training.is_finished:
        print(
            f"keras-elmo: interrupted after step {progress.step:,}; the same "
            f"command, without --restart, resumes. {contents}",
            file=sys.stderr,
        )
        return 130
    if not arguments.quiet:
        print(contents)
    if progress.best_step == 0:
        warnings.warn(
            f"The training has not improved '{arguments.initial}', so this is "
            "the same model. Its learning rate may be too high for your text: "
            f"try {argument_name('learning_rate')} 0.0003.",
            stacklevel=1,
        )
    return 0


def _add_files(add):
    add(
        "text",
        nargs="+",
        metavar="TEXT",
        help="the corpus: files, or quoted patterns, such as 'corpus/*.gz'",
    )
    add("output", metavar="FOLDER", help="folder to train in")
    add(
        "--heldout",
        action="append",
        metavar="FILE",
        help="text that is not trained on, to choose the best model with: a "
        "file or a quoted pattern; may be repeated",
    )
    add(
        "--restart",
        action="store_true",
        help="discard the training in FOLDER and start over. Files that no "
        "training wrote are never replaced",
    )


def _add_model(group):
    add = group.add_argument
    add(
        "--recipe",
        choices=RECIPES,
        help="the model and how it is trained, see below; with --options or "
        f"--from, only how it is trained. Default: {DEFAULT_RECIPE}",
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--options",
        metavar="FILE",
        help="a bilm-tf options file, instead of the recipe's model. Its "
        "batch_size, unroll_steps, all_clip_norm_val and n_epochs are used too",
    )
    either.add_argument(
        "--from",
        dest="initial",
        metavar="MODEL",
        help="a trained model to start from: a folder written by this command "
        "or by bilm-tf's training, a .zip of one, or the name of a preset",
    )
    add(
        "--new-softmax",
        action="store_true",
        help="give that model a new softmax, if it has none or for another "
        "vocabulary",
    )
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--vocabulary", metavar="FILE", help="one word per line, as above"
    )
    either.add_argument(
        "--min-count",
        type=positive_integer,
        metavar="N",
        help="minimum count of a word, if the vocabulary is built from the "
        "corpus. Default: 3",
    )
