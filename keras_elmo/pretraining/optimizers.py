"""Makes a training's optimizer from its settings."""

import keras

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
    kind = with_muon(optimizers.Adam) if has_muon else optimizers.Adam
    return kind(rate, global_clipnorm=norm)


def _learning_rate(settings, total_steps):
    rate, warmup = float(settings.learning_rate), settings.warmup_steps
    if settings.learning_rate_schedule == "cosine":
        return keras.optimizers.schedules.CosineDecay(
            0.0 if warmup else rate,
            max(1, total_steps - warmup),
            warmup_target=rate if warmup else None,
            warmup_steps=warmup,
        )
    if warmup:
        return keras.optimizers.schedules.PolynomialDecay(0.0, warmup, rate)
    return rate
