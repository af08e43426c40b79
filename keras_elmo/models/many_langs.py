import os

from keras_elmo.formats.many_langs import open_many_langs
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.models.fingerprint import files_fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import check_no_words
from keras_elmo.models.model_facts import count_of
from keras_elmo.models.model_facts import model_facts
from keras_elmo.text.vectorization_of import vectorization_of


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

    def facts(self):
        with open_many_langs(self.path) as files:
            yield from model_facts(files.token_encoder, files.encoder)
        yield "parameters", count_of(self.load().count_params())

    def open_language_model(self):
        raise ValueError(
            "keras-elmo perplexity and pretrain --from take a language model "
            "as bilm-tf's training, keras-elmo pretrain and convert write it. "
            f"Received: '{self.path}', a model of ELMoForManyLangs, whose "
            "files predict no words"
        )
