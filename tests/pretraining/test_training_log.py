import pytest

from keras_elmo.pretraining.training_folder import TrainingLog


@pytest.fixture
def log(tmp_path):
    return TrainingLog(tmp_path / "log.jsonl")


def test_a_line_is_in_the_file_at_once(log, tmp_path):
    assert log.size == 0
    log.write(step=1)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 1}\n'
    assert log.size == 12


def test_it_is_wound_back(log, tmp_path):
    log.write(step=1)
    size = log.size
    log.write(step=2)
    log.wind_back(size)
    log.write(step=3)
    text = (tmp_path / "log.jsonl").read_text()
    assert text == '{"step": 1}\n{"step": 3}\n'
    log.wind_back(0)
    assert log.size == 0


def test_it_is_not_made_longer(log):
    log.wind_back(10)
    assert log.size == 0
    log.write(step=1)
    log.wind_back(100)
    assert log.size == 12
