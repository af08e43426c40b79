import functools

from keras_elmo.files.fetch import fetch
from keras_elmo.formats.many_langs import ManyLangsFiles
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.fingerprint import fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import parameter_fact
from keras_elmo.models.found_model import size_facts
from keras_elmo.models.variables import make_elmo


class ManyLangs(FoundModel):
    """A model of ELMoForManyLangs, in a folder or a `.zip`."""

    what = "a model of ELMoForManyLangs"

    @classmethod
    def at(cls, directory):
        """The model at a path or URL, as `ElmoLayer.from_many_langs` takes."""
        return cls(fetch(directory, "directory"))

    @functools.cached_property
    def _files(self):
        return ManyLangsFiles(self.source)

    def load(self, cls=ElmoLayer, **kwargs):
        files = self._files
        arrays = files.read_arrays()
        token_encoder = LexiconEmbedding(
            dtype=kwargs.get("dtype"),
            name="token_encoder",
            **files.token_encoder,
        )
        return make_elmo(cls, token_encoder, files.encoder, arrays, **kwargs)

    def fingerprint(self):
        files = self._files
        sizes = files.token_encoder, files.encoder
        return fingerprint(sizes, files.weight_files)

    def facts(self):
        files = self._files
        yield from size_facts(files.token_encoder, files.encoder)
        yield parameter_fact(files.read_arrays())
