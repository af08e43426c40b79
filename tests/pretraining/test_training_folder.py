import errno
import json
import os
import pathlib
import re
import shutil

import pytest
from kill_points import kill_points
from pretraining.small_trainings import snapshot

from keras_elmo.models.fingerprint import file_digest
from keras_elmo.pretraining.numbered_text import Reading
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.training_folder import LOG_FILE
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_folder import TrainingFolder
from keras_elmo.pretraining.training_folder import text_digest
from keras_elmo.text.vocabulary import Vocabulary

WORDS = [b"<S>", b"</S>", b"<UNK>", b"the", b"\xff"]
VOCABULARY = Vocabulary(WORDS)
OPTIONS = {"dropout": 0.1, "lstm": {"dim": 8}}
START = {"seed": 0, "options": OPTIONS}
FORMER = dict.fromkeys(("start", "corpus", "shards", "words"))


@pytest.fixture
def folder(tmp_path):
    return TrainingFolder(tmp_path / "a" / "b")


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
def begun(folder, shards):
    assert os.listdir(folder.path) == []
    assert not folder.has_training
    folder.begin(START, read(shards), VOCABULARY)
    return folder


def write(folder, name, text=""):
    pathlib.Path(folder.file(name)).write_text(text, encoding="latin-1")


def test_what_a_training_began_with(begun, shards):
    folder = TrainingFolder(begun.path)
    assert folder.has_training and not folder.has_state
    for given in (None, VOCABULARY):
        reading, words = folder.resume(START, shards, given)
        assert reading == read(shards)
        assert words == VOCABULARY
    # A corpus may be moved.
    elsewhere = shards[0].parent / "elsewhere"
    shutil.copytree(shards[0].parent, elsewhere)
    folder.resume(START, [elsewhere / path.name for path in shards])


def test_other_settings_are_refused(begun, shards):
    settings = {"seed": 1, "options": {"lstm": {"dim": 8}, "a": 1}}
    with pytest.raises(ValueError, match=r"is resumed in .* must") as info:
        begun.resume(settings, shards)
    # All at once, so that the right flags can be passed.
    assert re.findall(
        r"the `(\w+)` that .*?, (\S+)\. Rec\w+: (\S+)\.", str(info.value)
    ) == [("seed", "0", "1"), ("dropout", "0.1", "None"), ("a", "None", "1")]


def test_a_model_to_start_from_may_have_another_name(begun, shards):
    start = {**START, "initial": ["a", "digest of a"]}
    begun.begin(start, read(shards), VOCABULARY)
    begun.resume({**start, "initial": ["b", "digest of a"]}, shards)
    for other in (["a", "digest of b"], None):
        with pytest.raises(ValueError, match="the `initial` that it"):
            begun.resume({**start, "initial": other}, shards)


def test_other_shards_are_refused(begun, shards):
    told = r"order differs: 'b\.txt\.gz' is where 'a\.txt' was\. To start over"
    with pytest.raises(ValueError, match=told):
        begun.resume(START, shards[::-1])
    with pytest.raises(ValueError, match=r"missing: \['b\.txt\.gz'\]"):
        begun.resume(START, [*shards, shards[1]])
    path = shards[0].rename(shards[0].with_name("z.txt"))
    told = r"missing: \['a\.txt', 'z\.txt'\].*`restart=True`"
    with pytest.raises(ValueError, match=told):
        begun.resume(START, [*shards[1:], path])
    path.rename(shards[0])
    # One word becomes another one of the same length.
    shards[1].write_text(shards[1].read_text().replace("text", "book"))
    with pytest.raises(ValueError, match=r"missing: \['b\.txt\.gz'\]"):
        begun.resume(START, shards)


