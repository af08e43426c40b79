import errno
import json
import os
import pathlib
import re
import shutil

import pytest

from keras_elmo.models.fingerprint import file_digest
from keras_elmo.pretraining.numbered_text import Reading
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_folder import TrainingFolder
from keras_elmo.pretraining.training_folder import text_digest
from keras_elmo.text.vocabulary import Vocabulary

WORDS = [b"<S>", b"</S>", b"<UNK>", b"the", b"\xff"]
START = {"seed": 0, "options": {"dropout": 0.1, "lstm": {"dim": 8}}}


@pytest.fixture
def folder(tmp_path):
    return TrainingFolder(tmp_path / "a" / "b")


@pytest.fixture
def vocabulary():
    return Vocabulary(WORDS)


@pytest.fixture
def shards(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    for path in paths:
        path.write_text(f"{path.name}: a text\n")
    return paths


def read(shards):
    digests = [[path.name, file_digest(path)] for path in shards]
    return Reading(3, 7, digests)


@pytest.fixture
def begun(folder, shards, vocabulary):
    folder.begin(START, read(shards), vocabulary)
    return folder


def test_a_new_folder_has_nothing(folder):
    assert os.listdir(folder.path) == []
    assert not folder.has_training
    assert not folder.has_state


def test_an_older_model_is_none_of_the_new_training(folder, shards, vocabulary):
    options = pathlib.Path(folder.file("options.json"))
    options.write_text("{}")
    folder.begin(START, read(shards), vocabulary)
    assert not options.exists()


def test_what_a_training_began_with(begun, shards, vocabulary):
    folder = TrainingFolder(begun.path)
    assert folder.has_training
    for given in (None, vocabulary):
        reading, words = folder.resume(START, shards, given)
        assert reading == read(shards)
        assert words == vocabulary
    # A corpus may be moved.
    elsewhere = shards[0].parent / "elsewhere"
    shutil.copytree(shards[0].parent, elsewhere)
    folder.resume(START, [elsewhere / path.name for path in shards])


def test_other_settings_are_refused(begun, shards):
    options = {**START["options"], "dropout": 0.7}
    changed = {**START, "seed": 1, "options": options}
    with pytest.raises(ValueError, match=r"is resumed in .* must") as info:
        begun.resume(changed, shards)
    message = str(info.value)
    # All at once, so that the right flags can be passed.
    for name, old, new in (
        ("seed", START["seed"], 1),
        ("dropout", START["options"]["dropout"], 0.7),
    ):
        told = f"the `{name}` that it started with, {old!r}. Received: {new!r}."
        assert told in message
    assert "`lstm`" not in message
    assert "`restart=True`" in message


@pytest.mark.parametrize(
    "options, name",
    [({"lstm": {"dim": 8}}, "dropout"), ({**START["options"], "a": 1}, "a")],
)
def test_options_that_are_missing_or_new_are_refused(
    begun, shards, options, name
):
    old, new = START["options"].get(name), options.get(name)
    told = f"the `{name}` that it started with, {old!r}. Received: {new!r}. To"
    with pytest.raises(ValueError, match=re.escape(told)):
        begun.resume({**START, "options": options}, shards)


def test_other_shards_are_refused(begun, shards):
    with pytest.raises(ValueError, match="in the same order by path"):
        begun.resume(START, shards[::-1])
    path = shards[0].rename(shards[0].with_name("z.txt"))
    with pytest.raises(ValueError, match="the same shards") as info:
        begun.resume(START, [*shards[1:], path])
    assert "missing: ['a.txt', 'z.txt']" in str(info.value)
    assert "`restart=True`" in str(info.value)


@pytest.mark.parametrize("number", [0, 1])
def test_a_shard_that_was_changed_is_refused(begun, shards, number):
    content = shards[number].read_bytes()
    # Replaces a word by another of the same length.
    shards[number].write_bytes(content.replace(b"text", b"book"))
    with pytest.raises(ValueError, match="must have the text") as info:
        begun.resume(START, shards)
    assert f"missing: {[shards[number].name]}" in str(info.value)
    assert "`restart=True`" in str(info.value)
    shards[number].write_bytes(content)
    begun.resume(START, shards)


@pytest.mark.parametrize(
    "words", [WORDS[::-1], WORDS[:-1], [*WORDS, b"a"], [*WORDS[:3], b"t", b"h"]]
)
def test_another_vocabulary_is_refused(begun, shards, words):
    other = Vocabulary(words)
    with pytest.raises(ValueError, match="another vocabulary") as info:
        begun.resume(START, shards, other)
    assert f"'{begun.path}'" in str(info.value)
    other.write(begun.file("vocab.txt"))
    with pytest.raises(ValueError, match="another vocabulary"):
        begun.resume(START, shards)


def test_texts_are_told_apart():
    texts = [
        [],
        [[]],
        [[], []],
        [[b"a", b"b"]],
        [[b"a"], [b"b"]],
        [[b"b", b"a"]],
    ]
    assert len(set(map(text_digest, texts))) == len(texts)
    assert text_digest(iter([[b"a"]])) == text_digest([[b"a"]])


def test_a_training_of_the_former_order_is_refused(begun, shards):
    path = pathlib.Path(begun.file("training.json"))
    names = ("start", "corpus", "shards", "words")
    path.write_text(json.dumps(dict.fromkeys(names)))
    with pytest.raises(ValueError, match="read a text in another order") as i:
        begun.resume(START, shards)
    assert "choose another folder or pass `restart=True`" in str(i.value)
    # With that, it is replaced.
    begun.check_files()


def test_the_text_as_numbers(begun, tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("a b\na\n")
    with begun.new_text() as file:
        reading, _ = number_text([str(path)], file)
        assert begun.open_text(reading) is None
    text = begun.open_text(reading)
    assert text.numbers.tolist() == [0, 2, 3, 0, 2]
    with pytest.raises(KeyboardInterrupt), begun.new_text() as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert len(begun.open_text(reading).numbers) == 5
    assert begun.open_text(reading._replace(tokens=4)) is None
    names = {"training.json", "vocab.txt", "training_text.bin"}
    assert {*os.listdir(begun.path)} == names


@pytest.mark.parametrize(
    "text", ["", "{}", '{"version": 2}', "[]", "{0}", "\xff"]
)
def test_a_damaged_record_is_told(folder, text):
    path = folder.file("training.json")
    with open(path, "w", encoding="latin-1") as file:
        file.write(text)
    with pytest.raises(ValueError, match=f"'{path}'"):
        folder.resume(START, [])


def test_the_log_is_wound_back(folder):
    folder.wind_back_log(10)
    assert folder.log_size == 0
    folder.log(step=1)
    size = folder.log_size
    folder.log(step=2)
    folder.wind_back_log(100)
    folder.wind_back_log(size)
    folder.log(step=3)
    text = pathlib.Path(folder.file(LOG_FILE)).read_text()
    assert text == '{"step": 1}\n{"step": 3}\n'


def fill(folder):
    for name in (STATE_FILE, LOG_FILE, "weights.hdf5", "mine"):
        with open(folder.file(name), "w") as file:
            file.write("old")


def test_where_another_begins_the_weights_stay(begun, vocabulary):
    fill(begun)
    assert begun.has_state
    begun.begin(START, read([]), vocabulary)
    assert not begun.has_state
    left = {"mine", "vocab.txt", "weights.hdf5", "training.json"}
    assert set(os.listdir(begun.path)) == left


def test_what_begins_can_be_killed_at_any_point(
    folder, vocabulary, monkeypatch
):
    remove = os.remove

    class Kill(BaseException):
        pass

    def kill(path):
        if left.pop():
            remove(path)
        else:
            raise Kill

    for count in range(4):
        folder.begin(START, read([]), vocabulary)
        fill(folder)
        left = [False, *[True] * count]
        monkeypatch.setattr(os, "remove", kill)
        with pytest.raises(Kill):
            folder.begin(START, read([]), vocabulary)
        monkeypatch.setattr(os, "remove", remove)
        # The state is removed first, so that no other training can use it.
        assert folder.has_training
        assert folder.has_state == (count == 0)
        folder.check_files()


def test_a_training_that_has_no_vocabulary_yet_can_begin(begun):
    os.remove(begun.file("vocab.txt"))  # As if killed before it was written.
    assert not begun.has_training
    begun.check_files()


@pytest.mark.parametrize(
    "name",
    ["vocab.txt", "weights.hdf5", "softmax.hdf5", "options.json", "log.jsonl"],
)
def test_files_that_no_training_wrote_are_not_replaced(folder, name):
    folder.check_files()
    pathlib.Path(folder.file(name)).write_text("mine")
    with pytest.raises(ValueError, match=f"would replace them: {name}"):
        folder.check_files()


def test_a_record_that_no_training_wrote_is_not_replaced(begun):
    begun.check_files()
    pathlib.Path(begun.file("training.json")).write_text('{"mine": 1}')
    with pytest.raises(ValueError, match=r"replace them: training\.json"):
        begun.check_files()


def test_files_of_the_user_stay(folder, vocabulary):
    mine = {".vocab.txt.20251123", ".weights.hdf5.backup01", "notes"}
    for name in mine:
        open(folder.file(name), "w").close()
    with folder.lock():
        folder.begin(START, read([]), vocabulary)
        folder.begin(START, read([]), vocabulary)
    assert mine < set(os.listdir(folder.path))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_told(folder, number):
    with (
        pytest.raises(OSError, match="Make room and run the same command"),
        folder.lock(),
    ):
        raise OSError(number, "what the system says")
    fill(folder)  # There is a checkpoint.
    with (
        pytest.raises(
            OSError, match="no space left on the device to write"
        ) as info,
        folder.lock(),
    ):
        raise OSError(number, "what the system says")
    assert info.value.errno == number
    assert f"'{folder.path}'" in str(info.value)
    assert "what the system says" in str(info.value)
    assert "last checkpoint is unchanged" in str(info.value)


def test_other_errors_of_the_system_stay_as_they_are(folder):
    with pytest.raises(FileNotFoundError, match=r"^gone$"), folder.lock():
        raise FileNotFoundError("gone")


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "text"
    path.write_text("a\n")
    with pytest.raises(ValueError, match="`output`, which comes after the te"):
        TrainingFolder(path)
