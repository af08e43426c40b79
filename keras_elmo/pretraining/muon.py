"""The optimizer Muon, for the matrices of a language model.

Muon makes the singular values of each update equal, so that rare directions of
a matrix are learned as fast as frequent ones (Jordan et al., 2024,
https://kellerjordan.github.io/posts/muon). Keras' own `Muon` is not used: it
scales updates in another way, its weights decay by default, and it leaves out
all variables of a `char_cnn_embedding` because of their name.
"""

import keras
from keras import ops

from keras_elmo.ops.backends import backend

_MOMENTUM = 0.95
# The root mean square of an update at a learning rate of 1. Adam's is of this
# size, too, so both can have the same rate (https://arxiv.org/abs/2502.16982).
_UPDATE_SIZE = 0.2
# The cost grows with the square of a block's rows.
_BLOCK_ROWS = 128
# Of polynomials `a x + b x^3 + c x^5` that, one after the other, take every
# number from 0.001 to 1 towards 1 as fast as possible: Amsel et al., 2025,
# https://arxiv.org/abs/2505.16932. The factor keeps rounding errors bounded.
_SAFETY = 1.01
_POLYNOMIALS = (
    (8.28721, -23.59589, 17.30039),
    (4.10706, -2.94785, 0.54484),
    (3.94869, -2.90890, 0.55182),
    (3.31842, -2.48849, 0.51005),
    (2.30065, -1.66890, 0.41881),
)


def with_muon(adam):
    """Returns a class of optimizers: Muon for matrices, Adam for the rest.

    ```
    m = 0.95 * m + gradient
    update = orthogonal(gradient + 0.95 * m)
    kernel -= learning_rate * 0.2 * update / root_mean_square(update)
    ```

    Matrices are those of `takes_muon`. Adam's first moments hold `m`.

    Args:
        adam: The class `keras.optimizers.Adam`, or one derived from it.
    """

    class Muon(adam):
        def build(self, variables):
            if self.built:
                return
            super().build(variables)
            # Adam has two slots per variable, which come last.
            first_moments = self.variables[-2 * len(variables) :: 2]
            self._momentums_of = {
                _key(variable): moment
                for variable, moment in zip(variables, first_moments)
                if takes_muon(variable)
            }

        def update_step(self, gradient, variable, learning_rate):
            momentum = self._momentums_of.get(_key(variable))
            if momentum is None:
                super().update_step(gradient, variable, learning_rate)
                return
            new = _MOMENTUM * momentum + gradient
            self.assign(momentum, new)
            # GPUs round the factors to TF32, with which trainings diverge.
            with backend().exact_products():
                update = orthogonal(gradient + _MOMENTUM * new)
            self.assign_sub(variable, learning_rate * _UPDATE_SIZE * update)

    return Muon


def takes_muon(variable):
    """Whether a variable is a matrix, except for tables and convolutions.

    In tables, such as the softmax and the characters' embeddings, each row has
    a gradient of its own.
    """
    is_kernel = variable.path.endswith("kernel")
    is_kernel = is_kernel and not variable.path.endswith("softmax/kernel")
    return is_kernel and len(variable.shape) == 2


def orthogonal(x):
    """Makes the singular values of each block of a matrix about equal.

    Args:
        x: Tensor `(rows, columns)`. Its shorter side is divided into blocks of
            128, if it is a multiple of that.

    Returns:
        Tensor `(rows, columns)`, with a root mean square of about 1.
    """
    is_tall, dtype = x.shape[0] >= x.shape[1], x.dtype
    x = ops.transpose(x) if is_tall else x
    rows, columns = x.shape
    blocks = rows // _BLOCK_ROWS if rows % _BLOCK_ROWS == 0 else 1
    x = ops.reshape(ops.cast(x, "float32"), (blocks, rows // blocks, columns))
    size = ops.sqrt(ops.sum(ops.square(x), axis=(1, 2), keepdims=True))
    x = x / (_SAFETY * size + 1e-7)
    # Each polynomial is a matrix times `x`, and these matrices are polynomials
    # of `gram`, which is smaller than `x`.
    gram = ops.matmul(x, ops.transpose(x, (0, 2, 1)))  # (blocks, rows, rows)
    product = one = ops.eye(rows // blocks)
    for a, b, c in _POLYNOMIALS:
        factor = b / _SAFETY**3 * gram + c / _SAFETY**5 * ops.matmul(gram, gram)
        factor = a / _SAFETY * one + factor
        product = ops.matmul(factor, product)
        gram = ops.matmul(factor, ops.matmul(factor, gram))
    x = ops.reshape(ops.matmul(product, x), (rows, columns)) * columns**0.5
    return ops.cast(ops.transpose(x) if is_tall else x, dtype)


def _key(variable):
    """Identifies a variable, or what `update_step` gets for it."""
    if isinstance(variable, keras.Variable) and backend().has_sparse_gradients:
        variable = variable.value  # TensorFlow's own variable.
    return id(variable)
