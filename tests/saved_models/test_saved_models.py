"""Models saved by earlier versions still load, as docs/about.md promises."""

import pathlib
import zipfile

import keras
import numpy as np
import pytest
from conftest import ON_TENSORFLOW
from saved_models import write

import keras_elmo

HERE = pathlib.Path(__file__).parent
VERSIONS = sorted(path.parent.name for path in HERE.glob("*/arrays.npz"))
FILES = sorted(HERE.glob("*/*.keras"))

# Some of the models take strings.
pytestmark = [ON_TENSORFLOW, pytest.mark.in_graphs(False)]


def check(model, folder, name):
    with np.load(folder / "arrays.npz") as arrays:
        inputs, outputs = arrays[f"{name}/inputs"], arrays[f"{name}/outputs"]
    if name == "language_model":
        inputs = [*inputs]
    if name == "trainer":
        inputs = write.as_distinct(inputs)
    found = np.array(
        model(keras.tree.map_structure(keras.ops.convert_to_tensor, inputs))
    )
    np.testing.assert_allclose(found, outputs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "path", FILES, ids=lambda x: f"{x.parent.name}/{x.stem}"
)
def test_a_model_loads_and_computes_the_same(path):
    check(keras.saving.load_model(path), path.parent, path.stem)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_preset_loads_and_computes_the_same(version):
    folder = HERE / version
    elmo = keras_elmo.ElmoLayer.from_preset(folder / "preset")
    check(elmo, folder, "preset")


def test_every_class_was_saved():
    """If a class is missing in the last version, extend `write.py`."""
    configs = ""
    for path in (HERE / VERSIONS[-1]).glob("*.keras"):
        with zipfile.ZipFile(path) as archive:
            configs += archive.read("config.json").decode()
    for name in keras_elmo.pretraining.__all__:
        getattr(keras_elmo.pretraining, name)
    names = [
        name
        for name in keras.saving.get_custom_objects()
        if name.startswith("keras_elmo>")
    ]
    assert len(names) > 15
    assert not [name for name in names if f'"{name}"' not in configs]
