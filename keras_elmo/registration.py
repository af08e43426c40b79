"""Registers this package's classes in Keras, once Keras is imported.

`import keras_elmo` must be enough for `keras.saving.load_model`, but it should
not import Keras, so that `keras-elmo --help` is fast.
"""

import importlib
import pkgutil
import sys


def register_classes():
    """Imports all layers, which registers them: now, or after Keras."""
    if "keras" in sys.modules:
        _import_layers()
    else:
        sys.meta_path.insert(0, _Finder("keras", _import_layers))


def _import_layers():
    for room in "keras_elmo.layers", "keras_elmo.crf":
        path = importlib.import_module(room).__path__
        for _, name, _ in pkgutil.iter_modules(path, f"{room}."):
            importlib.import_module(name)


class _Finder:
    """Finds a module with the other finders; calls a function after import.

    Args:
        name: The name of a top-level module that is not imported yet.
        function: The function to call, without arguments.
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
                self._function()

        loader.exec_module = exec_module
