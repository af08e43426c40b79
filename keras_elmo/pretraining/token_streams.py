"""Token streams: the windows of words that one direction is trained on."""

import os
from collections.abc import Iterable

import numpy as np

from keras_elmo.layers.arguments import check_integer
from keras_elmo.pretraining.sentence_streams import Place
from keras_elmo.pretraining.sentence_streams import SentenceStream
from keras_elmo.pretraining.shards import find_shards
from keras_elmo.pretraining.stream_rows import StreamRow
from keras_elmo.text.special_words import BEGIN_SENTENCE
from keras_elmo.text.special_words import END_SENTENCE

DIRECTIONS = ("forward", "backward")

_HEADER = ("direction", "steps", "seed", "shuffle", "number of shards")
_NO_SENTENCE = [-1] * len(_HEADER)


def stream_pairs(
    sentence: list[bytes], direction: str
) -> tuple[list[bytes], list[bytes]]:
    """Returns the inputs of a sentence, and the target of each.

    Forward the mark that opens the sentence is an input and the one that closes
    it a target; backward it is the other way round, over the reversed words.
    Thus the mark that a direction ends at is never its input.

    Args:
        sentence: List of words, each bytes.
        direction: `"forward"` or `"backward"`.

    Returns:
        A tuple of two lists, each one longer than the sentence.

    Example:

    >>> stream_pairs([b"a", b"b"], "backward")
    ([b'</S>', b'b', b'a'], [b'b', b'a', b'<S>'])
    """
    if direction == "forward":
        return [BEGIN_SENTENCE, *sentence], [*sentence, END_SENTENCE]
    reverse = sentence[::-1]
    return [END_SENTENCE, *reverse], [*reverse, BEGIN_SENTENCE]


class TokenStream:
    """The windows of one direction, without an end.

    As in bilm-tf, each row of a window goes on where it stopped in the window
    before, and when its sentence is used up draws the next from a stream that
    all rows share. A row is always full: its sentences follow each other
    without padding.

    Args:
        paths: The corpus, as `find_shards` takes it.
        direction: `"forward"` or `"backward"`. Their orders are independent.
        rows: Integer, the number of rows of a window: the batch size.
        steps: Integer, the number of words of a row.
        seed: Integer, of the orders.
        shuffle: Boolean, whether each pass over the corpus has an order of its
            own; if false, it is that of the files.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> stream = TokenStream("shard.txt", "forward", 1, 4, shuffle=False)
    >>> inputs, targets = stream.next_window()
    >>> inputs.tolist(), targets.tolist()
    ([[b'<S>', b'a', b'b', b'<S>']], [[b'a', b'b', b'</S>', b'c']])
    """

    def __init__(
        self,
        paths: str | os.PathLike | Iterable[str | os.PathLike],
        direction: str,
        rows: int,
        steps: int,
        seed: int = 0,
        shuffle: bool = True,
    ):
        if direction not in DIRECTIONS:
            raise ValueError(
                f"`direction` must be one of {list(DIRECTIONS)}. "
                f"Received: {direction!r}"
            )
        check_integer("rows", rows, 1)
        check_integer("steps", steps, 1)
        check_integer("seed", seed, 0)
        self.paths = find_shards(paths)
        self.direction = direction
        self.rows = int(rows)
        self.steps = int(steps)
        self.seed = int(seed)
        self.shuffle = bool(shuffle)
        self._sentences = SentenceStream(
            self.paths, DIRECTIONS.index(direction), self.seed, self.shuffle
        )
        self._rows = [StreamRow() for _ in range(self.rows)]

    def next_window(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the next window: its inputs, and the target of each.

        Returns:
            A tuple of two arrays `(rows, steps)` of bytes objects.

        Raises:
            FileNotFoundError: If a shard is no longer there.
            ValueError: If a shard cannot be read, or the corpus is empty.
        """
        inputs: list[bytes] = []
        targets: list[bytes] = []
        for row in self._rows:
            missing = self.steps
            while missing:
                if not row.left:
                    place, words = self._sentences.draw()
                    row.begin(place, *stream_pairs(words, self.direction))
                missing -= row.take(missing, inputs, targets)
        return self._as_array(inputs), self._as_array(targets)

    @property
    def position(self) -> np.ndarray:
        """Where the stream stands after its last window.

        int64 array of shape `(rows + 2, 5)`, for `restore`.
        """
        rows = [
            row.position if row.left else _NO_SENTENCE for row in self._rows
        ]
        return np.array(
            [self._header(), [*self._sentences.place, 0], *rows], "int64"
        )

    def restore(self, position: np.ndarray) -> None:
        """Goes on from a position: the windows that followed it come again.

        Of the corpus, only the shards are read that sentences were being drawn
        from.

        Args:
            position: Array, the `position` of a stream of equal arguments.

        Raises:
            FileNotFoundError: If one of those shards is no longer there.
            ValueError: If the arguments were others, or a shard is not what it
                was.
        """
        position = self._checked(position)
        stream, *rows = position.tolist()[1:]
        places = [Place(*row[:4]) if row[0] >= 0 else None for row in rows]
        words = self._sentences.read(place for place in places if place)
        self._sentences.move_to(Place(*stream[:4]))
        for row, place, (*_, offset) in zip(self._rows, places, rows):
            if place is None:
                row.clear()
            else:
                pairs = stream_pairs(words[place], self.direction)
                row.begin(place, *pairs, offset)
                if row.left <= 0:
                    raise ValueError(
                        "The corpus must be what it was when the position was "
                        f"taken: a sentence of more than {offset - 1} words. "
                        f"Received: {b' '.join(words[place])!r}"
                    )

    def at(self, position: np.ndarray) -> "TokenStream":
        """Returns another stream of equal arguments, at `position`."""
        stream = TokenStream(
            self.paths,
            self.direction,
            self.rows,
            self.steps,
            self.seed,
            self.shuffle,
        )
        stream.restore(position)
        return stream

    def _header(self):
        direction = DIRECTIONS.index(self.direction)
        return [
            direction,
            self.steps,
            self.seed,
            int(self.shuffle),
            len(self.paths),
        ]

    def _checked(self, position):
        position = np.asarray(position)
        shape = (self.rows + 2, len(_HEADER))
        if position.shape != shape or position.dtype.kind != "i":
            raise ValueError(
                "`position` must be that of a stream of "
                f"{self.rows} rows: integers of shape {shape}. Received: "
                f"shape={position.shape}, dtype={position.dtype}"
            )
        for name, own, other in zip(_HEADER, self._header(), position[0]):
            if own != other:
                raise ValueError(
                    "`position` must be that of a stream of equal arguments; "
                    f"here the {name} is {own}. Received: {other}"
                )
        return position

    def _as_array(self, words):
        array = np.array(words, dtype=object)
        return array.reshape(self.rows, self.steps)
