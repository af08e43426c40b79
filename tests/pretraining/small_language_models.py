"""Small language models with random weights, and their outputs in NumPy."""

import numpy as np
import numpy_reference
from keras import ops
from small_models import CNN
from small_models import LSTM
from small_models import file_arrays
from small_models import oracle_arguments
from small_models import randomize

from keras_elmo import BidirectionalLanguageModel
from keras_elmo import BiLMEncoder
from keras_elmo import CharCNNEmbedding
from keras_elmo import batch_to_ids

WORDS = 20
CHARACTERS = CNN["max_characters_per_token"]
TEXT = ["the", "cat", "sat", "on", "a", "mat", "and", "ran", "away", "from"]


def make_model(lstm=(), **kwargs):
    """Returns a model whose weights are large enough to matter."""
    model = make_new_model(lstm, **kwargs)
    model.build()
    randomize(model)
    return model


def make_new_model(lstm=(), words=WORDS, **kwargs):
    """Returns a model that is not built."""
    lstm = {**LSTM, **dict(lstm)}
    dtype = kwargs.get("dtype")
    dim = lstm["projection_dim"] or lstm["units"]
    cnn = {**CNN, "projection_dim": dim}
    token_encoder = CharCNNEmbedding(**cnn, dtype=dtype)
    return BidirectionalLanguageModel(
        words, token_encoder, BiLMEncoder(**lstm, dtype=dtype), **kwargs
    )


def make_ids(batch=2, time=3):
    """Returns ids of distinct words for both directions, and their targets."""
    generator = np.random.default_rng(2)
    ids, targets = [], []
    for _ in range(2):
        words = generator.choice(TEXT, (batch, time)).tolist()
        ids.append(batch_to_ids(words, CHARACTERS))
        words = generator.integers(0, WORDS, (batch, time))
        targets.append(words.astype("int32"))
    return ids, targets


def arrays_and_options(model):
    """Returns the weights by biLM key, and the encoder's options."""
    encoder = model.encoder
    names = ("num_layers", "cell_clip", "proj_clip", "use_skip_connections")
    options = {name: getattr(encoder, name) for name in names}
    return file_arrays(model), options


def token_vectors(model, ids):
    """Maps the ids of one row to its token vectors (time, dim)."""
    arrays = file_arrays(model)
    cnn = oracle_arguments(model)["cnn"]
    return np.array(
        [numpy_reference.encode_token(word, arrays, **cnn) for word in ids]
    )


def oracle_hidden(model, ids, direction, state=None):
    """Maps the ids of one row to its top layer (time, dim) and last state.

    Both are in the order of reading.
    """
    arrays, options = arrays_and_options(model)
    vectors = token_vectors(model, ids)
    if direction:  # The reference reads a sentence from its end.
        vectors = vectors[::-1]
    layers, state = numpy_reference.lstm_stack(
        vectors, arrays, direction, options, state
    )
    return (layers[-1][::-1] if direction else layers[-1]), state


def oracle_logits(model, hidden):
    """Maps vectors (..., dim) to logits (..., words), in float64."""
    softmax = model.softmax
    return hidden @ _float64(softmax.kernel).T + _float64(softmax.bias)


def oracle_losses(logits, targets):
    """Maps logits (..., words) and words (...) to losses (...)."""
    logits = logits - logits.max(axis=-1, keepdims=True)
    log_sum = np.log(np.exp(logits).sum(axis=-1))
    true = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return log_sum - true


def _float64(variable):
    return ops.convert_to_numpy(variable).astype("float64")
