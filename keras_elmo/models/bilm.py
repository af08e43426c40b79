from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.bilm_shapes import bilm_shapes
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.models.fingerprint import bilm_fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.language_models import open_language_model
from keras_elmo.models.model_facts import count_of
from keras_elmo.models.model_facts import model_facts
from keras_elmo.models.model_facts import vocabulary_fact
from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.vocabulary import vocabulary_words
from keras_elmo.text.word_vectorization import WordVectorization


class Bilm(FoundModel):
    """A biLM's files: in a folder, in a `.zip`, or options and weights.

    Args:
        path: Path of the folder, of the `.zip` or of the options file.
        weights: Path of the weight file, if `path` is the options file.
        name: What to find it by again. Defaults to `path`.
    """

    what = "a biLM as bilm-tf, AllenNLP and NLPL have it"

    def __init__(self, path, weights=None, name=None):
        super().__init__(path, name)
        self._files = (path, weights)

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
        return open_language_model(*self._files, self.name)

    def facts(self):
        with self.open_language_model() as files:
            options = parse_language_model_options(files.options)
            yield from model_facts(options.token_encoder, options.encoder)
            shapes = bilm_shapes(options.token_encoder, options.encoder)
            arrays = self._read_arrays(files, shapes).values()
            dtypes = ", ".join(sorted({str(a.dtype) for a in arrays}))
            number = count_of(sum(array.size for array in arrays))
            yield "parameters", f"{number} ({dtypes})"
            if files.vocabulary is not None:
                words = vocabulary_words(files.vocabulary)
                yield "vocabulary", vocabulary_fact(words)
                _check_number(len(words), options)
            dim = options.encoder["projection_dim"]
            softmax = files.read_softmax(options.vocabulary_size, dim)
            if softmax is not None:
                yield "softmax", f"{len(softmax[1]):,} words"

    def _read_arrays(self, files, shapes):
        with open_bilm(*self._files) as files:
            return files.weights.read(shapes)

    def uses(self):
        options, weights = self._files
        if weights is None or self.name != self.path:
            return super().uses()
        return [
            f'keras_elmo.ElmoLayer.from_bilm("{options}", "{weights}")',
            "keras-elmo embed corpus.txt vectors.hdf5 "
            f"--options {options} --weights {weights}",
        ]


class BilmCheckpoint(Bilm):
    """The folder or `.zip` of a bilm-tf training, without a weight file."""

    what = "a checkpoint of bilm-tf's training"

    def load(self, cls=ElmoLayer, **kwargs):
        raise self._needs_weights()

    def make_vectorization(self, **kwargs):
        raise self._needs_weights()

    def fingerprint(self):
        raise self._needs_weights()

    def _read_arrays(self, files, shapes):
        return files.read_weights(shapes)

    def uses(self):
        return [
            f"keras-elmo convert {self.path} my_elmo",
            f"keras-elmo perplexity {self.path} heldout.txt",
        ]

    def _needs_weights(self):
        return ValueError(
            "An ElmoLayer is loaded (from_preset, keras-elmo embed, export) "
            f"from a weight file, and '{self.path}' holds a checkpoint of "
            "bilm-tf's training alone. Write its files first: keras-elmo "
            f"convert {self.path} my_elmo"
        )


def _check_number(number, options):
    expected = options.vocabulary_size
    if expected is not None and number != expected:
        raise ValueError(
            "The vocabulary must have as many words as the options say, "
            f"n_tokens_vocab={expected:,}. Received: {number:,}"
        )
