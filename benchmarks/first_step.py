"""Measures the cost of the first training steps of a model with ELMo.

    python benchmarks/first_step.py --output first_step.json

The model is a BiLSTM tagger over an `Embedding`, over a frozen biLM, and
over a trainable ("thawed") one. Each is measured in separate processes, in
turns: CPU seconds of the first step of `fit`.
"""

import pathlib
import subprocess
import sys
import time

from program import begin_results
from program import make_parser
from program import write_results

KINDS = ("embedding", "frozen", "thawed")
SHAPE = (32, 20)  # (sentences, words)
NUM_TAGS = 5


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--model", default="english_mini", help="preset or folder")
    add("--turns", type=int, default=3)
    add("--output", help="JSON file to write")
    add("--measure", choices=KINDS, help="only this, here")
    arguments = parser.parse_args()
    if arguments.measure:
        print(measure(arguments.measure, arguments.model))
        return
    seconds = {kind: [] for kind in KINDS}
    for _ in range(arguments.turns):
        for kind, found in seconds.items():
            found.append(run(kind, arguments.model))
    model = pathlib.Path(arguments.model).name
    write_results(arguments.output, begin_results(model=model, seconds=seconds))


def run(kind, model):
    result = subprocess.run(
        [sys.executable, __file__, "--measure", kind, "--model", model],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    return float(result.stdout.splitlines()[-1])


def measure(kind, name):
    import numpy as np

    model, inputs_of = make_model(kind, name)
    model.compile("adam", "sparse_categorical_crossentropy")
    generator = np.random.default_rng(0)
    inputs = inputs_of(generator.integers(0, 1000, SHAPE))
    tags = generator.integers(0, NUM_TAGS, SHAPE)
    start = time.process_time()
    model.fit(inputs, tags, batch_size=len(tags), verbose=0)
    return time.process_time() - start


def make_model(kind, name):
    """Returns a model, and the function that makes its inputs."""
    import keras

    import keras_elmo

    if kind == "embedding":
        inputs = keras.Input((None,), dtype="int32")
        x = keras.layers.Embedding(1000, 256)(inputs)
    else:
        elmo = keras_elmo.ElmoLayer.from_preset(
            name, trainable=kind == "thawed"
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
