"""Registers this package's classes in Keras; each is imported at first use.

`import keras_elmo` must be enough for `keras.saving.load_model`, but it should
not import Keras, so that `keras-elmo --help` is fast.
"""

import importlib
import sys

from keras_elmo.lazy_names import read_homes

# The rooms whose public classes are all registered, and the other registered
# classes.
_ROOMS = ("layers", "crf", "text", "pretraining")
_MORE = {
    "ByteIndexer": "text.byte_indexer",
    "CharacterIndexer": "text.character_indexer",
    "LanguageModelTrainer": "pretraining.language_model_trainer",
    "LexiconEmbedding": "layers.lexicon_embedding",
}


def register_classes():
    """Registers the classes with Keras: now, or once Keras is imported."""
    if "keras" in sys.modules:
        import keras

        _register(keras)
    else:
        sys.meta_path.insert(0, _Finder("keras", _register))


def registered_classes():
    """Returns the modules of the registered classes, by the classes' names."""
    homes = {
        name: module
        for name, module in read_homes("keras_elmo").items()
        if module.split(".")[1] in _ROOMS and name[0].isupper()
    }
    return homes | {name: f"keras_elmo.{home}" for name, home in _MORE.items()}


def _register(keras):
    # It notes forks of this process from now on.
    importlib.import_module("keras_elmo.ops.backends")
    known = keras.saving.get_custom_objects()
    for name, module in registered_classes().items():
        # A class that has been imported has registered itself.
        known.setdefault(f"keras_elmo>{name}", _Unimported(name, module))


class _Unimported:
    """Placeholder in the registry for a class that is not imported yet.

    Args:
        name: The name of the class.
        module: Its module.
    """

    def __init__(self, name, module):
        self._name = name
        self._module = module

    def from_config(self, config, **kwargs):
        """Calls the class's own `from_config`."""
        cls = getattr(importlib.import_module(self._module), self._name)
        return cls.from_config(config, **kwargs)


class _Finder:
    """Finds a module with the other finders; calls a function after import.

    Args:
        name: The name of a top-level module that is not imported yet.
        function: The function to call with the module.
    """

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