def test_another_vocabulary_is_refused(begun, shards):
    other, match = Vocabulary(WORDS[::-1]), f"'{begun.path}'.*another vocabul"
    with pytest.raises(ValueError, match=match):
        begun.resume(START, shards, other)
    other.write(begun.file("vocab.txt"))
    with pytest.raises(ValueError, match=match):
        begun.resume(START, shards)


def test_texts_are_told_apart():
    words = [[b"a", b"b"]], [[b"a"], [b"b"]], [[b"b", b"a"]]
    texts = [[], [[]], [[], []], *words]
    assert len(set(map(text_digest, texts))) == len(texts)


@pytest.mark.parametrize(
    "text, told",
    [
        (json.dumps(FORMER), r"read a text in another order.* or pass `rest"),
        ("{0}", r"choose another folder or pass `restart=True`"),
    ],
)
def test_a_record_of_another_version_or_damaged_is_told(begun, text, told):
    write(begun, "training.json", text)
    path = begun.file("training.json")
    with pytest.raises(ValueError, match=f"'{path}'.*{told}"):
        begun.resume(START, [])


def test_the_text_as_numbers(begun, tmp_path):
    path = tmp_path / "c.txt"
    path.write_text("a b\na\n")
    with begun.new_text() as file:
        reading, _ = number_text([str(path)], file)
        assert begun.open_text(reading) is None
    with pytest.raises(KeyboardInterrupt), begun.new_text() as file:
        raise KeyboardInterrupt
    text = begun.open_text(reading)
    assert text.numbers.tolist() == [0, 2, 3, 0, 2]
    path = pathlib.Path(begun.text_path)
    content = path.read_bytes()
    # Bytes that would be other words, or fewer.
    for damaged in (bytes(8) + content[8:], content[:-1], content):
        path.write_bytes(damaged)
        assert (begun.open_text(reading) is None) == (damaged != content)
    names = {"training.json", "vocab.txt", "training_text.bin"}
    assert {*os.listdir(begun.path)} == names


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


def test_where_another_begins_only_the_weights_and_the_users_files_stay(begun):
    mine = {".vocab.txt.20251123", ".weights.hdf5.backup01", "notes"}
    training = {STATE_FILE, LOG_FILE, "training_text.bin", "options.json"}
    for name in {*mine, *training, "weights.hdf5"}:
        write(begun, name, "old")
    before = snapshot(pathlib.Path(begun.path))
    assert begun.has_state
    points = kill_points(
        lambda _: begun.begin(START, read([]), VOCABULARY), begun.path
    )
    assert set(points[-1].files) == set(before) - training
    for _, files in points:
        # Whenever it is killed, it is known that a training wrote the files.
        assert "training.json" in files
        # The state is removed first, so that no other training can use it.
        assert STATE_FILE not in files or files == before


def test_a_training_that_has_no_vocabulary_yet_can_begin(begun):
    os.remove(begun.file("vocab.txt"))  # As if killed before it was written.
    assert not begun.has_training
    begun.check_files()


@pytest.mark.parametrize("name", ["weights.hdf5", "log.jsonl"])
def test_files_that_no_training_wrote_are_not_replaced(folder, name):
    folder.check_files()
    write(folder, name)
    with pytest.raises(ValueError, match=f"would replace them: {name}"):
        folder.check_files()
    # Those of a former version are a training's.
    write(folder, "training.json", json.dumps(FORMER))
    folder.check_files()
    write(folder, "training.json", '{"mine": 1}')
    with pytest.raises(ValueError, match=r"replace them: training\.json"):
        folder.check_files()


def test_a_full_disk_before_the_first_checkpoint(folder):
    match = rf"no space left .* write in '{folder.path}'.*Make room and run the"
    with pytest.raises(OSError, match=match), folder.lock():
        raise OSError(errno.ENOSPC, "what the system says")


def test_a_file_is_no_folder(tmp_path):
    path = tmp_path / "text"
    path.write_text("a\n")
    with pytest.raises(ValueError, match="`output`, which comes after the te"):
        TrainingFolder(path)
