"""Padded tokens inside a TensorFlow graph. TensorFlow only."""

from collections.abc import Callable

import tensorflow as tf


def split_sentences(sentences: tf.Tensor) -> tf.RaggedTensor:
    """Splits on runs of U+0020 only.

    Args:
        sentences: String tensor `(batch,)`.

    Returns:
        Ragged string tensor `(batch, time)`.
    """
    split = tf.raw_ops.StringSplit(
        input=sentences, delimiter=" ", skip_empty=True
    )
    return tf.RaggedTensor.from_value_rowids(
        split.values, split.indices[:, 0], tf.shape(sentences, tf.int64)[0]
    )


def pad_tokens(tokens: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pads ragged tokens `(batch, time)` with "".

    Returns:
        The padded tokens `(batch, time)` and the number of tokens in each
        sentence, int32 `(batch,)`.
    """
    return tokens.to_tensor(""), tf.cast(tokens.row_lengths(), tf.int32)


def count_tokens(tokens: tf.Tensor) -> tf.Tensor:
    """Number of tokens up to the last one that is not "": int32 `(batch,)`.

    Args:
        tokens: String tensor `(batch, time)`, padded with "".
    """
    place = tf.range(1, tf.shape(tokens)[1] + 1)  # (time,)
    last = tf.reduce_max(tf.where(tokens != "", place, 0), axis=1)
    return tf.maximum(last, 0)  # The maximum of an empty row is negative.


def check_lengths(lengths: tf.Tensor, tokens: tf.Tensor) -> tf.Tensor:
    """Returns `sequence_len`, after checks that run in the graph.

    Args:
        lengths: Integer tensor `(batch,)`.
        tokens: String tensor `(batch, time)`.

    Returns:
        int32 tensor `(batch,)`.
    """
    batch, time = tf.unstack(tf.shape(tokens))
    time = tf.cast(time, lengths.dtype)
    checks = [
        tf.debugging.assert_equal(
            tf.shape(lengths)[0],
            batch,
            "`sequence_len` must have one number per sentence.",
        ),
        tf.debugging.assert_non_negative(
            lengths, "`sequence_len` must not be negative."
        ),
        tf.debugging.assert_less_equal(
            lengths,
            time,
            "`sequence_len` must not be greater than the number of tokens in a "
            "row of `tokens`.",
        ),
    ]
    with tf.control_dependencies([check for check in checks if check]):
        return tf.identity(tf.cast(lengths, tf.int32))


def token_mask(tokens: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """`False` at padding: booleans `(batch, time)`."""
    return tf.sequence_mask(lengths, tf.shape(tokens)[1])


def token_ids(
    tokens: tf.Tensor, lengths: tf.Tensor, ids_in_graph: Callable
) -> tf.Tensor:
    """Ids of padded tokens.

    Args:
        tokens: String tensor `(batch, time)`.
        lengths: int32 tensor `(batch,)`, the number of tokens in each sentence;
            everything after them is padding.
        ids_in_graph: From `n` words, a string tensor `(n,)`, to their ids, an
            int32 tensor `(n, *token_shape)`.

    Returns:
        int32 tensor `(batch, time, *token_shape)`, zero at padding.
    """
    mask = token_mask(tokens, lengths)
    # Leave out padding, which may be a word that cannot be encoded.
    ids = ids_in_graph(tf.boolean_mask(tokens, mask))  # (n, *token_shape)
    token_shape = ids.shape[1:]
    shape = tf.concat([tf.shape(tokens), token_shape], axis=0)
    ids = tf.scatter_nd(tf.where(mask), ids, tf.cast(shape, tf.int64))
    return tf.ensure_shape(ids, [*tokens.shape, *token_shape])
