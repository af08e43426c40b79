"""Measures the memory of training steps, by default of the paper's recipe.

    python benchmarks/training_memory.py --batch-size 32 --vocabulary 793471

Creates the model of a recipe with random weights, makes two steps on random
words in this process, and prints its peak memory.
"""

import argparse
import dataclasses
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
from worker import status_megabytes

from keras_elmo import batch_to_ids
from keras_elmo.pretraining.model_files import make_language_model
from keras_elmo.pretraining.optimizers import make_optimizer
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.training_step import TrainingStep


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--recipe", choices=RECIPES, default="paper")
    parser.add_argument("--vocabulary", type=int, default=793_471)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--dtype", default="float32")
    arguments = parser.parse_args()
    settings = dataclasses.replace(
        RECIPES[arguments.recipe],
        batch_size=arguments.batch_size,
        dtype=arguments.dtype,
    )
    model = make_language_model(
        settings.options, arguments.vocabulary, settings.dtype
    )
    optimizer = make_optimizer(settings, total_steps=2)
    optimizer.build(model.trainable_variables)
    report("model and optimizer created")

    step = TrainingStep(
        model, optimizer, settings, tf.distribute.get_strategy()
    )
    generator = np.random.default_rng(0)
    shape = (2, settings.batch_size, settings.unroll_steps)
    targets = generator.integers(0, arguments.vocabulary, shape, "int32")
    words = [[f"word{i}" for i in row] for row in targets.reshape(2, -1)]
    inputs = batch_to_ids(words, model.token_encoder.max_characters_per_token)
    inputs = tf.constant(inputs.reshape(*shape, -1))
    state = model.get_initial_state(settings.batch_size)
    for number in range(2):
        start = time.perf_counter()
        loss, state = step(inputs, tf.constant(targets), state, number)
        seconds = time.perf_counter() - start
        report(f"step {number + 1}: loss {loss:.3f}, {seconds:.1f} s")


def report(what):
    print(f"{what}; peak memory {peak_gib():.2f} GiB", flush=True)


def peak_gib():
    """Returns the peak memory of this process."""
    return status_megabytes("VmHWM") / 1024


if __name__ == "__main__":
    main()
