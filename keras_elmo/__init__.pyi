# The one list of the public names: `__init__.py` reads it.
from keras_elmo.crf import CRF as CRF
from keras_elmo.crf import CRFAccuracy as CRFAccuracy
from keras_elmo.crf import CRFDecoder as CRFDecoder
from keras_elmo.crf import CRFLoss as CRFLoss
from keras_elmo.embedding.arrow_embedder import ArrowEmbedder as ArrowEmbedder
from keras_elmo.embedding.elmo_embedder import ElmoEmbedder as ElmoEmbedder
from keras_elmo.layers import BiLMEncoder as BiLMEncoder
from keras_elmo.layers import CharCNNEmbedding as CharCNNEmbedding
from keras_elmo.layers import ElmoLayer as ElmoLayer
from keras_elmo.layers import Highway as Highway
from keras_elmo.layers import ProjectedLSTMCell as ProjectedLSTMCell
from keras_elmo.layers import ScalarMix as ScalarMix
from keras_elmo.models.presets import PRESETS as PRESETS
from keras_elmo.onnx.export_onnx import export_onnx as export_onnx
from keras_elmo.pretraining.bidirectional_language_model import (
    BidirectionalLanguageModel as BidirectionalLanguageModel,
)
from keras_elmo.pretraining.language_model_trainer import (
    LanguageModelTrainer as LanguageModelTrainer,
)
from keras_elmo.pretraining.language_model_windows import (
    LanguageModelWindows as LanguageModelWindows,
)
from keras_elmo.serving.export_saved_model import (
    export_saved_model as export_saved_model,
)
from keras_elmo.tagging.tagger import Tagger as Tagger
from keras_elmo.text import WordVectorization as WordVectorization
from keras_elmo.text import batch_to_ids as batch_to_ids

__version__: str
