"""ELMo as Keras 3 layers."""

import typing

from keras_elmo.lazy_names import lazy_names as _lazy_names
from keras_elmo.registration import register_classes as _register_classes

if typing.TYPE_CHECKING:
    from keras_elmo.crf import CRF
    from keras_elmo.crf import CRFAccuracy
    from keras_elmo.crf import CRFDecoder
    from keras_elmo.crf import CRFLoss
    from keras_elmo.embedding import ArrowEmbedder
    from keras_elmo.embedding import ElmoEmbedder
    from keras_elmo.layers import BiLMEncoder
    from keras_elmo.layers import CharCNNEmbedding
    from keras_elmo.layers import ElmoLayer
    from keras_elmo.layers import Highway
    from keras_elmo.layers import ProjectedLSTMCell
    from keras_elmo.layers import ScalarMix
    from keras_elmo.layers import TokenEmbedding
    from keras_elmo.models.presets import PRESETS
    from keras_elmo.onnx.export_onnx import export_onnx
    from keras_elmo.ops.backends import set_fast_paths
    from keras_elmo.pretraining.bidirectional_language_model import (
        BidirectionalLanguageModel,
    )
    from keras_elmo.pretraining.language_model_trainer import (
        LanguageModelTrainer,
    )
    from keras_elmo.pretraining.language_model_windows import (
        LanguageModelWindows,
    )
    from keras_elmo.serving.export_saved_model import export_saved_model
    from keras_elmo.tagging.tagger import Tagger
    from keras_elmo.text import WordVectorization
    from keras_elmo.text import batch_to_ids

__version__ = "1.0.0rc2"

__all__ = [
    "CRF",
    "PRESETS",
    "ArrowEmbedder",
    "BiLMEncoder",
    "BidirectionalLanguageModel",
    "CRFAccuracy",
    "CRFDecoder",
    "CRFLoss",
    "CharCNNEmbedding",
    "ElmoEmbedder",
    "ElmoLayer",
    "Highway",
    "LanguageModelTrainer",
    "LanguageModelWindows",
    "ProjectedLSTMCell",
    "ScalarMix",
    "Tagger",
    "TokenEmbedding",
    "WordVectorization",
    "batch_to_ids",
    "export_onnx",
    "export_saved_model",
    "set_fast_paths",
]

_MODULES = {
    "keras_elmo.embedding": ("ArrowEmbedder", "ElmoEmbedder"),
    "keras_elmo.models.presets": ("PRESETS",),
    "keras_elmo.layers": (
        "BiLMEncoder",
        "CharCNNEmbedding",
        "ElmoLayer",
        "Highway",
        "ProjectedLSTMCell",
        "ScalarMix",
        "TokenEmbedding",
    ),
    "keras_elmo.crf": ("CRF", "CRFAccuracy", "CRFDecoder", "CRFLoss"),
    "keras_elmo.onnx.export_onnx": ("export_onnx",),
    "keras_elmo.ops.backends": ("set_fast_paths",),
    "keras_elmo.pretraining.bidirectional_language_model": (
        "BidirectionalLanguageModel",
    ),
    "keras_elmo.pretraining.language_model_trainer": ("LanguageModelTrainer",),
    "keras_elmo.pretraining.language_model_windows": ("LanguageModelWindows",),
    "keras_elmo.serving.export_saved_model": ("export_saved_model",),
    "keras_elmo.tagging.tagger": ("Tagger",),
    "keras_elmo.text": (
        "WordVectorization",
        "batch_to_ids",
    ),
}

__getattr__, __dir__ = _lazy_names(__name__, _MODULES)
_register_classes()
