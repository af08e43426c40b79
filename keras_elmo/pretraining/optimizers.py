"""Makes a training's optimizer from its settings."""

import keras
from keras import ops

from keras_elmo.ops.backends import backend
from keras_elmo.pretraining.muon import with_muon


def make_optimizer(settings, total_steps):
    """Makes a Keras optimizer.

    Args:
        settings: The `Settings`.
        total_steps: Integer, the number of steps of the training.

    Returns:
        A `keras.optimizers.Optimizer`.
    """
    optimizers = keras.optimizers
    if backend().has_sparse_gradients:
        from keras_elmo.pretraining import tensorflow_optimizers as optimizers

    rate, norm = _learning_rate(settings, total_steps), settings.clip_norm
    if settings.optimizer == "adagrad":
        return optimizers.Adagrad(rate, 1.0, 0.0, global_clipnorm=norm)
    has_muon = settings.optimizer == "muon"
    cls = with_muon(optimizers.Adam) if has_muon else optimizers.Adam
    return cls(rate, global_clipnorm=norm)


def _learning_rate(settings, total_steps):
    rate, warmup = float(settings.learning_rate), settings.warmup_steps
    if settings.learning_rate_schedule == "linear":
        return LinearDecay(rate, warmup, total_steps)
    if warmup:
        return keras.optimizers.schedules.PolynomialDecay(0.0, warmup, rate)
    return rate


class LinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 in `warmup_steps`, then falls to 0 at `total_steps`."""

    def __init__(self, learning_rate, warmup_steps, total_steps):
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step):
        step = ops.cast(step, "float32")
        rising = step / self.warmup_steps if self.warmup_steps else 1.0
        left = ops.maximum(0.0, self.total_steps - step)
        falling = left / max(1, self.total_steps - self.warmup_steps)
        return self.learning_rate * ops.minimum(rising, falling)

    def get_config(self):
        return dict(vars(self))
