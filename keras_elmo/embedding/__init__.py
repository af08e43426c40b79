"""Fast embedding of corpora."""

import typing

from keras_elmo.lazy_names import lazy_names as _lazy_names

if typing.TYPE_CHECKING:
    from keras_elmo.embedding.arrow_embedder import ArrowEmbedder
    from keras_elmo.embedding.elmo_embedder import ElmoEmbedder

__all__ = ["ArrowEmbedder", "ElmoEmbedder"]

_MODULES = {
    "keras_elmo.embedding.arrow_embedder": ("ArrowEmbedder",),
    "keras_elmo.embedding.elmo_embedder": ("ElmoEmbedder",),
}

__getattr__, __dir__ = _lazy_names(__name__, _MODULES)
