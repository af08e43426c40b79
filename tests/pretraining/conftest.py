import random

import numpy as np
import pytest
from pretraining.small_trainings import compiled_once
from pretraining.small_trainings import write_corpus


@pytest.fixture(autouse=True)
def fixed_seed():
    """Keras draws its seeds from Python's generator.

    To seed TensorFlow itself would have it compile all functions again.
    """
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus")


@pytest.fixture(scope="session")
def compiled():
    """What trainings of equal settings share, in all modules."""
    return {}


@pytest.fixture(scope="module")
def little_to_compile(compiled):
    with compiled_once(compiled):
        yield
