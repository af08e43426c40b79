"""Measures the cost of the first training steps of a model with ELMo.

    python benchmarks/first_step.py --turns 3

The model is a BiLSTM tagger over an `Embedding`, over a frozen `english_tiny`,
and over a trainable ("thawed") one. Each is measured in separate processes, in
turns: CPU seconds of the first step of `fit` and of the first step with
sentences of another length, and the median CPU milliseconds of later steps.

With `--other FOLDER`, a checkout of another commit is measured as well.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from program import make_parser

KINDS = ("embedding", "frozen", "thawed")
HERE = pathlib.Path(__file__).resolve()
SHAPES = ((32, 20), (32, 30))  # (sentences, words)
LATER_STEPS = 9
NUM_TAGS = 5


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--other", help="folder of another checkout")
    parser.add_argument("--measure", choices=KINDS, help="only this, here")
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
            "{}, {}: first step {:.2f} s, another length {:.2f} s, later "
            "{:.0f} ms".format(folder.name, kind, *medians)
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
    for shape in SHAPES:
        inputs = inputs_of(generator.integers(0, 1000, shape))
        tags = generator.integers(0, NUM_TAGS, shape)
        start = time.process_time()
        model.fit(inputs, tags, batch_size=len(tags), verbose=0)
        numbers.append(time.process_time() - start)
    later = []
    for _ in range(LATER_STEPS):
        start = time.process_time()
        model.train_on_batch(inputs, tags)
        later.append(1000 * (time.process_time() - start))
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


if __name__ == "__main__":
    main()
