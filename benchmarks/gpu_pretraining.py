"""Trains a language model on one GPU, as fast as the GPU can.

    python benchmarks/gpu_pretraining.py 'text/*.txt.gz' FOLDER \\
        --options options.json --vocabulary vocab.txt --heldout dev.txt

FOLDER receives what `keras-elmo pretrain` writes, with `training.json`, the
course of the training. That command reads and numbers the words of each window
on the CPU, which takes longer than an H200 needs to train on them. Here, the
whole text is on the GPU, as numbers, in an order that is new in every pass, and
a window's words are encoded once each. The learning rate falls to zero within
`--minutes`, so the number of steps depends on the machine. A training cannot be
resumed.
"""

import argparse
import array
import concurrent.futures
import json
import math
import os
import pathlib
import time

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np
from jax import numpy as jnp
from program import begin_results
from program import make_parser
from program import write_results

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.language_model_trainer import LanguageModelTrainer
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.model_files import save_language_model
from keras_elmo.pretraining.muon import with_muon
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.text.token_indexer import BEGIN_SENTENCE
from keras_elmo.text.token_indexer import END_SENTENCE
from keras_elmo.text.vocabulary import Vocabulary

RECIPE = RECIPES["laptop"]
UNROLL_STEPS = RECIPE.unroll_steps
LOG_EVERY = 500


def main(argv=None):
    arguments = parse_arguments(argv)
    content = json.loads(pathlib.Path(arguments.options).read_text())
    vocabulary = Vocabulary.from_file(arguments.vocabulary)
    words, text = read_text(find_shards(arguments.text))
    keras.utils.set_random_seed(arguments.seed)
    options = {**content, "n_negative_samples_batch": arguments.negatives}
    trained = make_language_model(
        BidirectionalLanguageModel, options, len(vocabulary), arguments.dtype
    )
    model = BidirectionalLanguageModel(
        len(vocabulary),
        WordEncoder(trained.token_encoder, words),
        trained.encoder,
        arguments.negatives,
        dropout=0.0,
        dtype=arguments.dtype,
    )
    course = train(model, jnp.asarray(vocabulary.ids(words)), text, arguments)
    for new, old in zip(trained.softmax.weights, model.softmax.weights):
        new.assign(old)
    pathlib.Path(arguments.output).mkdir(parents=True, exist_ok=True)
    save_language_model(trained, vocabulary, {}, arguments.output)
    results = begin_results(settings=vars(arguments), **course)
    if arguments.heldout:
        sentences = read_sentences(arguments.heldout)
        evaluator = Evaluator(trained, vocabulary, rows=32)
        results["perplexity"] = evaluator.evaluate(sentences).perplexity
        print(f"held-out perplexity {results['perplexity']:.2f}")
    path = pathlib.Path(arguments.output, "training.json")
    write_results(path, {**results, "gpu": str(jax.devices()[0])})


def parse_arguments(argv=None) -> argparse.Namespace:
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("text", nargs="+", help="one sentence per line, plain or .gz")
    add("output", help="folder to write the model to")
    add("--options", required=True, help="options file of the model")
    add("--vocabulary", required=True, help="the words it predicts")
    add("--heldout", help="text to measure the perplexity of")
    add("--minutes", type=float, default=3.7)
    add("--rows", type=int, default=512, help="of a window")
    add("--distinct", type=int, default=8192, help="most words of a window, "
        "each counted once")  # fmt: skip
    add("--negatives", type=int, default=8192)
    add("--learning-rate", type=float, default=0.005)
    add("--warmup-steps", type=int, default=200)
    add("--dtype", default="mixed_bfloat16")
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


def read_text(paths):
    """Returns the distinct words, and the text as a pair of arrays.

    These are the number of each word of the text, and the lengths of its
    sentences.
    """
    numbers = {BEGIN_SENTENCE: 0, END_SENTENCE: 1}
    new = numbers.setdefault
    tokens, lengths = array.array("i"), array.array("i")
    for path in paths:
        for sentence in read_sentences(path):
            tokens.extend([new(word, len(numbers)) for word in sentence])
            lengths.append(len(sentence))
    return list(numbers), (np.array(tokens), np.array(lengths))


class WordEncoder(keras.layers.Layer):
    """Encodes words, given by their numbers; each distinct word once."""

    token_shape = ()

    def __init__(self, encoder, words):
        super().__init__(autocast=False, dtype=encoder.dtype_policy)
        self.encoder = encoder
        self.characters = self.add_weight(
            (len(words), *encoder.token_shape),
            lambda shape, dtype: jnp.asarray(
                encoder.indexer.ids_of_words(words), dtype
            ),
            dtype="int32",
            trainable=False,
            autocast=False,
            name="characters",
        )
        self.most = len(words)
        self.built = True

    def compute_output_spec(self, words, training=None):
        return keras.KerasTensor((None, self.encoder.projection_dim))

    def call(self, words, training=None):
        size = min(self.most, words.size) + 1
        distinct, place = jnp.unique(
            words, size=size, fill_value=-1, return_inverse=True
        )
        ids = self.characters.value[distinct]
        vectors = self.encoder(ids, training=training)
        vectors = jnp.where(distinct[-1] < 0, vectors, jnp.nan)
        # In half precision, gradients of repeated words would be rounded.
        vectors = vectors.astype("float32")[place]
        return vectors.astype(self.compute_dtype)


