"""Classifies sentences by the mean of the ELMo vectors of their words.

    python examples/text_classification.py --train TRAIN --dev DEV
    python examples/text_classification.py --train TRAIN --dev DEV --fine-tune

Each line of the files is a label, a tab, and a tokenised sentence. Without
files it learns to tell questions from statements, on a few built-in sentences.
The biLM is frozen: only the mix of its layers and one dense layer are trained.
With --fine-tune, the biLM is trained too.
"""

import argparse
import sys

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import numpy as np

import keras_elmo

# Without question marks, the classes differ mainly in word order.
QUESTIONS = """\
where did you put the keys
have they seen the river
why is the door open
can we go home now
who wrote this letter
do you know her name
is the bank still closed
when will the train arrive
are these your books
what was he looking for
did she like the play
how far is the village"""
STATEMENTS = """\
you put the keys on the table
they have seen the river
the door is open again
we can go home now
my brother wrote this letter
you know her name
the bank is still closed
the train will arrive at noon
these are your books
he was looking for the dog
she did like the play
the village is far away"""


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", help="training file")
    add("--dev", help="file to score on")
    add("--elmo", default="english_mini", help="name or folder of a preset; "
        "default: english_mini, which ships with the package")  # fmt: skip
    add("--fine-tune", action="store_true", help="train the biLM too")
    add("--epochs", type=int, default=20, help="default: 20")
    add("--learning-rate", type=float, help="default: 0.01, or 0.001 with "
        "--fine-tune")  # fmt: skip
    add("--seed", type=int, default=0, help="default: 0")
    add("--save", help=".keras file to save the trained model to")
    add("--text", action="append", default=[], help="sentence to classify")
    options = parser.parse_args(argv)
    if (options.train is None) != (options.dev is None):
        parser.error("--train and --dev must be given together")

    keras.utils.set_random_seed(options.seed)
    if options.train:
        train, dev = read_file(options.train), read_file(options.dev)
    else:
        train, dev = built_in()
    names = sorted({label for label, _ in train})
    model = build(options.elmo, len(names), options.fine_tune)
    rate = options.learning_rate or (0.001 if options.fine_tune else 0.01)
    model.compile(
        keras.optimizers.Adam(rate, clipnorm=1.0),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    width = model.inputs[0].shape[-1]
    model.fit(
        *arrays(train, names, width),
        validation_data=arrays(dev, names, width),
        epochs=options.epochs,
        batch_size=16,
        verbose=2,
    )
    _, accuracy = model.evaluate(*arrays(dev, names, width), verbose=0)
    print(f"accuracy on dev: {100 * accuracy:.2f}% of {len(dev)} sentences")
    for text in options.text:
        ids = keras_elmo.batch_to_ids([text.split()], width)
        probabilities = model.predict(ids, verbose=0)[0]
        best = probabilities.argmax()
        print(f"{names[best]} ({100 * probabilities[best]:.0f}%): {text}")
    if options.save:
        model.save(options.save)
    return accuracy


def build(preset, num_labels, fine_tune=False):
    """Builds ELMo, the mean over words, and a dense layer."""
    elmo = keras_elmo.ElmoLayer.from_preset(
        preset, trainable=fine_tune, dropout=0.2, name="elmo"
    )
    width = elmo.token_encoder.max_characters_per_token
    ids = keras.Input((None, width), dtype="int32")
    # The mean ignores padding: it uses the mask that ELMo passes on.
    pooled = keras_elmo.SentencePooling()(elmo(ids))
    labels = keras.layers.Dense(num_labels, activation="softmax")(pooled)
    return keras.Model(ids, labels)


def built_in():
    """Sentences of both kinds: two thirds for training, the rest for dev."""
    pairs = [
        (label, sentence.split())
        for both in zip(QUESTIONS.splitlines(), STATEMENTS.splitlines())
        for label, sentence in zip(("question", "statement"), both)
    ]
    return pairs[:16], pairs[16:]


def read_file(path):
    """Returns pairs of a label and a list of words.

    Raises:
        ValueError: If a line is not a label, a tab and a sentence in UTF-8.
    """
    pairs = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"'{path}', line {number}: the text must be UTF-8. If it "
                    "is Latin-1, convert it with: iconv -f latin1 -t utf-8"
                ) from error
            label, tab, sentence = line.rstrip("\r\n").partition("\t")
            if not label or not tab or not sentence.split():
                raise ValueError(
                    f"'{path}', line {number}: a line must be a label, a tab "
                    f"and a sentence. Received: {line!r}"
                )
            pairs.append((label, sentence.split()))
    if not pairs:
        raise ValueError(f"'{path}' contains no sentences.")
    return pairs


def arrays(pairs, names, width):
    """Character ids (sentences, time, chars), and label indices."""
    unknown = {label for label, _ in pairs} - set(names)
    if unknown:
        raise ValueError(
            f"Labels must be among those of the training file, {names}. "
            f"Received: {sorted(unknown)}"
        )
    ids = keras_elmo.batch_to_ids([words for _, words in pairs], width)
    return ids, np.array([names.index(label) for label, _ in pairs])


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
