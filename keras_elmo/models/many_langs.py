import os

from keras_elmo.formats.many_langs import open_many_langs
from keras_elmo.layers.bilm_encoder import BiLMEncoder
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.built_layers import build_layer
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.models.fingerprint import files_fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import check_no_words
from keras_elmo.models.model_facts import parameter_fact
from keras_elmo.models.model_facts import size_facts
from keras_elmo.models.variables import assign_arrays
from keras_elmo.text.word_vectorization import vectorization_of


class ManyLangs(FoundModel):
    """A model of ELMoForManyLangs, in a folder or a `.zip`."""

    what = "a model of ELMoForManyLangs"

    def load(self, cls=ElmoLayer, **kwargs):
        check_no_words(self.path, kwargs)
        return cls.from_many_langs(self.path, **kwargs)

    def make_vectorization(self, **kwargs):
        check_no_words(self.path, kwargs)
        with open_many_langs(self.path) as files:
            return vectorization_of(LexiconEmbedding(**files.token_encoder))

    def fingerprint(self):
        if os.path.isfile(self.path):
            return file_digest(self.path)
        with open_many_langs(self.path) as files:
            said = [files.token_encoder, files.encoder]
        names = [n for n in os.listdir(self.path) if n.endswith(".pkl")]
        return files_fingerprint(self.path, names, said)

    def open_language_model(self):
        raise ValueError(
            "keras-elmo perplexity and pretrain --from take a language model "
            "written by bilm-tf's training, keras-elmo pretrain or convert. "
            f"Received: '{self.path}', a model of ELMoForManyLangs, which "
            "cannot predict words"
        )

    def facts(self):
        with open_many_langs(self.path) as files:
            yield from size_facts(files.token_encoder, files.encoder)
            yield parameter_fact(files.read_arrays())


def load_many_langs(cls, directory, *, trainable=False, **kwargs):
    """Creates an `ElmoLayer` of `cls`; see `ElmoLayer.from_many_langs`."""
    dtype = kwargs.get("dtype")
    with open_many_langs(directory) as files:
        arrays = files.read_arrays()
    token_encoder = LexiconEmbedding(
        dtype=dtype, name="token_encoder", **files.token_encoder
    )
    encoder = BiLMEncoder(dtype=dtype, name="encoder", **files.encoder)
    layer = build_layer(cls(token_encoder, encoder, **kwargs))
    assign_arrays(layer, arrays)
    token_encoder.trainable = trainable
    encoder.trainable = trainable
    return layer
