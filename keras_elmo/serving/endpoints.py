"""The signatures of a SavedModel. TensorFlow only."""

import tensorflow as tf


def make_endpoints(outputs):
    """Returns functions from strings or ids to named tensors.

    Args:
        outputs: `ElmoOutputs` or `ModelOutputs`: function from ids, int32
            `(batch, time, *token_shape)`, to a dictionary of tensors.

    Returns:
        Dictionary from the names of signatures to pairs: the function, and the
        list of its inputs.
    """
    vectorization = outputs.vectorization
    indexer = vectorization.indexer
    all_ids = tf.TensorSpec((None, None, *indexer.token_shape), tf.int32, "ids")
    # One graph that all signatures call.
    call = tf.function(outputs, input_signature=[all_ids], autograph=False)

    def default(strings):
        # A server passes on whatever it receives: check shapes at run time.
        strings = tf.ensure_shape(strings, (None,))
        words = tf.strings.split(strings)
        answer = dict(call(vectorization(words)))
        if outputs.returns_tokens:
            answer["tokens"] = words.to_tensor("")
        return answer

    def tokens(tokens, sequence_len):
        tokens = tf.ensure_shape(tokens, (None, None))
        sequence_len = tf.ensure_shape(sequence_len, (None,))
        return call(vectorization(tokens, sequence_len=sequence_len))

    def character_ids(ids):
        ids = tf.ensure_shape(ids, all_ids.shape)
        # A server that merges requests into batches pads shorter ones with
        # their own first number, the begin-of-word mark.
        if indexer.begin_id is not None:
            is_padding = ids == indexer.begin_id
            is_padding = tf.reduce_all(is_padding, axis=-1, keepdims=True)
            ids = tf.where(is_padding, 0, ids)
        return call(ids)

    strings = tf.TensorSpec((None,), tf.string, "strings")
    words = tf.TensorSpec((None, None), tf.string, "tokens")
    lengths = tf.TensorSpec((None,), tf.int32, "sequence_len")
    return {
        "default": (default, [strings]),
        "tokens": (tokens, [words, lengths]),
        "character_ids": (character_ids, [all_ids]),
    }
