"""Trains a tagger with a BiLSTM, a CRF, and optionally ELMo.

    python benchmarks/tagging/train.py TRAIN DEV --output FOLDER

See `--help` for all options. Each seed gets a folder with `tagger.keras`, which
`predict.py` uses, `result.json`, and pictures if matplotlib is installed.
"""

import json
import pathlib
import sys
import time

# isort: split

import keras
import numpy as np
from arguments import parse_arguments
from batches import Batches
from batches import compute_layers
from evaluation import accuracy_scores
from evaluation import confusion
from evaluation import entity_scores
from evaluation import mean_and_deviation
from evaluation import table
from model import Design
from model import build_head
from model import join
from model import load_bilm
from model import mix_weights
from model import vectorization_of
from model import with_tags
from reading import as_scheme
from reading import frequent_words
from reading import read_tagged
from reading import read_vectors
from reading import with_vectors
from training import compile_tagger
from training import make_evaluation
from training import train

from keras_elmo.commands.progress import Progress
from keras_elmo.files.atomic import write_atomically

# Enough for a tagger to find some entities.
QUICK_SENTENCES, QUICK_EPOCHS, QUICK_RATE = 300, 15, 0.005


def main(argv=None):
    options = parse_arguments(argv)
    set_threads(options.threads)
    if options.quick:
        options.epochs = min(options.epochs, QUICK_EPOCHS)
        options.learning_rate = max(options.learning_rate, QUICK_RATE)
    data = read_data(options)
    bilm = None
    if options.elmo_at != "none":
        with Progress().waiting(f"reading {options.elmo}"):
            bilm = load_bilm(options.elmo, options.fine_tune)
    layers, seconds = precompute(bilm, data, options.precompute)
    results = [
        train_one(options, seed, data, bilm, layers, seconds)
        for seed in options.seeds
    ]
    if len(results) > 1:
        print(f"\n{len(results)} seeds, mean and standard deviation:")
        for name in ("dev", "test"):
            scores = [r[name]["score"] for r in results if name in r]
            if scores:
                print(f"  {name:4} {mean_and_deviation(scores)}")
    return results


def read_data(options):
    """Returns a dictionary from `"train"` etc. to the sentences of the file."""
    data = {}
    for name in ("train", "dev", "test"):
        path = getattr(options, name)
        if path is None:
            continue
        with Progress().waiting(f"reading {path}"):
            sentences = read_tagged(
                path, options.word_column, options.tag_column
            )
        if options.quick:
            sentences = sentences[:QUICK_SENTENCES]
        # Only the training sentences must follow their scheme.
        if name == "train" or options.scheme == "IOB1":
            sentences = as_scheme(path, sentences, options.scheme)
        data[name] = sentences
        words = sum(len(s.words) for s in sentences)
        print(f"{name}: {len(sentences):,} sentences, {words:,} words")
    return data


def precompute(bilm, data, folder):
    """Returns the biLM's layers for each file, and the seconds taken."""
    if bilm is None or not folder:
        return dict.fromkeys(data), 0.0
    start = time.perf_counter()
    layers = {}
    for name, sentences in data.items():
        with Progress().waiting(f"computing the biLM's layers for {name}"):
            layers[name] = compute_layers(
                bilm,
                [s.words for s in sentences],
                None if folder is True else folder,
            )
    seconds = time.perf_counter() - start
    print(f"computed the biLM's layers in {seconds:.1f} s")
    return layers, seconds


