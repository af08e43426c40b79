import functools

from keras_elmo.checks import argument_name
from keras_elmo.formats.many_langs import ManyLangsFiles
from keras_elmo.formats.preset_files import PRESET_FILES
from keras_elmo.layers.lexicon_embedding import LexiconEmbedding
from keras_elmo.models.fingerprint import fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import parameter_fact
from keras_elmo.models.found_model import size_facts
from keras_elmo.models.preset_folder import preset_writer
from keras_elmo.models.variables import make_elmo


class FoundManyLangs(FoundModel):
    """A model of ELMoForManyLangs, in a folder or a `.zip`."""

    what = "a model of ELMoForManyLangs"

    @functools.cached_property
    def _files(self):
        return ManyLangsFiles(self.source)

    def load(self, cls, **kwargs):
        arrays = self._files.read_arrays()
        sizes = self._files.sizes
        return make_elmo(cls, LexiconEmbedding, sizes, arrays, **kwargs)

    def fingerprint(self):
        return fingerprint(self._files.sizes, self._files.weight_files)

    def conversion(self, cls, dtype="float32"):
        # The formats of bilm-tf and AllenNLP cannot represent it.
        if dtype != "float32":
            raise ValueError(
                f"{argument_name('output_dtype')} must be left out: {self.what}"
                " is written as a preset folder, in float32. "
                f"Received: '{dtype}'"
            )
        return PRESET_FILES, lambda path: preset_writer(self.load(cls))(path)

    def facts(self, cls):
        yield from size_facts(*self._files.sizes)
        yield parameter_fact(self._files.read_arrays())
