"""SavedModels that take strings, for TensorFlow Serving and similar servers."""

from keras_elmo.serving.export_saved_model import export_saved_model

__all__ = ["export_saved_model"]
