import gzip
import itertools
import json
import os

import numpy as np
import pytest

from keras_elmo.choices import DIRECTIONS
from keras_elmo.pretraining import token_streams
from keras_elmo.pretraining.corpus_shards import ShardLines
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.pretraining.token_streams import stream_pairs

# Sentences of no words, of one word, and of several windows; an empty shard; a
# shard whose text is on one line.
SHARDS = {
    "a.txt": [[], [b"a1"], [b"a2"] * 2, [b"a%d" % i for i in range(3, 30)]],
    "b.txt": [],
    "c.txt": [[b"c%d" % i for i in range(75)]],
    "d.txt": [[b"d%d" % i] * (i % 7) for i in range(23)],
}


@pytest.fixture
def corpus(tmp_path):
    for name, sentences in SHARDS.items():
        lines = [b" ".join(words) + b"\n" for words in sentences]
        (tmp_path / name).write_bytes(b"".join(lines))
    return tmp_path


@pytest.fixture
def in_order(monkeypatch):
    """Shards and sentences are in the order of the files, not shuffled."""
    monkeypatch.setattr(
        token_streams.SentenceStream,
        "_ordered",
        lambda self, size, *_: range(size),
    )


def bilm_tf_windows(sentences, direction, rows, steps):
    """Yields the windows that bilm-tf makes from an iterator of sentences.

    In terms of words: each sentence is between both boundaries; all words but
    the last are inputs, and all but the first are targets.
    """
    marks = [b"<S>", b"</S>"]
    pending = [[] for _ in range(rows)]
    while True:
        inputs = np.full((rows, steps), None)
        targets = np.full((rows, steps), None)
        for row in range(rows):
            for step in range(steps):
                if len(pending[row]) < 2:
                    words = list(next(sentences, [None]))
                    if words == [None]:
                        return
                    pending[row] = [marks[0], *words, marks[1]]
                    if direction == "backward":
                        pending[row].reverse()
                inputs[row, step] = pending[row].pop(0)
                targets[row, step] = pending[row][0]
        yield inputs.tolist(), targets.tolist()


def windows(stream, count):
    return [
        tuple(array.tolist() for array in stream.next_window())
        for _ in range(count)
    ]


def sentences_of(inputs, direction):
    """Returns the sentences in the inputs of one row."""
    opening = b"<S>" if direction == "forward" else b"</S>"
    starts = [i for i, word in enumerate(inputs) if word == opening]
    found = []
    for start, end in zip(starts, [*starts[1:], len(inputs)]):
        words = inputs[start + 1 : end]
        found.append(words if direction == "forward" else words[::-1])
    return found


def test_pairs_of_a_sentence():
    sentence = [b"a", b"b"]
    assert stream_pairs(sentence, "forward") == [
        (b"<S>", b"a"),
        (b"a", b"b"),
        (b"b", b"</S>"),
    ]
    assert stream_pairs(sentence, "backward") == [
        (b"</S>", b"b"),
        (b"b", b"a"),
        (b"a", b"<S>"),
    ]
    assert stream_pairs([], "forward") == [(b"<S>", b"</S>")]
    assert stream_pairs([], "backward") == [(b"</S>", b"<S>")]
    assert sentence == [b"a", b"b"]


@pytest.mark.parametrize("rows, steps", [(1, 1), (3, 4), (8, 20)])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_windows_are_those_of_bilm_tf(corpus, direction, rows, steps, in_order):
    stream = TokenStream(f"{corpus}/*", direction, rows, steps)
    sentences = itertools.cycle(itertools.chain(*SHARDS.values()))
    expected = bilm_tf_windows(sentences, direction, rows, steps)
    assert windows(stream, 60) == list(itertools.islice(expected, 60))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_windows_of_real_text_are_those_of_bilm_tf(shared, direction, in_order):
    paths = sorted((shared / "data/english_lm/train").glob("shard-0[0-2].txt"))
    assert len(paths) == 3
    sentences = [
        line.split(b" ")
        for path in paths
        for line in path.read_bytes().split(b"\n")[:-1]
    ]
    expected = list(bilm_tf_windows(iter(sentences), direction, 64, 20))
    assert len(expected) > 500
    stream = TokenStream(paths, direction, 64, 20)
    assert windows(stream, len(expected)) == expected


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_pass_holds_every_sentence_once(corpus, direction):
    shards = list(SHARDS.values())
    size = sum(len(words) + 1 for words in itertools.chain(*shards))
    stream = TokenStream(f"{corpus}/*", direction, 1, size, 5)
    expected = sorted(itertools.chain(*shards))
    orders = []
    for _ in range(4):
        inputs, _ = stream.next_window()
        found = sentences_of(inputs[0].tolist(), direction)
        assert sorted(found) == expected
        orders.append(found)
    assert all(a != b for a, b in itertools.pairwise(orders))
    # The sentences of a shard are consecutive.
    sources = [words[0][:1] for words in orders[0] if words]
    assert len(list(itertools.groupby(sources))) == 3


def test_orders_depend_on_seed_and_direction_alone(corpus):
    def order(direction, seed):
        stream = TokenStream(f"{corpus}/*", direction, 1, 500, seed)
        inputs, _ = stream.next_window()
        return sentences_of(inputs[0].tolist(), direction)[:-1]

    assert order("forward", 1) == order("forward", 1)
    assert order("forward", 1) != order("forward", 2)
    length = 25
    assert order("forward", 1)[:length] != order("backward", 1)[:length]


