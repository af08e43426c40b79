import pytest

import keras_elmo


@pytest.fixture(scope="module")
def portable_module():
    """Uses the portable code, whose graphs are built faster, for a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_ELMO_FAST_PATHS", "0")
        keras_elmo.set_fast_paths(False)
        yield
    keras_elmo.set_fast_paths(True)


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of the progress display."""
    clock = Clock()
    monkeypatch.setattr("keras_elmo.commands.progress.time", clock)
    return clock
