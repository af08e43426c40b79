import functools
import hashlib

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.bilm_files import open_bilm
from keras_elmo.layers.char_cnn_embedding import CharCNNEmbedding
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.token_embedding import TokenEmbedding
from keras_elmo.models.fingerprint import fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import parameter_fact
from keras_elmo.models.found_model import quoted
from keras_elmo.models.found_model import size_facts
from keras_elmo.models.token_embeddings import read_rows
from keras_elmo.models.token_embeddings import read_words
from keras_elmo.models.variables import make_elmo
from keras_elmo.text.vocabulary import vocabulary_words


class Bilm(FoundModel):
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
    def at(cls, options, weights=None):
        """The model at the paths or URLs that `ElmoLayer.from_bilm` takes."""
        if weights is not None:
            weights = fetch(weights, "weights_file")
        return cls(fetch(options, "options"), weights)

    @functools.cached_property
    def _files(self):
        return open_bilm(self.source, self._weights)

    def load(
        self,
        cls=ElmoLayer,
        *,
        token_embeddings=None,
        vocabulary=None,
        unknown_words=None,
        **kwargs,
    ):
        files = self._files
        options = files.options
        words = unknown = rows = None
        of_words = (token_embeddings, vocabulary, unknown_words)
        if options.is_word_input or of_words != (None, None, None):
            words, unknown = read_words(files, *of_words)
        if token_embeddings is not None:
            rows = read_rows(token_embeddings, options, len(words))
        arrays = files.read_arrays(has_token_encoder=rows is None)
        common = {"dtype": kwargs.get("dtype"), "name": "token_encoder"}
        if rows is None and not options.is_word_input:
            token_encoder = CharCNNEmbedding(**options.token_encoder, **common)
        else:
            token_encoder = TokenEmbedding(
                len(words or ()) or options.token_encoder["num_tokens"],
                options.encoder["projection_dim"],
                words,
                unknown,
                **common,
            )
        if rows is not None:
            arrays["token_encoder.embeddings"] = rows
        return make_elmo(cls, token_encoder, options.encoder, arrays, **kwargs)

    def fingerprint(self):
        files = self._files
        content = [files.content]
        # The words of other models do not affect the vectors.
        if files.options.is_word_input:
            vocabulary = files.read_vocabulary() or b""
            content.append(hashlib.sha256(vocabulary).hexdigest())
        return fingerprint(content, files.weight_files)

    def open_language_model(self):
        return open_bilm(self.source, self._weights, is_language_model=True)

    def facts(self):
        files = self._files
        options = files.options
        yield from size_facts(options.token_encoder, options.encoder)
        yield parameter_fact(files.read_arrays())
        expected = options.vocabulary_size
        vocabulary = files.read_vocabulary()
        if vocabulary is not None:
            words = vocabulary_words(vocabulary)
            if expected not in (None, len(words)):
                raise ValueError(
                    f"'{files.vocabulary_label}' must have as many words "
                    f"as the options say, n_tokens_vocab={expected:,}. "
                    f"Received: {len(words):,} words"
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
