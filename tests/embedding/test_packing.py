import numpy as np
import pytest

from keras_elmo.embedding.packing import pack_rows


@pytest.mark.parametrize(
    "lengths, max_rows",
    [([5], 4), ([2, 2, 2], 8), ([9, 1, 1, 1], 4), (list(range(1, 200)), 16)],
)
def test_sentences_fill_rows_without_overlap(lengths, max_rows):
    packing = pack_rows(lengths, max_rows)
    assert packing.num_rows <= max_rows
    taken = np.zeros((packing.num_rows, packing.num_slots), int)
    for row, start, length in zip(packing.rows, packing.starts, lengths):
        assert start + length <= packing.num_slots
        taken[row, start : start + length] += 1
    assert taken.max() == 1 and taken.sum() == sum(lengths)
    assert taken[:, -1].any()


def test_hardly_anything_is_padded():
    lengths = np.random.default_rng(0).integers(3, 60, size=500)
    packing = pack_rows(lengths, 128)
    slots = packing.num_rows * packing.num_slots
    assert lengths.sum() / slots > 0.97


def test_the_longest_sentence_decides_on_the_number_of_rows():
    packing = pack_rows([1000, 10, 10, 10], 128)
    assert (packing.num_rows, packing.num_slots) == (2, 1000)
