import itertools

import numpy as np
import pytest
from full_disk import no_file_over
from pretraining.test_numbered_text import read

from keras_elmo.pretraining.language_model_windows import LanguageModelWindows
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.window_batches import WindowBatches
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS = 6, 7
VOCABULARY = Vocabulary(
    [b"<UNK>", b"<S>", b"</S>", b"the", b"cat", b"A\x01", b"dog"]
)


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "a.txt").write_bytes(
        b"the cat sat\n\nA\x01 \x01 \xc3\xa9 the\n"
        + b"long" * 20
        + b" <S> cat\n"
    )
    (tmp_path / "b.txt").write_bytes(b"the dog </S> ran\n" * 40)
    return tmp_path


def make_windows(paths, vocabulary=VOCABULARY):
    return LanguageModelWindows(
        paths, vocabulary, ROWS, STEPS, max_characters_per_token=8
    )


def test_windows_are_those_of_a_training_encoded(corpus):
    windows = make_windows(f"{corpus}/*.txt")
    text, *_ = read(sorted(corpus.glob("*.txt")))
    expected = training_windows(text, ROWS, STEPS, seed=0)
    batches = WindowBatches(text.words, ByteIndexer(8), VOCABULARY)
    # Another iteration goes on where the last one stopped.
    found = [*itertools.islice(windows, 10), *itertools.islice(windows, 20)]
    for (inputs, targets), window in zip(found, expected):
        # `fit` on TensorFlow needs equal shapes.
        assert inputs[0].shape == (64, 8)
        joined = batches.join([window], num_words=64)
        np.testing.assert_equal((inputs, targets), joined)


def test_a_vocabulary_may_be_a_list_or_a_file(corpus, tmp_path):
    words = [word.decode() for word in VOCABULARY.words]
    (tmp_path / "vocab").write_text("\n".join(words) + "\n")
    for given in (words, tmp_path / "vocab", str(tmp_path / "vocab")):
        windows = make_windows(corpus.glob("*.txt"), given)
        assert windows.vocabulary == VOCABULARY


def test_a_full_disk_is_told(corpus):
    told = "corpus in the temporary folder .* TMPDIR"
    with no_file_over(100), pytest.raises(OSError, match=told):
        make_windows(corpus.glob("*.txt"))


@pytest.mark.parametrize(
    "name, value", [("batch_size", 0), ("unroll_steps", 1.5), ("seed", -1)]
)
def test_arguments_are_checked(corpus, name, value):
    with pytest.raises(ValueError, match=f"`{name}` .* Received: {value}"):
        LanguageModelWindows(f"{corpus}/*", VOCABULARY, **{name: value})
