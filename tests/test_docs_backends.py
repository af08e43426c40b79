"""The code of docs/backends.md, on the backend that it is written for."""

import math

import keras
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks


@pytest.mark.skipif(
    keras.backend.backend() == "tensorflow",
    reason="The page is about the other backends.",
)
def test_a_module_and_a_training_step():
    backend = keras.backend.backend()
    keras.utils.set_random_seed(1)
    names = run_blocks(read_blocks("docs/backends.md", f"python {backend}"))
    loss = keras.ops.convert_to_numpy(names["loss"])
    assert loss < math.log(2)  # Less than at the start.
    if backend == "torch":
        trained = {id(p) for p in names["trained"]}
        frozen = names["net"].elmo.encoder.parameters()
        assert not any(id(p) in trained for p in frozen)
