"""Trains a tagger with a BiLSTM, a CRF, and optionally frozen ELMo.

    python benchmarks/tagging/train.py wnut17/train.conll wnut17/dev.conll \\
        --test wnut17/test.conll --output FOLDER

The baseline embeds each word and, with a BiLSTM, its characters. A BiLSTM reads
the sentence, and a CRF finds its tags. ELMo enters at the input, next to the
word embedding, at the output, next to the BiLSTM's output, or both.

Files have one word per line, its tag after a tab, and a blank line after each
sentence. Files named .conllu are CoNLL-U; the tagger learns their UPOS tags.
Each seed gets a folder with `result.json`: scores, options, training curve.
"""

import argparse
import json
import os
import pathlib
import time

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import numpy as np
import tensorflow as tf
from data import Batches
from data import compute_layers
from data import frequent_words
from data import read_tagged
from model import ELMO_AT
from model import build_tagger
from model import mix_weights

import keras_elmo
from keras_elmo.crf.tags import find_scheme
from keras_elmo.tagging.scores import score_tags

PATIENCE, DECAY_PATIENCE, DECAY, CLIP = 8, 3, 0.5, 5.0
# Enough for a tagger to find some entities.
QUICK_SENTENCES, QUICK_EPOCHS, QUICK_RATE = 300, 15, 0.005


def main(argv=None):
    options = parse_arguments(argv)
    if options.threads:
        threading = tf.config.threading
        threading.set_intra_op_parallelism_threads(options.threads)
        threading.set_inter_op_parallelism_threads(options.threads)
    data, layers = {}, {}
    for name in ("train", "dev", "test"):
        if getattr(options, name) is None:
            continue
        data[name] = read_tagged(getattr(options, name))
        if options.quick:
            data[name] = data[name][:QUICK_SENTENCES]
        layers[name] = None
        if options.elmo_at != "none":
            layers[name] = compute_layers(
                *(options.elmo, data[name]),
                options.layers or f"{options.output}/layers",
            )
    return [train_one(options, seed, data, layers) for seed in options.seeds]


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("train", help="tagged sentences for training")
    add("dev", help="tagged sentences for early stopping")
    add("--test", help="tagged sentences to score at the end")
    add("--output", required=True, help="folder to write to")
    add("--elmo", default="english_mini", help="name or folder of a preset; "
        "default: %(default)s")  # fmt: skip
    add("--layers", help="folder to keep the biLM's layers in; default: in "
        "--output")  # fmt: skip
    add("--elmo-at", choices=ELMO_AT, default="both", help="default: both")
    add("--mix", default="learned", help="how the layers are combined: learned "
        "weights (default), average, or a layer's number")  # fmt: skip
    add("--mix-l2", type=float, default=0.0, help="regularizes learned weights "
        "towards each other; default: 0")  # fmt: skip
    add("--no-words", action="store_true", help="leave out word embeddings")
    add("--no-characters", action="store_true", help="leave out characters")
    add("--units", type=int, default=100, help="BiLSTM units per direction; 0 "
        "leaves it out. Default: 100")  # fmt: skip
    add("--dropout", type=float, default=0.5, help="default: 0.5")
    add("--elmo-dropout", type=float, default=0.5, help="default: 0.5")
    add("--seeds", type=int, nargs="+", default=[1], help="default: 1")
    add("--fraction", type=float, default=1.0, help="fraction of the training "
        "sentences to use, sampled per seed; default: 1")  # fmt: skip
    add("--epochs", type=int, default=50, help="most epochs; default: 50")
    add("--evaluate-every", type=int, metavar="UPDATES",
        help="default: once an epoch")  # fmt: skip
    add("--batch-size", type=int, default=32, help="sentences; default: 32")
    add("--learning-rate", type=float, default=1e-3, help="default: 0.001")
    add("--threads", type=int, help="default: TensorFlow's choice")
    add("--quick", action="store_true", help="check that everything works, on "
        "300 sentences of each file")  # fmt: skip
    options = parser.parse_args(argv)
    is_conllu = options.train.endswith(".conllu")
    options.measure = "accuracy" if is_conllu else "f1"
    if options.quick:
        options.epochs = min(options.epochs, QUICK_EPOCHS)
        options.learning_rate = max(options.learning_rate, QUICK_RATE)
    return options


