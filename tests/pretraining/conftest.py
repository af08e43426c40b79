import pytest


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    from pretraining.small_trainings import write_corpus

    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus")


@pytest.fixture(scope="session")
def compiled():
    """The state that trainings with equal settings share, in all modules."""
    return {}


@pytest.fixture(scope="module")
def little_to_compile(compiled):
    from pretraining.small_trainings import compiled_once

    with compiled_once(compiled):
        yield
