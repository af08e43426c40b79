import random

import keras
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def fixed_seed():
    """Sets the seeds without TensorFlow's, which no test here draws from.

    To set that has TensorFlow compile anew what tests share. Keras draws the
    seeds that it is not given from Python's generator.
    """
    if keras.backend.backend() == "tensorflow":
        random.seed(0)
        np.random.seed(0)
    else:
        keras.utils.set_random_seed(0)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    from pretraining.small_trainings import write_corpus

    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus")


@pytest.fixture(scope="session")
def compiled():
    """What trainings of equal settings share, in all modules."""
    return {}


@pytest.fixture(scope="module")
def little_to_compile(compiled):
    from pretraining.small_trainings import compiled_once

    with compiled_once(compiled):
        yield
