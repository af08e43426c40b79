import functools

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.models.fingerprint import fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import parameter_fact
from keras_elmo.models.found_model import quoted
from keras_elmo.models.found_model import size_facts
from keras_elmo.models.variables import make_elmo
from keras_elmo.text.vocabulary import vocabulary_words


class FoundBilm(FoundModel):
    """A biLM's files: in a folder, in a `.zip`, or options and weights.

    Args:
        source: The `ModelFolder`, or its path; or the path of the options file.
        weights: Path of the weight file, if `source` is the options file.
        name: As for `FoundModel`.
    """

    what = "a biLM in the format of bilm-tf, AllenNLP and NLPL"

    def __init__(self, source, weights=None, name=None):
        super().__init__(source, name)
        self._weights = weights

    @classmethod
    def at(cls, options_path, weights_path=None):
        """The model at the paths or URLs that `ElmoLayer.from_bilm` takes."""
        if weights_path is not None:
            weights_path = fetch(weights_path, "weights_path")
        return cls(fetch(options_path, "options_path"), weights_path)

    @functools.cached_property
    def _files(self):
        return open_bilm(self.source, self._weights)

    def load(self, cls, **kwargs):
        arrays = self._files.read_arrays()
        sizes = self._files.options[:2]
        return make_elmo(cls, CharCNNEmbedding, sizes, arrays, **kwargs)

    def fingerprint(self):
        return fingerprint(self._files.content, self._files.weight_files)

    def open_language_model(self):
        return open_bilm(self.source, self._weights, is_language_model=True)

    def facts(self, cls):
        files = self._files
        yield from size_facts(*files.options[:2])
        yield parameter_fact(files.read_arrays())
        expected = files.options.vocabulary_size
        found = files.read_vocabulary()
        if found is not None:
            words = vocabulary_words(*found)
            if expected not in (None, len(words)):
                raise ValueError(
                    f"'{found[0]}' must have as many words as the options say, "
                    f"n_tokens_vocab={expected:,}. Received: {len(words):,}"
                )
            yield "vocabulary", f"{len(words):,} words"
        softmax = files.read_softmax(expected)
        if softmax is not None:
            yield "softmax", f"{len(softmax['softmax.bias']):,} words"

    def how_to_load(self):
        if self._weights is None:
            return super().how_to_load()
        paths = f"{quoted(self.path)}, {quoted(self._weights)}"
        return f"keras_elmo.ElmoLayer.from_bilm({paths})"
