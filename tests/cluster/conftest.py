import pytest
from conftest import ROOT

import keras_elmo


@pytest.fixture(scope="module")
def elmo():
    return keras_elmo.ElmoLayer.from_preset("english_mini")


@pytest.fixture
def examples(monkeypatch):
    """Lets Python, including workers, import the cluster examples."""
    folder = str(ROOT / "examples" / "cluster")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{ROOT}")
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
