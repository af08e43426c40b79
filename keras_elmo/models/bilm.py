from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.models.fingerprint import bilm_fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.language_models import open_language_model
from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.word_vectorization import WordVectorization


class Bilm(FoundModel):
    """A biLM's files: in a folder, in a `.zip`, or options and weights.

    Args:
        path: Path of the folder, of the `.zip` or of the options file.
        weights: Path of the weight file, if `path` is the options file.
        name: What to call the model in messages. Defaults to `path`.
    """

    def __init__(self, path, weights=None, name=None):
        super().__init__(path)
        self._files = (path, weights)
        self._name = name or path

    def load(self, cls=ElmoLayer, **kwargs):
        return cls.from_bilm(*self._files, **kwargs)

    def make_vectorization(self, **kwargs):
        with open_bilm(*self._files) as files:
            options = parse_language_model_options(
                files.read_options(), files.options_label
            )
        if options.is_word_input:
            return None
        width = options.token_encoder["max_characters_per_token"]
        return WordVectorization(ByteSpelling(width))

    def fingerprint(self):
        return bilm_fingerprint(*self._files)

    def open_language_model(self):
        return open_language_model(*self._files, self._name)


class BilmCheckpoint(Bilm):
    """The folder or `.zip` of a bilm-tf training, without a weight file."""

    def load(self, cls=ElmoLayer, **kwargs):
        raise self._needs_weights()

    def make_vectorization(self, **kwargs):
        raise self._needs_weights()

    def fingerprint(self):
        raise self._needs_weights()

    def _needs_weights(self):
        return ValueError(
            "An ElmoLayer is loaded (from_preset, keras-elmo embed, export) "
            f"from a weight file, and '{self.path}' holds a checkpoint of "
            "bilm-tf's training alone. Write its files first: keras-elmo "
            f"convert {self.path} my_elmo"
        )
