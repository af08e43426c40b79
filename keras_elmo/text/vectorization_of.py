from keras_elmo.text.byte_spelling import ByteSpelling
from keras_elmo.text.word_vectorization import WordVectorization


def vectorization_of(token_encoder):
    """Returns the `WordVectorization` for a token encoder.

    It calls the token encoder's method `make_vectorization`. Without that
    method, a token encoder with several ids per token is assumed to take the
    ids of `batch_to_ids`.

    Args:
        token_encoder: Layer that encodes a token's ids as a vector.

    Raises:
        ValueError: If the token encoder does not accept words.
    """
    make = getattr(token_encoder, "make_vectorization", None)
    if make is not None:
        return make()
    token_shape = getattr(token_encoder, "token_shape", ())
    if len(token_shape) == 1:
        return WordVectorization(ByteSpelling(*token_shape))
    raise ValueError(
        "To accept words, a token encoder must have a method "
        "`make_vectorization` that returns a layer from words to ids, as in "
        f"`CharCNNEmbedding`. Received: token_encoder={token_encoder}"
    )
