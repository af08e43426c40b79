from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.word_vectorization import WordVectorization


def vectorization_of(token_encoder):
    """Returns the `WordVectorization` of the words that a token encoder reads.

    It is what the token encoder's method `make_vectorization` returns. Without
    that method, a token encoder of several ids a token is taken to read those
    of `batch_to_ids`.

    Args:
        token_encoder: Layer from one token's ids to its vector.

    Raises:
        ValueError: If the token encoder reads no words.
    """
    make = getattr(token_encoder, "make_vectorization", None)
    if make is not None:
        return make()
    token_shape = getattr(token_encoder, "token_shape", ())
    if len(token_shape) == 1:
        return WordVectorization(ByteSpelling(*token_shape))
    raise ValueError(
        "To take words, a token encoder must say how they become its ids, by a "
        "method `make_vectorization`, as `CharCNNEmbedding` does. "
        f"Received: token_encoder={token_encoder}"
    )
