"""Times `ElmoEmbedder` on one Keras backend.

    KERAS_BACKEND=jax python benchmarks/backends.py TEXT --output jax.json

OMP_NUM_THREADS=1 leaves PyTorch one thread.
"""

import pathlib
import time

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
from program import begin_results
from program import make_parser
from program import write_results
from random_weights import SIZES
from random_weights import make_elmo
from workloads import count_tokens
from workloads import read_sentences

import keras_elmo


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("text", help="one sentence per line, or CoNLL-U")
    add("--model", default="english_mini", help="preset or folder")
    add("--size", choices=SIZES, help="random weights, in place of --model")
    add("--sentences", type=int, default=300)
    add("--turns", type=int, default=5)
    add("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.text)[: arguments.sentences]
    if arguments.size:
        elmo = make_elmo(arguments.size)
    else:
        elmo = keras_elmo.ElmoLayer.from_preset(arguments.model)
    embedder = keras_elmo.ElmoEmbedder(elmo)
    embedder.embed_batch(sentences)  # Not timed: builds graphs, compiles.
    seconds = []
    for _ in range(arguments.turns):
        start = time.perf_counter()
        embedder.embed_batch(sentences)
        seconds.append(time.perf_counter() - start)
    results = begin_results(
        backend=keras.backend.backend(),
        model=arguments.size or pathlib.Path(arguments.model).name,
        tokens=count_tokens(sentences),
        seconds=seconds,
    )
    write_results(arguments.output, results)


if __name__ == "__main__":
    main()
