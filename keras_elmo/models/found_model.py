"""The interface to a model's files of any kind."""

import abc
import json
import os

from keras_elmo.formats.bilm_names import MODEL_FILES


class FoundModel(abc.ABC):
    """A trained model in files, as returned by `find_model`.

    A kind of model that lacks what a method needs raises a `ValueError` that
    says what to use instead.

    Args:
        source: The `ModelFolder` of the model, or its local path.
        name: A name that `find_model` accepts. Defaults to the path.
    """

    what: str
    """A description of the kind of model."""

    def __init__(self, source, name=None):
        self.source = source
        self.path = os.fspath(getattr(source, "path", source))
        self.name = name or self.path

    @abc.abstractmethod
    def load(self, cls, **kwargs):
        """Returns the `ElmoLayer`.

        Args:
            cls: The class: `ElmoLayer` or a subclass. The layers import the
                loaders, so these never import it.
            **kwargs: As for `ElmoLayer.from_preset`.
        """

    def load_for_export(self, cls, dtype=None):
        """Returns the model to serve: the `ElmoLayer` or a Keras model."""
        return self.load(cls, dtype=dtype)

    @abc.abstractmethod
    def fingerprint(self):
        """Returns a digest of all that affects the vectors, 16 hex digits."""

    def open_language_model(self):
        """Returns its `BilmFiles`, which may have a softmax."""
        raise ValueError(
            "keras-elmo convert, perplexity and pretrain --from take the files "
            "of a language model: a checkpoint of bilm-tf, or options.json "
            "with weights.hdf5, as `ElmoLayer.save_to_bilm` writes them. "
            f"Received: '{self.path}', {self.what}, which is loaded with "
            f"{self.how_to_load()}"
        )

    def conversion(self, cls, dtype="float32"):
        """Returns how `keras-elmo convert` writes the model.

        Args:
            cls: As for `load`.
            dtype: As for `write_bilm`.

        Returns:
            The names of the files, of which not all may be written, and the
            function that writes them to a folder, given its path.
        """
        files = self.open_language_model()
        return MODEL_FILES, lambda folder: files.write_to(folder, dtype)

    @abc.abstractmethod
    def facts(self, cls):
        """Reads all files and arrays; yields facts, as names and texts.

        Args:
            cls: As for `load`.
        """

    def how_to_load(self):
        """Returns the code that loads the model."""
        return f"keras_elmo.ElmoLayer.from_preset({quoted(self.name)})"


def quoted(text):
    """Returns a string in double quotes, as in Python code."""
    return json.dumps(os.fspath(text), ensure_ascii=False)


def size_facts(token_encoder, encoder):
    """Yields facts about a model's sizes.

    Args:
        token_encoder: Arguments of the token encoder.
        encoder: Arguments of the `BiLMEncoder`.
    """
    number = token_encoder["max_characters_per_token"]
    yield "input", f"characters of words, {number} ids per word"
    if words := token_encoder.get("words"):
        yield "words with vectors", f"{len(words):,}"
    layers, dim = encoder["num_layers"], encoder["projection_dim"]
    lstms = f"{layers} layers in each direction, {encoder['units']:,} units"
    if dim:
        lstms += f", projection {dim:,}"
    yield "LSTMs", lstms
    width = 2 * (dim or encoder["units"])
    yield "vectors", f"{layers + 1} layers, {width:,} wide"


def parameter_fact(arrays):
    """Returns a fact about a model's arrays, a dictionary: name and text."""
    number = sum(array.size for array in arrays.values())
    dtypes = ", ".join(sorted({str(a.dtype) for a in arrays.values()}))
    return "parameters", f"{number:,} ({dtypes})"
