"""The outputs of a model that takes the ids of words."""

import keras
from keras import ops

from keras_elmo.checks import check_built
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.ops.padding import output_mask
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.serving.output_names import check_tagged_outputs
from keras_elmo.serving.output_names import named_outputs
from keras_elmo.serving.output_names import tag_names_of
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.word_vectorization import WordVectorization


class ModelOutputs:
    """Function from character ids to the named outputs of a Keras model.

    Args:
        model: A Keras model with one input, character ids `(batch, time,
            chars)` or those of another token encoder, `(batch, time,
            *token_shape)`.
        tag_names: As for `export_saved_model`.

    Raises:
        ValueError: If the model takes anything else, or is not built.
    """

    returns_tokens = True
    """Whether sentences are returned with their words, as `tokens`"""

    def __init__(self, model, tag_names=None):
        self._model = model
        check_built(model)
        inputs = getattr(model, "inputs", None)
        if inputs is None:  # A subclassed model has no known shapes.
            shape, dtype = (None, None, ...), "int32"
        elif len(inputs) == 1:
            shape, dtype = inputs[0].shape, inputs[0].dtype
        else:
            self._fail(f"{len(inputs)} inputs")
        if len(shape) not in (2, 3) or dtype not in ("int32", "int64"):
            self._fail(f"an input of shape={tuple(shape)}, dtype={dtype}")
        if shape[1] is not None:
            raise ValueError(
                "The model must allow any number of words: create it with an "
                "input of shape (None, chars). "
                f"Received: an input of shape={tuple(shape)}"
            )
        self._dtype = dtype
        found = {
            (x.add_sentence_boundaries, x.keep_sentence_boundaries)
            for x in sublayers(model)
            if isinstance(x, ElmoLayer)
        }
        if len(found) > 1:
            self._fail(
                "layers that add or keep sentence boundaries and others that "
                "do not"
            )
        # Whether ELMo adds and keeps sentence boundaries.
        self.boundaries = found.pop() if found else ()
        self.vectorization = self._vectorization_of_ids(tuple(shape[2:]))
        # By the name of their output.
        self.tag_names = tag_names_of(named_outputs(model), tag_names)

    def __call__(self, ids):
        """Returns a dictionary of the model's outputs and predicted names.

        Args:
            ids: int32 tensor `(batch, time, *token_shape)`.
        """
        # Some layers, such as Keras' LSTM, cannot run on zero columns, so add
        # columns of padding. ELMo may remove two of them as boundaries.
        least = 3 if self.boundaries == (False, False) else 1
        num_added = ops.maximum(least - ops.shape(ids)[1], 0)
        others = [(0, 0)] * (len(ids.shape) - 2)
        inputs = ops.pad(ids, [(0, 0), (0, num_added), *others])
        inputs = ops.cast(inputs, self._dtype)
        structure = getattr(self._model, "input", None)
        if structure is not None:  # It may be a list or a dictionary.
            inputs = keras.tree.pack_sequence_as(structure, [inputs])
        outputs = named_outputs(self._model, self._model(inputs))
        outputs = {
            name: _without_columns(_in_full_precision(x), num_added)
            for name, x in outputs.items()
        }
        check_tagged_outputs(self.tag_names, outputs)
        mask = self._output_mask(ids)
        labels = {
            f"{name}_labels": _look_up(names, outputs[name], mask)
            for name, names in self.tag_names.items()
        }
        taken = outputs.keys() & {"tokens", *labels}
        if taken:
            raise ValueError(
                "An output of the model has the name of an output that the "
                f"export adds: rename it. Received: outputs {sorted(taken)}"
            )
        return outputs | labels

    def _output_mask(self, ids):
        """`False` at padding: (batch, output time)."""
        mask = ops.any(ids != 0, axis=list(range(2, len(ids.shape))))
        if not self.boundaries:
            return mask
        return output_mask(mask, *self.boundaries)

    def _vectorization_of_ids(self, token_shape):
        """The vectorization of the token encoders that take this shape of ids.

        Sizes may be unknown (`None`), and so may the shape, `(...,)`: then all
        token encoders must take the same ids.
        """
        readers = [
            x
            for x in sublayers(self._model)
            if hasattr(x, "make_vectorization")
        ]
        parts = {id(part) for x in readers for part in sublayers(x)}
        found = [x.make_vectorization() for x in readers if id(x) not in parts]
        if not {None, ...}.intersection(token_shape):
            found = [v for v in found if v.indexer.token_shape == token_shape]
            if not found and len(token_shape) == 1:
                return WordVectorization(ByteIndexer(*token_shape))
        if not found:
            self._fail(
                f"an input of shape={(None, None, *token_shape)}, "
                f"dtype={self._dtype}, and no token encoder that defines the "
                "words of these ids"
            )
        indexers = [(type(v.indexer), v.indexer.get_config()) for v in found]
        if any(indexer != indexers[0] for indexer in indexers):
            self._fail("token encoders with different ids for words")
        return found[0]

    def _fail(self, received):
        raise ValueError(
            "The model must have one input, character ids of shape (batch, "
            "time, chars), such as "
            '`keras.Input((None, 50), dtype="int32")`, or the ids of another '
            "token encoder. "
            f"Received: model '{self._model.name}' with {received}"
        )


def _without_columns(x, number):
    """Removes the last columns from an output `(batch, time, ...)`."""
    if len(x.shape) < 2 or x.shape[1] is not None:
        return x
    return x[:, : ops.maximum(ops.shape(x)[1] - number, 0)]


def _in_full_precision(x):
    # Clients and JSON do not support bfloat16.
    is_float = keras.backend.is_float_dtype(x.dtype)
    return ops.cast(x, "float32") if is_float else x


def _look_up(names, output, mask):
    """The labels in an output: strings, "" where `mask` is not."""
    import tensorflow as tf

    index = tf.argmax(output, axis=-1) if output.dtype.is_floating else output
    if len(index.shape) == 1:
        return tf.gather(names, index)  # (batch,)
    # The values at padding need not be valid tags.
    found = tf.gather(names, tf.where(mask, index, 0))
    return tf.where(mask, found, "")  # (batch, time)
