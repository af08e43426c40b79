"""The windows of a corpus on which a language model is trained."""

import collections
import os
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from keras_elmo.checks import check_integer
from keras_elmo.choices import DIRECTIONS
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.token_streams import TokenStream
from keras_elmo.pretraining.word_ids import WordIds
from keras_elmo.text.vocabulary import Vocabulary


class LanguageModelWindows:
    """An endless stream of windows for `LanguageModelTrainer.fit`.

    Each row of a window continues the text of the same row in the window
    before; when a sentence ends, the row takes the next one. The two directions
    read the corpus in orders of their own, which are shuffled in every pass.

    Args:
        paths: Path or glob pattern, or a list of these: the corpus, one
            sentence per line with spaces between the words, plain or gzip.
        vocabulary: The words that can be predicted, by falling count: a list,
            or the path of a file with one word per line. It begins with `<S>`,
            `</S>` and `<UNK>`.
        batch_size: Integer, the number of rows.
        unroll_steps: Integer, the number of words in a row.
        max_characters_per_token: Integer, the number of ids per word.
        seed: Integer, random seed of the order.

    Yields:
        `(inputs, targets)`. The inputs are a pair of int32 arrays, forward and
        backward: character ids `(batch_size, unroll_steps,
        max_characters_per_token)`. The targets are a pair of int32 arrays
        `(batch_size, unroll_steps)`, vocabulary indices.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If an argument is not as above, a file cannot be read, or
            the corpus is empty.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> words = ["<S>", "</S>", "<UNK>", "a", "b"]
    >>> windows = LanguageModelWindows("shard.txt", words, 1, 5)
    >>> (forward, backward), targets = next(iter(windows))
    >>> forward.shape, targets[0].shape
    ((1, 5, 50), (1, 5))
    """

    def __init__(
        self,
        paths: str | os.PathLike | Iterable[str | os.PathLike],
        vocabulary: str | os.PathLike | Iterable[str] | Vocabulary,
        batch_size: int = 128,
        unroll_steps: int = 20,
        max_characters_per_token: int = 50,
        seed: int = 0,
    ) -> None:
        check_integer("batch_size", batch_size, 1)
        check_integer("unroll_steps", unroll_steps, 1)
        check_integer("seed", seed, 0)
        if isinstance(vocabulary, Vocabulary):
            self.vocabulary = vocabulary
        elif isinstance(vocabulary, (str, os.PathLike)):
            self.vocabulary = Vocabulary.from_file(vocabulary)
        else:
            self.vocabulary = Vocabulary([w.encode() for w in vocabulary])
        self._ids = WordIds(self.vocabulary, max_characters_per_token)
        paths = find_shards(paths)
        self._streams = [
            TokenStream(paths, direction, batch_size, unroll_steps, seed)
            for direction in DIRECTIONS
        ]
        # Filled by the thread that fetches windows in advance.
        self._positions: collections.deque[list] = collections.deque()
        self.keeps_positions = False
        """Whether `next_position` will be called for each window."""
        self.error: Exception | None = None
        """What ended the last iteration, as `fit` may raise another error."""

    def restore(self, positions: list) -> None:
        """Continues after a window, as `next_position` described it."""
        for stream, position in zip(self._streams, positions):
            stream.restore(position)

    def next_position(self) -> list:
        """Returns the position in the text after the next window.

        The first call is for the first window of this iteration. Windows that
        were only fetched in advance do not matter.
        """
        return self._positions.popleft()

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        self._positions.clear()
        self.error = None
        try:
            while True:
                pairs = [stream.next_window() for stream in self._streams]
                position = [stream.position for stream in self._streams]
                if self.keeps_positions:
                    self._positions.append(position)
                inputs, targets = zip(*pairs)
                yield (
                    tuple(map(self._ids.inputs, inputs)),
                    tuple(map(self._ids.targets, targets)),
                )
        except Exception as error:
            self.error = error
            raise