def train_one(options, seed, data, bilm, layers, precompute_seconds):
    """Trains, scores and saves a tagger with one seed; returns its result."""
    print(f"\nseed {seed}")
    keras.utils.set_random_seed(seed)
    chosen = choose(len(data["train"]), options.fraction, seed)
    sentences = [data["train"][i] for i in chosen]
    tag_names = sorted(
        {tag for s in sentences for tag in s.tags}, key=lambda t: (t != "O", t)
    )
    number = {tag: i for i, tag in enumerate(tag_names)}
    if bilm is not None and options.fine_tune:
        bilm = load_bilm(options.elmo, fine_tune=True)  # Fresh for each seed.
    head = make_head(options, sentences, tag_names, bilm)
    # The biLM is not needed without ELMo or with precomputed layers.
    runs_bilm = bilm is not None and layers["train"] is None
    whole = join(head, bilm)
    # The compiled model is separate from the tagger, which is saved without
    # the optimizer.
    model = whole if runs_bilm else keras.Model(head.input, head.output)
    vectorization = vectorization_of(bilm)

    def make_batches(name, chosen, **kwargs):
        of_file = layers[name]
        return Batches(
            [data[name][i].words for i in chosen],
            vectorization,
            options.batch_size,
            None if of_file is None else [of_file[i] for i in chosen],
            seed=seed,
            **kwargs,
        )

    tags = [[number[tag] for tag in s.tags] for s in sentences]
    training_batches = make_batches("train", chosen, tags=tags)
    tagger = with_tags(model, tag_names)
    is_spans = options.scheme != "none"
    measure = entity_scores if is_spans else accuracy_scores
    main_score = "f1" if is_spans else "accuracy"

    def evaluation(name, measure):
        batches = make_batches(name, range(len(data[name])))
        gold = [s.tags for s in data[name]]
        return make_evaluation(tagger, batches, gold, tag_names, measure)

    compile_tagger(
        model, options.learning_rate, options.clip, options.fine_tune_factor
    )
    print(f"{count(model.trainable_variables):,} trainable weights")
    history = train(
        model,
        training_batches,
        evaluation("dev", lambda *tags: measure(*tags)[main_score]),
        options.epochs,
        options.patience,
        options.decay,
        options.decay_patience,
        options.evaluate_every,
        "F1" if is_spans else "accuracy",
    )

    result = {
        "options": vars(options),
        "seed": seed,
        "measure": main_score,
        "training_sentences": len(sentences),
        "trained_weights": count(model.trainable_variables),
        "precompute_seconds": precompute_seconds,
        "history": history,
        "mix_weights": mix_weights(head),
    }
    for name in ("dev", "test"):
        if name in data:
            # Predicts the tags once for all measures.
            gold, predicted = evaluation(name, lambda *tags: tags)()
            scores = measure(gold, predicted)
            names, counts = confusion(gold, predicted)
            result[name] = {
                "score": scores[main_score],
                **scores,
                "confusion": {"names": names, "counts": counts.tolist()},
            }
            print(f"\n{name}\n{table(scores)}")
    save(
        pathlib.Path(options.output) / f"seed-{seed}", result, whole, tag_names
    )
    return result


def make_head(options, sentences, tag_names, bilm):
    """Builds the trained part from the command-line options."""
    words = frequent_words([s.words for s in sentences])
    vectors, word_dim = None, options.word_dim
    if options.word_vectors:
        with Progress().waiting(f"reading {options.word_vectors}"):
            known = read_vectors(options.word_vectors, options.max_vectors)
        words, vectors = with_vectors(words, *known)
        word_dim = vectors.shape[1]
    design = Design(
        elmo_at=options.elmo_at,
        mix=options.mix,
        mix_l2=options.mix_l2,
        words=not options.no_words,
        characters=not options.no_characters,
        word_dim=word_dim,
        character_units=options.character_units,
        units=options.units,
        dropout=options.dropout,
        elmo_dropout=options.elmo_dropout,
    )
    scheme = {"IOB1": "BIO", "none": None}.get(options.scheme, options.scheme)
    return build_head(design, tag_names, scheme, words, bilm, vectors)


def save(folder, result, model, tag_names):
    """Writes the tagger, its pictures, and finally `result.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    with_tags(model, tag_names).save(folder / "tagger.keras")
    try:
        import pictures
    except ImportError:
        print("No pictures: matplotlib is not installed.")
    else:
        pictures.draw_training(folder / "training.png", result)
        pictures.draw_confusion(folder / "confusion.png", result)
    text = json.dumps(result, indent=1)
    write_atomically(
        folder / "result.json",
        lambda path: pathlib.Path(path).write_text(text, encoding="utf-8"),
    )
    print(f"\nWrote {folder}")


def choose(number, fraction, seed):
    """Samples sentence indices; they include those of smaller fractions."""
    order = np.random.default_rng(seed).permutation(number)
    return order[: max(1, round(fraction * number))]


def count(variables):
    return sum(int(np.prod(v.shape)) for v in variables)


def set_threads(number):
    if number is not None:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(number)
        tf.config.threading.set_inter_op_parallelism_threads(number)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