def train_one(options, seed, data, layers):
    """Trains and scores a tagger with one seed; returns its result."""
    print(f"seed {seed}")
    keras.utils.set_random_seed(seed)
    chosen = choose(len(data["train"]), options.fraction, seed)
    data = {**data, "train": [data["train"][i] for i in chosen]}
    if layers["train"] is not None:
        layers = {**layers, "train": [layers["train"][i] for i in chosen]}
    tags = {tag for sentence in data["train"] for tag in sentence.tags}
    tag_names = sorted(tags, key=lambda tag: (tag != "O", tag))
    numbers = frequent_words(data["train"])
    shared = numbers, tag_names, options.batch_size, seed
    batches = {
        name: Batches(data[name], layers[name], *shared) for name in data
    }
    shape = layers["train"] and layers["train"][0].shape[::2]
    model = build_tagger(options, tag_names, len(numbers) + 2, shape)
    best_tags = keras_elmo.CRFDecoder(tag_names=tag_names)(model.output)
    tagger = keras.Model(model.input, best_tags)
    scheme = find_scheme(tag_names)

    def evaluate(name):
        gold = [sentence.tags for sentence in data[name]]
        found = tag_sentences(tagger, batches[name], tag_names)
        return score_tags(gold, found, scheme)

    model.compile(
        keras.optimizers.Adam(options.learning_rate, global_clipnorm=CLIP),
        loss=keras_elmo.CRFLoss(),
    )
    every = options.evaluate_every or len(batches["train"])
    score = DevScore(lambda: evaluate("dev")[options.measure], every)
    model.fit(
        batches["train"].dataset(),
        steps_per_epoch=every,
        epochs=max(1, options.epochs * len(batches["train"]) // every),
        shuffle=False,  # The dataset already is.
        verbose=0,
        callbacks=[
            score,
            keras.callbacks.ReduceLROnPlateau(
                *("dev_score", DECAY, DECAY_PATIENCE), mode="max"
            ),
            keras.callbacks.EarlyStopping(
                *("dev_score", 0, PATIENCE),
                mode="max",
                restore_best_weights=True,
            ),
        ],
    )
    result = {
        "options": vars(options),
        "seed": seed,
        "measure": options.measure,
        "training_sentences": len(data["train"]),
        "history": score.history,
        "mix_weights": mix_weights(model),
    }
    for name in ("dev", "test"):
        if name in data:
            scores = evaluate(name)
            result[name] = {"score": scores[options.measure], **scores}
            print(f"{name}: {100 * result[name]['score']:.2f}")
    folder = pathlib.Path(options.output, f"seed-{seed}")
    folder.mkdir(parents=True, exist_ok=True)
    # Under its name only when it is complete.
    (folder / "result.part").write_text(json.dumps(result, indent=1))
    os.replace(folder / "result.part", folder / "result.json")
    return result


class DevScore(keras.callbacks.Callback):
    """Scores the dev sentences; logs `dev_score` for the callbacks after it.

    Args:
        evaluate: Function that returns the score.
        steps: Integer, updates between evaluations.
    """

    def __init__(self, evaluate, steps):
        super().__init__()
        self.history = []
        self._evaluate = evaluate
        self._steps = steps

    def on_epoch_begin(self, epoch, logs=None):
        self._cpu = time.process_time()

    def on_epoch_end(self, epoch, logs):
        cpu = time.process_time() - self._cpu
        logs["dev_score"] = self._evaluate()
        entry = {
            "update": (epoch + 1) * self._steps,
            "loss": float(logs["loss"]),
            "dev_score": logs["dev_score"],
            "learning_rate": float(self.model.optimizer.learning_rate),
            "processor_seconds": cpu,
        }
        self.history.append(entry)
        print(json.dumps(entry), flush=True)


def tag_sentences(tagger, batches, tag_names):
    """Returns the names of each sentence's tags, in order."""
    found = [None] * len(batches.sentences)
    for chosen, inputs in batches.in_order():
        for i, row in zip(chosen, np.asarray(tagger.predict_on_batch(inputs))):
            row = row[: len(batches.sentences[i].words)]
            found[i] = [tag_names[tag] for tag in row]
    return found


def choose(number, fraction, seed):
    """Samples sentence indices; they include those of smaller fractions."""
    order = np.random.default_rng(seed).permutation(number)
    return order[: max(1, round(fraction * number))]


if __name__ == "__main__":
    main()
