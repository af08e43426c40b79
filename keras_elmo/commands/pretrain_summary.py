"""What `keras-elmo pretrain` says of a training that is over."""

import os

from keras_elmo.commands.perplexity import measure
from keras_elmo.commands.pretrain_reports import describe_perplexity
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_log import TrainingLog

_FILES = {
    "options.json, weights.hdf5": "the biLM, for ElmoLayer, AllenNLP, bilm-tf",
    "softmax.hdf5, vocab.txt": "to predict words, and for --from",
    "training.json, training_state.hdf5": "to train on",
    "log.jsonl": "losses and perplexities",
}


def print_summary(arguments, settings, tally):
    """Prints what is in a training's folder, and how good it is.

    Args:
        arguments: The command's.
        settings: The `Settings`.
        tally: The `Tally` of the training.
    """
    folder = arguments.output
    if tally.step == tally.first_step:
        _print_nothing_done(tally)
    step = tally.step
    if arguments.heldout:
        step = _best_step(folder) or step
    print(
        f"'{folder}' holds the model after step {step:,} of {tally.step:,} "
        f"({tally.tokens:,} tokens in each direction):"
    )
    for names, what in _FILES.items():
        print(f"  {names:34}  {what}")
    if arguments.heldout:
        found = measure(folder, read_sentences(arguments.heldout))
        print(
            f"Held-out {describe_perplexity(found)}, by bilm-tf's procedure, "
            f"of {found.tokens:,} tokens"
        )
    if "char_cnn" in settings.options:
        print(f'To use it: keras_elmo.ElmoLayer.from_bilm("{folder}")')


def _best_step(folder):
    """Returns when the held-out perplexity was best; `None` if never known."""
    entries = TrainingLog(os.path.join(folder, LOG_FILE)).read()
    key = "heldout_perplexity"
    entries = [entry for entry in entries if key in entry]
    return min(entries, key=lambda e: e[key])["step"] if entries else None


def _print_nothing_done(tally):
    if tally.step >= tally.total:
        print(
            "The training was over before: with more --epochs or --steps, it "
            "goes on."
        )
    else:
        print(
            "The training was over before, as its perplexity did not become "
            "better: with a larger --patience, it goes on."
        )
