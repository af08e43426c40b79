"""Padded tokens inside a TensorFlow graph. TensorFlow only."""

from collections.abc import Callable

import tensorflow as tf


def pad_tokens(
    tokens: tf.Tensor | tf.RaggedTensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Pads tokens with "" if they are ragged, and counts them.

    Args:
        tokens: Strings `(batch, time)`.

    Returns:
        The tokens `(batch, time)`, and the number of tokens in each sentence,
        int32 `(batch,)`: up to the last one that is not "".
    """
    if isinstance(tokens, tf.RaggedTensor):
        return tokens.to_tensor(""), tf.cast(tokens.row_lengths(), tf.int32)
    position = tf.range(1, tf.shape(tokens)[1] + 1)  # (time,)
    last = tf.reduce_max(tf.where(tokens != "", position, 0), axis=1)
    return tokens, tf.maximum(last, 0)  # The maximum of an empty row is < 0.


def check_words(tokens: tf.Tensor, is_sentence: bool) -> tf.Tensor:
    """Returns tokens, unless they could be sentences.

    Args:
        tokens: Strings `(batch, time)`.
        is_sentence: Boolean, whether they were given as `(time,)`.
    """
    if not is_sentence and tokens.shape[1] not in (None, 1):
        return tokens
    strings = tf.reshape(tokens if is_sentence else tokens[:, :1], [-1])
    is_several = tf.strings.split(strings).row_lengths() > 1
    is_list = is_sentence or tf.shape(tokens)[1] == 1
    return check_in_graph(
        ~(is_list & tf.reduce_any(is_several)),
        # TensorFlow puts backslashes before quotes.
        "Strings of shape (batch,) or (batch, 1) with white space in them may "
        "be sentences or words: set `split` of WordVectorization to whitespace "
        "for sentences, or pass `sequence_len` with words. Received:",
        strings,
        tokens,
    )


def check_lengths(lengths: tf.Tensor, tokens: tf.Tensor) -> tf.Tensor:
    """Returns `sequence_len`, after checks that run in the graph.

    Args:
        lengths: Integer tensor `(batch,)`.
        tokens: String tensor `(batch, time)`.

    Returns:
        int32 tensor `(batch,)`.
    """
    batch, time = tf.unstack(tf.shape(tokens))
    is_right = (lengths >= 0) & (lengths <= tf.cast(time, lengths.dtype))
    return check_in_graph(
        (tf.shape(lengths)[0] == batch) & tf.reduce_all(is_right),
        "`sequence_len` must have one number per sentence, none negative or "
        "greater than the number of words in a row. Received:",
        lengths,
        tf.cast(lengths, tf.int32),
    )


def check_in_graph(
    condition: tf.Tensor, message: str, received: tf.Tensor, tensor: tf.Tensor
) -> tf.Tensor:
    """Returns `tensor`, or raises `InvalidArgumentError` with `received`."""
    check = tf.debugging.Assert(condition, [message, received])
    # In eager mode, `Assert` returns no operation.
    with tf.control_dependencies([check] if check is not None else []):
        return tf.identity(tensor)


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
    mask = tf.sequence_mask(lengths, tf.shape(tokens)[1])  # (batch, time)
    # Leave out padding, which may be a word that cannot be encoded.
    ids = ids_in_graph(tf.boolean_mask(tokens, mask))  # (n, *token_shape)
    token_shape = ids.shape[1:]
    shape = tf.concat([tf.shape(tokens), token_shape], axis=0)
    ids = tf.scatter_nd(tf.where(mask), ids, tf.cast(shape, tf.int64))
    return tf.ensure_shape(ids, [*tokens.shape, *token_shape])
