import keras
import numpy as np

from keras_elmo.checks import argument_name
from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.files.model_folder import open_folder
from keras_elmo.formats.array_tables import naming_file
from keras_elmo.models.found_model import FoundModel
from keras_elmo.models.found_model import parameter_fact
from keras_elmo.models.found_model import quoted
from keras_elmo.models.word_model import after_elmo
from keras_elmo.models.word_model import with_separate_layers
from keras_elmo.ops.backends import backend


class KerasFile(FoundModel):
    """A `.keras` file: a whole Keras model, such as a tagger with ELMo.

    Args:
        source: As for `FoundModel`.
        name: As for `FoundModel`.
        elmo: If the file has only the layers after ELMo, the `FoundModel` of
            ELMo; see `TaggerPreset`.
    """

    what = "a .keras file, a whole Keras model"

    def __init__(self, source, name=None, elmo=None):
        super().__init__(source, name)
        self._elmo = elmo

    def load(self, cls, **kwargs):
        raise self._refusal()

    def fingerprint(self):
        raise self._refusal()

    def _refusal(self):
        return ValueError(
            "from_preset and keras-elmo embed take only ELMo models. "
            f"Received: '{self.path}', {self.what}: load it with "
            f"{self.how_to_load()}, or serve it with keras-elmo export"
        )

    def load_for_export(self, cls, dtype=None):
        if dtype:
            raise ValueError(
                f"{argument_name('dtype')} must be left out: a .keras file has "
                f"its own. Received: '{dtype}' with '{self.path}'"
            )
        _check_weights(self.path)
        backend()  # An error in a fork, where Keras would wait forever.
        try:
            model = keras.saving.load_model(self.path, compile=False)
            if self._elmo is None:
                return model
            elmo = self._elmo.load(cls, name="elmo")
            if model.inputs[0].shape[-1] != 2 * elmo.encoder.direction_dim:
                elmo = with_separate_layers(elmo)
            return after_elmo(model, elmo)
        except TypeError as error:  # A class that is not registered.
            raise ValueError(
                "A .keras file must be made of layers of Keras and keras_elmo: "
                "for custom layers, call `keras_elmo.export_saved_model` in "
                "Python code that imports them, and before you load a language "
                "model, import `keras_elmo.BidirectionalLanguageModel`. "
                f"Received: '{self.path}'. {error}"
            ) from error
        except Exception as error:  # Keras raises errors of every kind.
            raise ValueError(
                f"The model '{self.path}' cannot be loaded. The error was: "
                f"{error}"
            ) from error

    def facts(self, cls):
        model = self.load_for_export(cls)
        yield "layers", ", ".join(type(x).__name__ for x in model.layers)
        arrays = {
            variable.path: keras.ops.convert_to_numpy(variable)
            for variable in model.variables
            if keras.backend.is_float_dtype(variable.dtype)
        }
        yield parameter_fact(arrays)
        wrong = [n for n, a in arrays.items() if not np.isfinite(a).all()]
        if wrong:
            raise ValueError(
                f"The arrays of '{self.path}' must be finite. "
                f"Received: NaN or infinity in {wrong}"
            )

    def how_to_load(self):
        if self.name != self.path:
            return f"keras_elmo.Tagger.load({quoted(self.name)})"
        load = f"keras.saving.load_model({quoted(self.path)})"
        return f"import keras, keras_elmo; {load}"


def _check_weights(path):
    """Raises `ValueError` if they are corrupt or stored elsewhere."""
    archive = open_folder(path)
    for name in archive.names:
        if name.endswith(".h5"):
            subject = f"weight file '{archive.label(name)}'"
            with naming_file(subject), open_hdf5(archive.file(name)):
                pass
