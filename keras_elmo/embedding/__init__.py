"""Embedding corpora: sentences in, vectors out, in order and at full speed."""

from keras_elmo.embedding.elmo_embedder import ElmoEmbedder

__all__ = ["ElmoEmbedder"]
