"""What can be asked of a model's files, whatever kind they are of."""

import abc
import os

from keras_elmo.layers.elmo_layer import ElmoLayer

_OF_BILM_FILES = ("token_embeddings", "unknown_words", "vocabulary")


class FoundModel(abc.ABC):
    """A trained model in files: what `find_model` returns.

    A kind that cannot do what is asked raises a `ValueError`, which says what
    would.

    Args:
        path: Local path of the model.
        name: What to find it by again. Defaults to `path`.
    """

    what: str
    """What it is, in words."""

    def __init__(self, path, name=None):
        self.path = path
        self.name = name or os.fspath(path)

    @abc.abstractmethod
    def load(self, cls=ElmoLayer, **kwargs):
        """Returns the `ElmoLayer`.

        Args:
            cls: The class: `ElmoLayer`, or one derived from it.
            **kwargs: As for `ElmoLayer.from_preset`.
        """

    def load_for_export(self, dtype=None):
        """Returns what to serve: the `ElmoLayer`, or another Keras model."""
        return self.load(**({"dtype": dtype} if dtype else {}))

    @abc.abstractmethod
    def make_vectorization(self, **kwargs):
        """Returns the vectorization of words, without loading the weights.

        It is `None` if no word is too long for the model.

        Args:
            **kwargs: `token_embeddings` and `vocabulary`, as for `load`.
        """

    @abc.abstractmethod
    def fingerprint(self):
        """Returns a digest of all that decides a vector, 16 hex digits."""

    @abc.abstractmethod
    def open_language_model(self):
        """Yields its `BilmFiles`; a context manager."""

    @abc.abstractmethod
    def facts(self):
        """Reads all files, and yields the names and values of facts."""

    def uses(self):
        """Returns lines of code and commands that take it."""
        return [
            f'keras_elmo.ElmoLayer.from_preset("{self.name}")',
            f"keras-elmo embed corpus.txt vectors.hdf5 --model {self.name}",
        ]


def check_no_words(path, arguments):
    """Raises `ValueError` if words are given to a model that has its own."""
    given = [name for name in _OF_BILM_FILES if arguments.get(name) is not None]
    if given:
        raise ValueError(
            f"{' and '.join(given)} go with the files of a bilm-tf model. "
            f"Received: '{path}', which has its own"
        )
