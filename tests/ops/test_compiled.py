"""The compiled functions that eager calls run."""

import multiprocessing
import os
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest
from keras import ops
from small_models import ENGLISH_TINY
from small_models import make_shallow_elmo

from keras_elmo import ElmoEmbedder
from keras_elmo import ElmoLayer
from keras_elmo import Highway
from keras_elmo import Tagger
from keras_elmo import WordVectorization
from keras_elmo.ops.compiled import Compiled

IDS = np.ones((1, 2, 12), "int32")

on_tensorflow = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="Only TensorFlow has it."
)


@pytest.fixture
def counted():
    """A function, and a list of the runs of its Python code."""
    runs = []

    def function(x, y=None, factor=1):
        runs.append(factor)
        return x * factor if y is None else x * factor + y[0]

    return function, runs


def compile(function):
    return Compiled(function, keras.layers.Layer())


def ones(*shape, dtype="float32"):
    return ops.ones(shape, dtype)


@on_tensorflow
def test_one_graph_serves_all_sizes(counted):
    function, runs = counted
    compiled = compile(function)
    for shape in ((2, 3), (5, 3), (1, 3)):
        np.testing.assert_array_equal(compiled(ones(*shape), factor=2), 2)
    assert runs == [2]


@on_tensorflow
def test_another_kind_of_call_has_another_graph(counted):
    function, runs = counted
    compiled = compile(function)
    for x in (ones(2, 3), ones(2, 4), ones(3), ones(2, 3, dtype="int32")):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(x, None), 1)
            np.testing.assert_array_equal(compiled(x, [x]), 2)
    assert len(runs) == 8


@on_tensorflow
def test_there_is_no_graph_for_who_wants_none(counted):
    import tensorflow as tf

    function, runs = counted
    compiled = compile(function)
    compiled(ones(2, 3))
    tf.config.run_functions_eagerly(True)
    try:
        compiled(ones(2, 3))
        compiled(ones(2, 3))
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(runs) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no os.fork.")
@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="PyTorch survives a fork."
)
@pytest.mark.parametrize(
    "use",
    [
        lambda elmo: elmo(IDS),
        lambda elmo: make_shallow_elmo()(IDS),
        lambda elmo: ElmoLayer.from_preset(ENGLISH_TINY),
        lambda elmo: ElmoEmbedder(elmo).embed_batch([["a"]]),
        lambda elmo: Tagger.load("english_pos"),
        lambda elmo: Highway().build((None, 300)),
        lambda elmo: WordVectorization()(["a"]),
    ],
)
def test_a_forked_process_raises_instead_of_waiting(use):
    elmo = make_shallow_elmo()
    elmo(IDS)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def call():
        try:
            use(elmo)
        except RuntimeError as error:
            answers.put(str(error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python and JAX warn of the fork.
        child = context.Process(target=call)
        child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0
    assert 'get_context("spawn")' in answers.get()


FORKS = """
import os, sys, warnings, threading
import keras, numpy as np
import keras_elmo  # All else is imported in the children.
warnings.simplefilter("ignore")

def use():
    elmo = keras_elmo.ElmoLayer.from_preset(sys.argv[1])
    elmo(np.ones((1, 2, 50), "int32"))

def in_fork():
    child = os.fork()
    if child == 0:
        watch = threading.Timer(60, os._exit, [9])
        watch.daemon = True
        watch.start()
        try:
            use()
            os._exit(0)
        except RuntimeError as error:
            os._exit(5 if "only after the fork" in str(error) else 6)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(in_fork())
keras.ops.ones(2)
print(in_fork())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="There is no os.fork.")
@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="PyTorch survives a fork."
)
def test_a_fork_of_a_process_that_only_imported_works():
    done = subprocess.run(
        [sys.executable, "-c", FORKS, ENGLISH_TINY],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=200,
    )
    assert done.stdout.split() == ["0", "5"]
