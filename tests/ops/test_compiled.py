"""The compiled functions that eager calls run."""

import multiprocessing
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from comparisons import assert_equal
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
after_a_fork = pytest.mark.skipif(
    not hasattr(os, "fork") or keras.backend.backend() == "torch",
    reason="There is no os.fork, or PyTorch survives it.",
)


@on_tensorflow
def test_each_kind_of_call_has_one_graph_for_all_sizes():
    import tensorflow as tf

    runs = []

    def function(x, y=None, factor=1):
        runs.append(1)
        return x * factor if y is None else x * factor + y[0]

    compiled = Compiled(function, keras.layers.Layer())
    for batch in (2, 5, 1):
        assert_equal(compiled(ops.ones((batch, 3)), factor=2), 2)
    assert len(runs) == 1
    for x in (ops.ones((2, 3)), ops.ones((2, 4)), ops.ones((3,), "int32")):
        for _ in range(2):
            assert_equal(compiled(x, None), 1)
            assert_equal(compiled(x, [x]), 2)
    assert len(runs) == 7
    tf.config.run_functions_eagerly(True)  # There is none for who wants none.
    try:
        for _ in range(2):
            compiled(ops.ones((2, 3)), factor=2)
    finally:
        tf.config.run_functions_eagerly(False)
    assert len(runs) == 9


@after_a_fork
@pytest.mark.parametrize(
    "use",
    [
        lambda elmo: elmo(IDS),
        lambda elmo: ElmoLayer.from_preset(ENGLISH_TINY),
        lambda elmo: ElmoEmbedder(elmo).embed_batch([["a"]]),
        lambda elmo: Tagger.load("english_pos"),
        lambda elmo: Highway().build((None, 300)),
        lambda elmo: WordVectorization()(["a"]),
    ],
)
@pytest.mark.filterwarnings("ignore")  # Python and JAX warn of the fork.
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

    child = context.Process(target=call)
    child.start()
    child.join(60)
    child.kill()
    assert child.exitcode == 0
    assert 'get_context("spawn")' in answers.get()


FORKS = """
import os, signal, sys, warnings
import keras, numpy as np
import keras_elmo  # All else is imported in the children.
warnings.simplefilter("ignore")

def in_fork():
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            elmo = keras_elmo.ElmoLayer.from_preset(sys.argv[1])
            elmo(np.ones((1, 2, 50), "int32"))
            os._exit(0)
        except RuntimeError as error:
            os._exit(5 if "only after the fork" in str(error) else 6)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(in_fork())
keras.ops.ones(2)
print(in_fork())
"""


@after_a_fork
def test_a_fork_of_a_process_that_only_imported_works():
    done = subprocess.run(
        [sys.executable, "-c", FORKS, ENGLISH_TINY],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=200,
    )
    assert done.stdout.split() == ["0", "5"]
