import keras
import pytest
from serving import c_client
from small_models import make_shallow_elmo

import keras_elmo


@pytest.fixture(autouse=True)
def on_tensorflow():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("Export is TensorFlow's.")


@pytest.fixture(scope="session")
def ask(tmp_path_factory):
    """Queries a SavedModel in a process without Python; see `c_client.ask`."""
    program = c_client.build(tmp_path_factory.mktemp("c_client"))

    def ask(exported, *requests):
        return c_client.ask(program, exported, requests)

    return ask


@pytest.fixture(scope="package")
def elmo():
    return make_shallow_elmo()


@pytest.fixture(scope="package")
def exported(elmo, tmp_path_factory):
    """The SavedModel of the small `elmo`."""
    path = tmp_path_factory.mktemp("exported") / "elmo"
    keras_elmo.export_saved_model(elmo, path)
    return str(path)
