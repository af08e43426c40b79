import sys

import keras

from keras_elmo.progress_bars import shows_bars


def test_where_bars_are_shown(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not shows_bars()
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    assert shows_bars()
    monkeypatch.delitem(sys.modules, "ipykernel")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert not shows_bars()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert shows_bars()
    keras.config.disable_interactive_logging()
    try:
        assert not shows_bars()
    finally:
        keras.config.enable_interactive_logging()
