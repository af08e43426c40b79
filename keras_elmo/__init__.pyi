# The one list of the public names: `__init__.py` reads it.
from keras_elmo.crf.crf import CRF as CRF
from keras_elmo.crf.crf_decoder import CRFDecoder as CRFDecoder
from keras_elmo.crf.loss_and_accuracy import CRFAccuracy as CRFAccuracy
from keras_elmo.crf.loss_and_accuracy import CRFLoss as CRFLoss
from keras_elmo.embedding.arrow_embedder import ArrowEmbedder as ArrowEmbedder
from keras_elmo.embedding.elmo_embedder import ElmoEmbedder as ElmoEmbedder
from keras_elmo.layers.bilm_encoder import BiLMEncoder as BiLMEncoder
from keras_elmo.layers.char_cnn_embedding import (
    CharCNNEmbedding as CharCNNEmbedding,
)
from keras_elmo.layers.elmo_layer import ElmoLayer as ElmoLayer
from keras_elmo.layers.highway import Highway as Highway
from keras_elmo.layers.projected_lstm_cell import (
    ProjectedLSTMCell as ProjectedLSTMCell,
)
from keras_elmo.layers.scalar_mix import ScalarMix as ScalarMix
from keras_elmo.layers.sentence_pooling import (
    SentencePooling as SentencePooling,
)
from keras_elmo.layers.word_vectorization import (
    WordVectorization as WordVectorization,
)
from keras_elmo.layers.word_vectors import WordVectors as WordVectors
from keras_elmo.models.presets import PRESETS as PRESETS
from keras_elmo.onnx.export_onnx import export_onnx as export_onnx
from keras_elmo.pretraining.bidirectional_language_model import (
    BidirectionalLanguageModel as BidirectionalLanguageModel,
)
from keras_elmo.serving.export_saved_model import (
    export_saved_model as export_saved_model,
)
from keras_elmo.tagging.label_checks import check_labels as check_labels
from keras_elmo.tagging.tagger import Tagger as Tagger
from keras_elmo.text.byte_indexer import batch_to_ids as batch_to_ids

__version__: str
