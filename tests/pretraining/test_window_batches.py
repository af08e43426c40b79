import itertools

import numpy as np
import pytest
from pretraining.test_numbered_text import read

from keras_elmo import batch_to_ids
from keras_elmo.pretraining.text_windows import TextWindow
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.window_batches import WindowBatches
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.vocabulary import Vocabulary

ROWS, STEPS = 4, 5
VOCABULARY = Vocabulary(
    [b"<S>", b"</S>", b"<UNK>", *(b"w%d" % i for i in range(60))]
)


@pytest.mark.parametrize("number, most", [(1, 1), (1, 3), (2, 3), (3, 3)])
def test_joined_windows(corpus, number, most):
    text = read(sorted(corpus.glob("shard-*")))[0]
    stream = training_windows(text, ROWS, STEPS, 0)
    windows = list(itertools.islice(stream, number))
    ids_of = batch_to_ids([text.words], 6)[0]
    targets_of = VOCABULARY.ids(text.words)
    batches = WindowBatches(text.words, ByteIndexer(6), VOCABULARY)
    for _ in range(2):  # What was joined before does not matter.
        (ids, *indices), targets = batches.join(windows, most)
        if most == 1:  # Without an axis of windows.
            ids = ids[:, None]
            indices, targets = np.array([indices, targets])[..., None, :]
        assert ids.shape == (64, most, 6)
        for x in (*indices, *targets):
            assert x.shape == (ROWS, most, STEPS) and x.dtype == "int32"
        for i, window in enumerate(windows):
            for d in range(2):
                np.testing.assert_array_equal(
                    ids[indices[d][:, i], i], ids_of[window.inputs[d]]
                )
                np.testing.assert_array_equal(
                    targets[d][:, i], targets_of[window.targets[d]]
                )
            distinct = len(np.unique(window.inputs))
            assert len(np.unique(ids[:distinct, i], axis=0)) == distinct
            assert not ids[distinct:, i].any()
        assert (np.array(targets)[:, :, number:] == -1).all()
        windows = windows[::-1]


def test_words_are_padded_to_a_few_sizes():
    words, sizes = [b"%d" % i for i in range(1400)], set()
    batches = WindowBatches(words, ByteIndexer(6), VOCABULARY)
    for number in range(1, 700):
        window = np.arange(2 * number).reshape(2, 1, number)
        (ids, *_), _ = batches.join([TextWindow(window, window)])
        assert 0 <= len(ids) - 2 * number < max(64, 2 * number / 4)
        sizes.add(len(ids))
    assert len(sizes) == 14
    # Or to one that is enough for any window, or for all words.
    assert [batches.most_words(1, n) for n in (32, 33, 999)] == [64, 128, 1408]
