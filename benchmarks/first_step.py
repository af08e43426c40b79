"""Measures the cost of the first training steps of a model with ELMo.

    python benchmarks/first_step.py --turns 3

The model is a BiLSTM tagger over an `Embedding`, over a frozen `english_tiny`,
and over a trainable ("thawed") one. Each is measured in separate processes, in
turns: CPU seconds and memory of the first step of `fit` and of the first step
with sentences of another length, and the median milliseconds of later steps.

With `--other FOLDER`, a checkout of another commit is measured as well.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

KINDS = ("embedding", "frozen", "thawed")
HERE = pathlib.Path(__file__).resolve()
SHAPES = ((32, 20), (32, 30))  # (sentences, words)
LATER_STEPS = 9
NUM_TAGS = 5


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--other", help="folder of another checkout")
    parser.add_argument("--measure", choices=KINDS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    folders = [HERE.parent.parent]
    if arguments.other:
        folders.append(pathlib.Path(arguments.other).resolve())
    found = {(folder, kind): [] for folder in folders for kind in KINDS}
    for _ in range(arguments.turns):
        for kind in KINDS:
            for folder in folders:
                found[folder, kind].append(run(folder, kind))
    for (folder, kind), turns in found.items():
        medians = [statistics.median(column) for column in zip(*turns)]
        print(
            "{}, {}: first step {:.2f} s and {:.0f} MB, another length "
            "{:.2f} s and {:.0f} MB, later {:.0f} ms".format(
                folder.name, kind, *medians
            )
        )


def run(folder, kind):
    result = subprocess.run(
        [sys.executable, str(HERE), "--measure", kind],
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    return json.loads(result.stdout.splitlines()[-1])


def measure(kind):
    import numpy as np

    model, inputs_of = make_model(kind)
    model.compile("adam", "sparse_categorical_crossentropy")
    generator = np.random.default_rng(0)
    numbers = []
    for batch, time in SHAPES:
        inputs = inputs_of(generator.integers(0, 1000, (batch, time)))
        tags = generator.integers(0, NUM_TAGS, (batch, time))
        seconds, megabytes = processor_seconds(), peak_megabytes()
        model.fit(inputs, tags, batch_size=batch, verbose=0)
        numbers += [
            processor_seconds() - seconds,
            peak_megabytes() - megabytes,
        ]
    later = []
    for _ in range(LATER_STEPS):
        seconds = processor_seconds()
        model.train_on_batch(inputs, tags)
        later.append(1000 * (processor_seconds() - seconds))
    return [*numbers, statistics.median(later)]


def make_model(kind):
    """Returns a model, and the function that makes its inputs."""
    import keras

    import keras_elmo

    if kind == "embedding":
        inputs = keras.Input((None,), dtype="int32")
        x = keras.layers.Embedding(1000, 256)(inputs)
    else:
        elmo = keras_elmo.ElmoLayer.from_preset(
            "english_tiny", trainable=kind == "thawed"
        )
        inputs = keras.Input((None, 50), dtype="int32")
        x = elmo(inputs)

    def inputs_of(numbers):
        if kind == "embedding":
            return numbers
        return keras_elmo.batch_to_ids(
            [[f"word{number}" for number in row] for row in numbers]
        )

    lstm = keras.layers.LSTM(64, return_sequences=True)
    x = keras.layers.Bidirectional(lstm)(x)
    outputs = keras.layers.Dense(NUM_TAGS, activation="softmax")(x)
    return keras.Model(inputs, outputs), inputs_of


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
