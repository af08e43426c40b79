import keras
from keras import ops

# PyTorch seeds itself with the sum of the two numbers: with steps that far
# apart, the draws of one step are not those of its neighbours in another order.
_STEP = 1_640_531_535


class CountedSeed(keras.random.SeedGenerator):
    """Seeds that depend on a step's number alone.

    Keras' own generator counts in a variable; here the count comes from
    outside, so that a training goes on with the draws it would have had.

    Args:
        seed: Integer, what distinguishes a training from others.
        step: Integer or integer tensor, the number of the step.
    """

    def __init__(self, seed, step):
        # No variable: nothing to call the base class for. What Keras looks at
        # has the name it has there.
        self._initial_seed = seed
        self._step = step
        self._draws = 0

    def next(self, ordered=True):
        """Returns the seed of the step's next draw."""
        self._draws += 1
        # Far more draws than a step has, and more steps than any training.
        first = (self._initial_seed * 4096 + self._draws) % 2**31
        # Beyond 31 bits it wraps around; as the factor is odd, no step is lost.
        second = ops.cast(self._step, "int32") * _STEP
        seed = ops.stack([ops.cast(first, "int32"), second])
        return ops.cast(seed, "uint32") if _is_jax() else seed


def _is_jax():
    return keras.backend.backend() == "jax"
