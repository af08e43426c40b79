import math

import pytest

from keras_elmo.pretraining.training_folder import TrainingLog


@pytest.fixture
def log(tmp_path):
    return TrainingLog(tmp_path / "log.jsonl")


def test_lines_are_read_as_they_were_written(log):
    assert (log.size, log.read()) == (0, [])
    entries = [{"step": i, "loss": math.pi / (i + 1)} for i in range(5)]
    for entry in entries:
        log.write(**entry)
    assert log.read() == entries


def test_a_line_is_in_the_file_at_once(log, tmp_path):
    log.write(step=1)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 1}\n'
    assert log.size == 12


def test_it_is_wound_back(log):
    log.write(step=1)
    size = log.size
    log.write(step=2)
    log.wind_back(size)
    assert log.read() == [{"step": 1}]
    log.write(step=3)
    assert log.read() == [{"step": 1}, {"step": 3}]
    log.wind_back(0)
    assert (log.size, log.read()) == (0, [])


def test_it_is_not_made_longer(log):
    log.wind_back(10)
    assert log.size == 0
    log.write(step=1)
    log.wind_back(100)
    assert log.size == 12


def test_a_line_that_a_kill_cut_off_is_left_out(log, tmp_path):
    log.write(step=1)
    with open(tmp_path / "log.jsonl", "a") as file:
        file.write('{"step": 2, "lo')
    assert log.read() == [{"step": 1}]