class Stream:
    """The text of one direction, in rows, in a new order for each pass."""

    def __init__(self, tokens, lengths, direction, rows, seed):
        self._tokens = tokens[:: 1 - 2 * direction]
        self._lengths = lengths[:: 1 - 2 * direction]
        self._begin = direction
        self._rows = rows
        self._random = np.random.default_rng([seed, direction])

    def draw(self):
        """Returns an int32 array (rows, tokens of a row)."""
        ends = np.cumsum(self._lengths)
        order = self._random.permutation(len(ends))
        lengths = self._lengths[order] + 1  # With a boundary.
        starts = np.cumsum(lengths) - lengths
        place = np.arange(lengths.sum()) - np.repeat(starts + 1, lengths)
        place += np.repeat((ends - self._lengths)[order], lengths)
        stream = self._tokens[place]
        stream[starts] = self._begin
        # The last word of a row is only predicted.
        length = (len(stream) - 1) // self._rows
        rows = length * np.arange(self._rows)[:, None]
        return jnp.asarray(stream[rows + np.arange(length + 1)], "int32")


def cut(stream, k, numbers, direction):
    """Returns the inputs and the targets of the window `k` of a stream."""
    shape = stream.shape[0], UNROLL_STEPS + 1
    words = jax.lax.dynamic_slice(stream, (0, k * UNROLL_STEPS), shape)
    following = words[:, 1:]
    # A sentence ends where the next one begins.
    following = jnp.where(following == direction, 1 - direction, following)
    return words[:, :-1], numbers[following]


def train(model, numbers, text, arguments):
    """Trains a model, and returns the course of the training."""
    model.token_encoder.most = arguments.distinct
    rows, rate = arguments.rows, arguments.learning_rate
    trainer = LanguageModelTrainer(
        model, rows, RECIPE.reset_rate, arguments.seed
    )
    kind = with_muon(keras.optimizers.Adam)
    trainer.compile(kind(rate, global_clipnorm=RECIPE.clip_norm))
    optimizer = trainer.optimizer
    optimizer.build(trainer.trainable_variables)
    paths = [variable.path for variable in optimizer.variables]
    place = next(i for i, x in enumerate(paths) if "learning_rate" in x)

    def step(state, streams, k, rate):
        slots = [*state[2]]
        slots[place] = rate
        pairs = [cut(x, k, numbers, i) for i, x in enumerate(streams)]
        state = (state[0], state[1], slots, state[3])
        logs, state = trainer.train_step(state, tuple(zip(*pairs)))
        return logs["window_loss"], state

    step = jax.jit(step, donate_argnums=0)
    variables = [
        trainer.trainable_variables,
        trainer.non_trainable_variables,
        optimizer.variables,
        trainer.metrics_variables,
    ]
    state = tuple([jnp.array(v.value) for v in part] for part in variables)
    streams = [Stream(*text, i, rows, arguments.seed) for i in (0, 1)]
    log, losses, begin, steps, done = [], [], None, 0, 0.0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        following = [pool.submit(stream.draw) for stream in streams]
        while done < 1:
            drawn = [future.result() for future in following]
            following = [pool.submit(stream.draw) for stream in streams]
            for k in range((drawn[0].shape[1] - 1) // UNROLL_STEPS):
                warm = min(1, (steps + 1) / arguments.warmup_steps)
                now = rate * warm * (1 + math.cos(math.pi * done)) / 2
                loss, state = step(state, drawn, k, np.float32(now))
                losses.append(loss)
                steps += 1
                if steps % 25 == 1:  # Not too far ahead of the GPU.
                    loss.block_until_ready()
                    begin = begin or time.perf_counter()  # It has compiled.
                seconds = time.perf_counter() - begin
                if steps % LOG_EVERY == 0:
                    loss, losses = float(np.mean(losses)), []
                    log.append({"step": steps, "loss": loss, "rate": now})
                    print(log[-1], f"{seconds:.0f} s", flush=True)
                    if not math.isfinite(loss):
                        raise ValueError(
                            f"The loss is {loss}. Does a window have more "
                            f"distinct words than {arguments.distinct}?"
                        )
                done = seconds / (60 * arguments.minutes)
                if done >= 1:
                    break
    for part, values in zip(variables, state):
        for variable, value in zip(part, values):
            variable.assign(value)
    return {"steps": steps, "tokens": steps * rows * UNROLL_STEPS, "log": log}


if __name__ == "__main__":
    main()
