"""ELMo as Keras 3 layers."""

from keras_elmo.lazy_names import lazy_names as _lazy_names
from keras_elmo.registration import register_classes as _register_classes

__version__ = "1.0.0rc5"
__all__, __getattr__, __dir__ = _lazy_names(__name__)
_register_classes()
