"""CRF layers with the weights of a `Chain`."""

from keras_elmo import CRF

BIO = ["O", "B-X", "I-X"]
# Right padding, and no token at all.
MASK = [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


def layer_of(chain, **kwargs):
    num_tags = len(chain.start)
    layer = CRF(num_tags, **kwargs)
    layer.build((None, None, num_tags))
    layer.set_weights([chain.transitions, chain.start, chain.end])
    return layer


def scores_of(chain, **kwargs):
    return layer_of(chain, **kwargs)(chain.potentials, mask=chain.mask)
