"""The signatures of a SavedModel. TensorFlow only."""

import tensorflow as tf


class Endpoints:
    """Functions from strings or ids to named tensors.

    Args:
        outputs: `ElmoOutputs` or `ModelOutputs`: function from ids, int32
            `(batch, time, *token_shape)`, to a dictionary of tensors.
    """

    def __init__(self, outputs):
        self._vectorization = outputs.vectorization
        self._returns_tokens = outputs.returns_tokens
        token_shape = self._vectorization.indexer.token_shape
        self._ids = tf.TensorSpec((None, None, *token_shape), tf.int32, "ids")
        # One graph that all signatures call.
        self._outputs = tf.function(
            outputs, input_signature=[self._ids], autograph=False
        )

    def __getitem__(self, name):
        """Returns the function of a signature, and the list of its inputs."""
        strings = tf.TensorSpec((None,), tf.string, "strings")
        tokens = tf.TensorSpec((None, None), tf.string, "tokens")
        lengths = tf.TensorSpec((None,), tf.int32, "sequence_len")
        return {
            "default": (self._default, [strings]),
            "tokens": (self._tokens, [tokens, lengths]),
            "character_ids": (self._character_ids, [self._ids]),
        }[name]

    def _default(self, strings):
        # A server passes on whatever it receives: check shapes at run time.
        strings = tf.ensure_shape(strings, (None,))
        words = tf.strings.split(strings)
        answer = dict(self._outputs(self._vectorization(words)))
        if self._returns_tokens:
            answer["tokens"] = words.to_tensor("")
        return answer

    def _tokens(self, tokens, sequence_len):
        tokens = tf.ensure_shape(tokens, (None, None))
        sequence_len = tf.ensure_shape(sequence_len, (None,))
        ids = self._vectorization(tokens, sequence_len=sequence_len)
        return self._outputs(ids)

    def _character_ids(self, ids):
        ids = tf.ensure_shape(ids, self._ids.shape)
        # A server that merges requests into batches pads shorter ones with
        # their own first number, the begin-of-word mark.
        begin_id = self._vectorization.indexer.begin_id
        if begin_id is None:
            return self._outputs(ids)
        is_padding = tf.reduce_all(ids == begin_id, axis=-1, keepdims=True)
        return self._outputs(tf.where(is_padding, 0, ids))
