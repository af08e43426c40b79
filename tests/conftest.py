"""Fixtures and settings that all tests share."""

import ctypes
import gc
import importlib.util
import os
import pathlib
import random
import sys

from fast_paths import use_fast_paths

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import pytest
from tiers import is_quick
from tiers import quick_first

ROOT = pathlib.Path(__file__).resolve().parent.parent
ON_TENSORFLOW = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow runs it."
)


def pytest_configure(config):
    """Makes `make test` do less in each test than `make test-all`."""
    quick = is_quick(config)
    if quick and keras.backend.backend() == "tensorflow":
        _leave_graphs_as_they_are()
    if importlib.util.find_spec("hypothesis") is None:
        return  # It is not installed for the other backends.
    import hypothesis

    hypothesis.settings.register_profile(
        "files",
        # Number of random files in the tests of readers.
        max_examples=20 if quick else 200,
        derandomize=True,  # The same files in every run.
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("files")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Makes `make test` run functions eagerly in modules that ask for it.

    Building a graph takes longer than running its operations a few times.
    """
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        marker = item.get_closest_marker("in_graphs")
        tf.config.run_functions_eagerly(
            is_quick(item.config) and marker is not None and not marker.args[0]
        )


def _leave_graphs_as_they_are():
    """Turns off TensorFlow's graph optimizer in this process.

    Most graphs in the tests run only once, and optimizing them takes a fifth of
    the time. SavedModels that run from C are still optimized.
    """
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": True}
    )


def pytest_collection_finish():
    """Makes the garbage collector ignore the objects that all tests share."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared():
    """The folder of reference outputs and corpora."""
    path = pathlib.Path(os.environ.get("KERAS_ELMO_SHARED", ROOT / "../shared"))
    if not path.is_dir():
        reason = (
            f"The reference data are not at {path}; set KERAS_ELMO_SHARED to "
            "their folder."
        )
        if os.environ.get("KERAS_ELMO_REQUIRE_SHARED"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path.resolve()


@pytest.fixture(autouse=True)
def fixed_seed():
    """Sets the seeds from which Keras draws its default seeds.

    TensorFlow's own seed is not set, because it would then recompile in every
    test what all tests share.
    """
    if keras.backend.backend() == "tensorflow":
        random.seed(0)
        np.random.seed(0)
    else:
        keras.utils.set_random_seed(0)


@pytest.fixture(scope="module", autouse=True)
def freed_memory():
    """Frees the memory left by the tests of a module, mainly graphs.

    TensorFlow also keeps some memory for every variable name; after this, names
    are reused.
    """
    yield
    if keras.backend.backend() == "tensorflow":
        _forget_custom_gradients()
    keras.backend.clear_session()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # Returns it to the system.


def _forget_custom_gradients():
    """Releases graphs that contain a function with a custom gradient.

    TensorFlow registers the gradient, and thus the graph, permanently: after
    some hundred models, this takes gigabytes.
    """
    from tensorflow.python.framework.ops import gradient_registry

    registered = gradient_registry._registry
    for name in list(registered):
        if name.startswith("CustomGradient-"):
            del registered[name]


# Only TensorFlow has fast paths; the other backends run the portable code.
@pytest.fixture(
    params=quick_first(
        ["fast", "portable"]
        if keras.backend.backend() == "tensorflow"
        else ["portable"]
    )
)
def path_taken(request):
    """Runs a test on TensorFlow's fast paths and on the portable code."""
    use_fast_paths(request.param == "fast")
    yield request.param
    use_fast_paths(True)


def use_portable_code():
    """Uses the portable code, whose graphs are built faster, in this process
    and in processes that a test starts.
    """
    use_fast_paths(False)
    yield
    use_fast_paths(True)


portable_path = pytest.fixture(use_portable_code)
portable_module = pytest.fixture(use_portable_code, scope="module")


@pytest.fixture
def built_optimizers(monkeypatch):
    """Makes `fit` create the optimizer's variables before the first step.

    Otherwise Keras creates them in that step, and traces it twice on
    TensorFlow: half the time of a short training.
    """
    fit_alone = keras.Model.fit

    def build_and_fit(self, *args, **kwargs):
        if self.built and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return fit_alone(self, *args, **kwargs)

    monkeypatch.setattr(keras.Model, "fit", build_and_fit)


def pytest_collection_modifyitems(items):
    if keras.backend.backend() == "jax":
        skip = pytest.mark.skip(reason="JAX would compile each shape anew.")
        for item in items:
            if "slow_on_jax" in item.keywords:
                item.add_marker(skip)
