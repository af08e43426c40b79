"""SavedModels that take strings, for TensorFlow Serving and similar servers."""
