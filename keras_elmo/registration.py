"""Registers this package's classes in Keras; each is imported at first use.

`import keras_elmo` must be enough for `keras.saving.load_model`, but it should
not import Keras, so that `keras-elmo --help` is fast.
"""

import importlib
import sys

_MODULES = {
    "BiLMEncoder": "layers.bilm_encoder",
    "BidirectionalLanguageModel": "pretraining.bidirectional_language_model",
    "ByteSpelling": "text.byte_spelling",
    "CRF": "crf.crf",
    "CRFAccuracy": "crf.loss_and_accuracy",
    "CRFDecoder": "crf.crf_decoder",
    "CRFLoss": "crf.loss_and_accuracy",
    "CharCNNEmbedding": "layers.char_cnn_embedding",
    "CharacterSpelling": "text.character_spelling",
    "ElmoLayer": "layers.elmo_layer",
    "Highway": "layers.highway",
    "LanguageModelTrainer": "pretraining.language_model_trainer",
    "LexiconEmbedding": "layers.lexicon_embedding",
    "ProjectedLSTMCell": "layers.projected_lstm_cell",
    "ScalarMix": "layers.scalar_mix",
    "TokenEmbedding": "layers.token_embedding",
    "VocabularySpelling": "text.vocabulary_spelling",
    "WordVectorization": "text.word_vectorization",
}


def register_classes():
    """Registers the classes with Keras: now, or once Keras is imported."""
    if "keras" in sys.modules:
        import keras

        _register(keras)
    else:
        call_after_import("keras", _register)


def call_after_import(name, function):
    """Calls `function` with a module once the module has been imported.

    Args:
        name: The name of a top-level module that is not imported yet.
        function: The function to call.
    """
    sys.meta_path.insert(0, _Finder(name, function))


def _register(keras):
    known = keras.saving.get_custom_objects()
    for name, module in _MODULES.items():
        # A class that has been imported has registered itself.
        known.setdefault(f"keras_elmo>{name}", _Unimported(name, module))


class _Unimported:
    """Placeholder in the registry for a class that is not imported yet.

    Args:
        name: The name of the class.
        module: Its module, in this package.
    """

    def __init__(self, name, module):
        self._name = name
        self._module = f"keras_elmo.{module}"

    def from_config(self, config, **kwargs):
        """Calls the class's own `from_config`."""
        cls = getattr(importlib.import_module(self._module), self._name)
        return cls.from_config(config, **kwargs)


class _Finder:
    """Finds a module with the other finders; calls a function after import."""

    def __init__(self, name, function):
        self._name = name
        self._function = function

    def find_spec(self, name, path=None, target=None):
        if name != self._name:
            return None
        others = (f for f in sys.meta_path if f is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next(filter(None, specs), None)
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader)
        return spec

    def _call_after(self, loader):
        # Changes the loader itself, as its type matters to other code.
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._function(module)

        loader.exec_module = exec_module
