import keras
from keras import ops


class CountedSeed(keras.random.SeedGenerator):
    """Seeds that depend on a step's number alone.

    Keras' own generator counts in a variable; here the count comes from
    outside, so that a training goes on with the draws it would have had.

    Args:
        seed: Integer, what distinguishes a training from others.
        step: Integer or integer tensor, the number of the step.
    """

    def __init__(self, seed, step):
        # No variable: nothing to call the base class for.
        self._seed = seed
        self._step = step
        self._draws = 0

    def next(self, ordered=True):
        """Returns the seed of the step's next draw."""
        self._draws += 1
        # Far more draws than a step has, and more steps than any training.
        first = (self._seed * 4096 + self._draws) % 2**31
        return ops.stack(
            [ops.cast(first, "int32"), ops.cast(self._step, "int32")]
        )
