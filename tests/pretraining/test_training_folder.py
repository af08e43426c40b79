import errno
import os

import pytest
from pretraining.small_trainings import make_settings

from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_folder import TrainingFolder
from keras_elmo.pretraining.training_folder import digest
from keras_elmo.text.vocabulary import Vocabulary

WORDS = [b"<S>", b"</S>", b"<UNK>", b"the", b"\xff"]
CORPUS = {"sentences": 3, "tokens": 7, "shards": ["a.txt", "b.txt"]}


@pytest.fixture
def folder(tmp_path):
    return TrainingFolder(tmp_path / "a" / "b")


@pytest.fixture
def vocabulary():
    return Vocabulary(WORDS)


def test_a_new_folder_has_nothing(folder):
    assert os.listdir(folder.path) == []
    assert folder.read() is None
    assert not folder.has_state


def test_what_a_training_began_with_is_read_again(folder, vocabulary):
    settings = make_settings()
    folder.write(settings, CORPUS, vocabulary)
    before, corpus, words = TrainingFolder(folder.path).read()
    settings.check_goes_on(before)
    assert before["steps"] == settings.steps
    assert corpus == CORPUS
    assert words == digest(folder.read_vocabulary()) == digest(vocabulary)
    assert folder.read_vocabulary() == vocabulary


def test_vocabularies_are_told_apart(vocabulary):
    others = [WORDS[::-1], WORDS[:-1], [*WORDS, b"a"], [*WORDS[:3], b"t", b"h"]]
    digests = {digest(Vocabulary(words)) for words in others}
    assert len(digests | {digest(vocabulary)}) == len(others) + 1
    assert digest(Vocabulary(WORDS)) == digest(vocabulary)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"settings": {}', "\xff"])
def test_a_damaged_record_is_told(folder, text):
    path = folder.file("training.json")
    with open(path, "w", encoding="latin-1") as file:
        file.write(text)
    with pytest.raises(ValueError, match="not what a training wrote") as info:
        folder.read()
    assert f"'{path}'" in str(info.value)


def fill(folder):
    for name in (STATE_FILE, LOG_FILE, "weights.hdf5", "mine"):
        with open(folder.file(name), "w") as file:
            file.write("old")


def test_forget_leaves_the_model(folder, vocabulary):
    folder.write(make_settings(), CORPUS, vocabulary)
    fill(folder)
    assert folder.has_state
    folder.forget()
    assert folder.read() is None
    assert not folder.has_state
    left = {"mine", "vocab.txt", "weights.hdf5"}
    assert set(os.listdir(folder.path)) == left
    folder.forget()


def test_where_another_begins_a_state_without_a_record_is_none(
    folder, vocabulary
):
    fill(folder)
    folder.write(make_settings(), CORPUS, vocabulary)
    assert not folder.has_state
    assert not os.path.exists(folder.file(LOG_FILE))


def test_forget_can_be_killed_at_any_point(folder, vocabulary, monkeypatch):
    remove = os.remove

    class Kill(BaseException):
        pass

    def kill(path):
        if left.pop():
            remove(path)
        else:
            raise Kill

    for count in range(3):
        folder.write(make_settings(), CORPUS, vocabulary)
        fill(folder)
        left = [False, *[True] * count]
        monkeypatch.setattr(os, "remove", kill)
        with pytest.raises(Kill):
            folder.forget()
        monkeypatch.setattr(os, "remove", remove)
        # The old training as it was, or none: no other one with its state.
        assert folder.read() is not None
        assert folder.has_state == (count == 0)


def test_no_two_work_in_a_folder(folder):
    with (
        folder.lock(),
        pytest.raises(BlockingIOError, match="Another process"),
        TrainingFolder(folder.path).lock(),
    ):
        pass
    with folder.lock():
        pass


def test_what_a_kill_left_half_written_is_removed(folder):
    half_written = [
        ".training_state.hdf5.abcdefgh",
        ".weights.hdf5.a_cd3f_h",
        ".training.json.abcdefgh",
        ".vocab.txt.12345678",
    ]
    others = ["weights.hdf5", ".mine", ".mine.hdf5", ".weights.hdf5.backup.1"]
    for name in (*half_written, *others):
        open(folder.file(name), "w").close()
    with folder.lock():
        assert set(os.listdir(folder.path)) == {*others, ".lock"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_told(folder, number):
    with (
        pytest.raises(OSError, match="no room to write") as info,
        folder.lock(),
    ):
        raise OSError(number, "what the system says")
    assert info.value.errno == number
    assert f"'{folder.path}'" in str(info.value)
    assert "what the system says" in str(info.value)
    assert "last checkpoint is as it was" in str(info.value)


def test_other_errors_of_the_system_stay_as_they_are(folder):
    with pytest.raises(FileNotFoundError, match=r"^gone$"), folder.lock():
        raise FileNotFoundError("gone")
