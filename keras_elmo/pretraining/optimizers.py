"""The optimizer of a training, from its settings."""

import keras


def make_optimizer(settings, total_steps, num_replicas=1):
    """Makes Keras' optimizer.

    Args:
        settings: The `Settings`.
        total_steps: Integer, how many steps the training has.
        num_replicas: Integer. The gradients of a replica are its share of the
            sum over all, and so is the limit of their norm.

    Returns:
        A `keras.optimizers.Optimizer`.
    """
    arguments = {
        "learning_rate": _learning_rate(settings, total_steps),
        "gradient_accumulation_steps": (
            settings.accumulation_steps
            if settings.accumulation_steps > 1
            else None
        ),
        "global_clipnorm": (
            settings.clip_norm and settings.clip_norm / num_replicas
        ),
    }
    if settings.optimizer == "adagrad":
        return keras.optimizers.Adagrad(
            initial_accumulator_value=1.0, epsilon=0.0, **arguments
        )
    return keras.optimizers.Adam(**arguments)


def _learning_rate(settings, total_steps):
    rate, warmup = float(settings.learning_rate), settings.warmup_steps
    if settings.schedule == "cosine":
        return keras.optimizers.schedules.CosineDecay(
            0.0 if warmup else rate,
            max(1, total_steps - warmup),
            warmup_target=rate if warmup else None,
            warmup_steps=warmup,
        )
    if warmup:
        return keras.optimizers.schedules.PolynomialDecay(0.0, warmup, rate)
    return rate
