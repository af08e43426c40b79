"""Times one Keras backend: eager calls against a graph, and the embedder.

KERAS_BACKEND=jax python benchmarks/backends.py TEXT [--size small]
"""

import argparse
import statistics
import time

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
from random_weights import SIZES
from random_weights import make_elmo
from workloads import read_sentences

import keras_elmo

CALLS = 30
WORDS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", help="one sentence per line, or CoNLL-U")
    parser.add_argument("--size", choices=SIZES, help="else english_tiny")
    parser.add_argument("--sentences", type=int, default=150)
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.text)[: arguments.sentences]
    if arguments.size:
        elmo = make_elmo(arguments.size)
    else:
        elmo = keras_elmo.ElmoLayer.from_preset("english_tiny")
    print(f"{keras.backend.backend()}, {arguments.size or 'english_tiny'}")
    if keras.backend.backend() == "tensorflow":
        time_calls(elmo, sentences)
    time_embedder(elmo, sentences)


def time_calls(elmo, sentences):
    """Times one sentence, eagerly and in a graph, in turns."""
    import tensorflow as tf

    words = [word for sentence in sentences for word in sentence][:WORDS]
    ids = tf.constant(keras_elmo.batch_to_ids([words]))
    spec = tf.TensorSpec((None, None, ids.shape[-1]), ids.dtype)
    graph = tf.function(elmo, input_signature=[spec], autograph=False)
    graph(ids)
    times = {"eager": [], "graph": []}
    for _ in range(CALLS):
        times["eager"].append(seconds(lambda: elmo(ids).numpy()))
        times["graph"].append(seconds(lambda: graph(ids).numpy()))
    for name, found in times.items():
        print(f"{name} {1000 * statistics.median(found):.1f} ms")


def time_embedder(elmo, sentences):
    """Times single sentences of several lengths, and a corpus four times."""
    embedder = keras_elmo.ElmoEmbedder(elmo)
    words = [word for sentence in sentences for word in sentence]
    for length in (20, 21, 25):
        taken = seconds(lambda n=length: embedder.embed_sentence(words[:n]))
        print(f"first sentence of {length} words: {taken:.2f} s")
    for _ in range(4):
        taken = seconds(lambda: embedder.embed_batch(sentences))
        print(f"embedder: {len(words) / taken:.0f} tokens per second")


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
