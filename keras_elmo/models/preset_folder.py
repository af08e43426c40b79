import keras

from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.models.elmo_presets import load_layer
from keras_elmo.models.fingerprint import files_fingerprint
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import check_no_words
from keras_elmo.models.model_facts import count_of
from keras_elmo.models.model_facts import model_facts
from keras_elmo.models.preset_folders import PRESET_FILES
from keras_elmo.models.preset_folders import read_preset_config
from keras_elmo.text.vectorization_of import vectorization_of


class PresetFolder(FoundModel):
    """A folder of `ElmoLayer.save_to_preset`."""

    what = "a folder of ElmoLayer.save_to_preset"

    def load(self, cls=ElmoLayer, **kwargs):
        check_no_words(self.path, kwargs)
        return load_layer(cls, self.path, **kwargs)

    def make_vectorization(self, **kwargs):
        check_no_words(self.path, kwargs)
        config = read_preset_config(self.path, ElmoLayer)
        return vectorization_of(
            keras.saving.deserialize_keras_object(config["token_encoder"])
        )

    def fingerprint(self):
        # Without the date that is in the metadata.
        names = [n for n in PRESET_FILES if n != "metadata.json"]
        return files_fingerprint(self.path, names)

    def facts(self):
        config = read_preset_config(self.path, ElmoLayer)
        yield from model_facts(
            *(config[part]["config"] for part in ("token_encoder", "encoder"))
        )
        yield "parameters", count_of(self.load().count_params())

    def open_language_model(self):
        raise ValueError(
            "keras-elmo convert, perplexity and pretrain --from take the "
            "files of a language model, options.json with weights.hdf5 or a "
            f"checkpoint. Received: '{self.path}', a folder of "
            "ElmoLayer.save_to_preset, which holds no softmax; "
            "keras_elmo.save_bilm_weights writes options.json and weights.hdf5"
        )