def test_orders_stay_what_they_were(tmp_path):
    # Otherwise a resumed training would see other windows.
    for shard in range(3):
        lines = [b"%d" % (10 * shard + i) for i in range(4)]
        (tmp_path / f"{shard}.txt").write_bytes(b"\n".join(lines))
    orders = {
        "forward": [
            *(11, 13, 12, 10, 2, 0, 3, 1, 23, 20, 22, 21),
            *(2, 0, 1, 3, 20, 21, 23, 22, 13, 11, 10, 12),
        ],
        "backward": [
            *(22, 23, 21, 20, 12, 11, 13, 10, 3, 0, 1, 2),
            *(22, 23, 21, 20, 10, 12, 11, 13, 2, 0, 1, 3),
        ],
    }
    for direction, expected in orders.items():
        stream = TokenStream(f"{tmp_path}/*", direction, 1, 48, seed=7)
        inputs, _ = stream.next_window()
        assert [int(word) for word in inputs[0, 1::2]] == expected


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("rows, steps", [(1, 3), (4, 6)])
def test_every_position_can_be_gone_on_from(corpus, direction, rows, steps):
    def new():
        return TokenStream(f"{corpus}/*", direction, rows, steps, 3)

    stream = new()
    expected, positions = [], [stream.position]
    for _ in range(120):
        expected += windows(stream, 1)
        positions.append(stream.position)
    assert positions[-1][0][0] > 0  # More than one pass.
    other = new()
    for i, position in enumerate(positions[:-12]):
        other.restore(json.loads(json.dumps(position)))
        assert other.position == position
        assert windows(other, 12) == expected[i : i + 12]
        assert other.position == positions[i + 12]


def test_gzip_gives_the_same_and_takes_over_a_position(corpus, tmp_path):
    def new(folder):
        return TokenStream(f"{folder}/*", "forward", 3, 4)

    packed = tmp_path / "packed"
    packed.mkdir()
    for name in SHARDS:
        content = (corpus / name).read_bytes()
        (packed / f"{name}.gz").write_bytes(gzip.compress(content))
    plain = TokenStream(f"{corpus}/*.txt", "forward", 3, 4)
    stream = new(packed)
    assert windows(stream, 40) == windows(plain, 40)
    assert stream.position == plain.position
    stream.restore(plain.position)
    assert windows(stream, 40) == windows(plain, 40)


def test_only_what_is_needed_is_opened(corpus, monkeypatch, in_order):
    opened = []

    class Counted(ShardLines):
        def __init__(self, path):
            opened.append(os.path.basename(path))
            super().__init__(path)

    monkeypatch.setattr(token_streams, "ShardLines", Counted)
    stream = TokenStream(f"{corpus}/*", "forward", 2, 50)
    assert not opened
    # One row continues with c.txt; the other and the stream are in d.txt.
    windows(stream, 1)
    assert opened == ["a.txt", "b.txt", "c.txt", "d.txt"]
    opened.clear()
    for name in ("a.txt", "b.txt"):
        (corpus / name).write_bytes(b"changed\n")
    other = TokenStream(f"{corpus}/*", "forward", 2, 50)
    other.restore(stream.position)
    assert opened == ["c.txt", "d.txt"]
    assert windows(other, 1) == windows(stream, 1)


def test_a_shard_that_is_gone_when_a_stream_goes_on(corpus, in_order):
    stream = TokenStream(corpus / "c.txt", "forward", 1, 50)
    stream.next_window()
    other = TokenStream(corpus / "c.txt", "forward", 1, 50)
    (corpus / "c.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"c\.txt"):
        other.restore(stream.position)


def test_a_shard_that_is_gone_when_its_turn_comes(corpus, in_order):
    stream = TokenStream(f"{corpus}/*", "forward", 1, 10)
    stream.next_window()
    (corpus / "c.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"c\.txt"):
        windows(stream, 20)


def test_an_empty_corpus(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(b"")
    stream = TokenStream(f"{tmp_path}/*", "forward", 1, 1)
    with pytest.raises(ValueError, match="at least one sentence") as info:
        stream.next_window()
    assert f"'{tmp_path / 'a'}', '{tmp_path / 'b'}'" in str(info.value)
    # One sentence among many empty shards is enough.
    (tmp_path / "b").write_bytes(b"\n")
    for name in "cdefgh":
        (tmp_path / name).write_bytes(b"")
    stream = TokenStream(f"{tmp_path}/*", "forward", 1, 50)
    inputs, targets = stream.next_window()
    assert set(inputs[0]) == {b"<S>"}
    assert set(targets[0]) == {b"</S>"}


def test_literal_marks_are_words(tmp_path):
    (tmp_path / "x").write_bytes(b"<S> a </S>\n")
    stream = TokenStream(tmp_path / "x", "forward", 1, 4)
    inputs, targets = stream.next_window()
    assert inputs.tolist() == [[b"<S>", b"<S>", b"a", b"</S>"]]
    assert targets.tolist() == [[b"<S>", b"a", b"</S>", b"</S>"]]
