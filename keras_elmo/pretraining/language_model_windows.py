"""The windows of a corpus on which a language model is trained."""

import os
import tempfile
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any

from keras_elmo.checks import check_integer
from keras_elmo.files.atomic import explain_full_temporary_folder
from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.numbered_text import open_numbered_text
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.window_batches import WindowBatches
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.vocabulary import Vocabulary


class LanguageModelWindows:
    """An endless stream of windows for `LanguageModelTrainer.fit`.

    Each row of a window continues the text of the same row in the window
    before; when a sentence ends, the row takes the next one. The two directions
    read the corpus in orders of their own, which are shuffled in every pass.

    The corpus is read once, when this is made, into a temporary file that has
    four bytes for each word. A second iteration goes on where the first one
    stopped.

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
        `(inputs, targets)`. The inputs are three integer arrays: the character
        ids of the window's distinct words, `(words, max_characters_per_token)`,
        and for each direction, forward first, the index of each word in them,
        `(batch_size, unroll_steps)`. All windows have the same number of
        `words`: as many as a window can have, of which the last ones are
        padding. The targets are a pair of int32 arrays `(batch_size,
        unroll_steps)`, vocabulary indices.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If an argument is not as above, a file cannot be read, or
            the corpus is empty.

    Example:

    >>> with open("shard.txt", "w") as file:
    ...     _ = file.write("a b\\nc\\n")
    >>> words = ["<S>", "</S>", "<UNK>", "a", "b"]
    >>> windows = LanguageModelWindows("shard.txt", words, 1, 5)
    >>> (characters, forward, backward), targets = next(iter(windows))
    >>> characters.shape, forward.shape, targets[0].shape
    ((64, 50), (1, 5), (1, 5))
    >>> characters[forward].shape
    (1, 5, 50)
    """

    def __init__(
        self,
        paths: str | os.PathLike | Iterable[str | os.PathLike],
        vocabulary: str | os.PathLike | Iterable[str] | Vocabulary,
        batch_size: int = 128,
        unroll_steps: int = 20,
        *,
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
        # Deleted when it is closed, which is with the last array that maps it.
        with (
            explain_full_temporary_folder(
                "for four bytes a word of the corpus"
            ),
            tempfile.TemporaryFile() as file,
        ):
            reading, _ = number_text(find_shards(paths), file)
            text = open_numbered_text(file, reading)
        indexer = ByteIndexer(max_characters_per_token)
        self._batches = WindowBatches(text.words, indexer, self.vocabulary)
        # On TensorFlow, `fit` needs a fixed size.
        self._num_words = self._batches.most_words(batch_size, unroll_steps)
        self._windows = training_windows(text, batch_size, unroll_steps, seed)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for window in self._windows:
            yield self._batches.join([window], num_words=self._num_words)
