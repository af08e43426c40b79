"""The optimizer of a training, from its settings. TensorFlow only."""

import keras
import tensorflow as tf


def make_optimizer(settings, total_steps):
    """Makes Keras' optimizer.

    Args:
        settings: The `Settings`.
        total_steps: Integer, how many steps the training has.

    Returns:
        A `keras.optimizers.Optimizer`.
    """
    accumulates = settings.accumulation_steps > 1
    arguments = {
        "learning_rate": _learning_rate(settings, total_steps),
        "gradient_accumulation_steps": (
            settings.accumulation_steps if accumulates else None
        ),
        # `TrainingStep` clips where it can, and keeps sparse gradients sparse;
        # Keras clips averages over several windows.
        "global_clipnorm": settings.clip_norm if accumulates else None,
    }
    if settings.optimizer == "adagrad":
        return SparseAdagrad(
            initial_accumulator_value=1.0, epsilon=0.0, **arguments
        )
    return keras.optimizers.Adam(**arguments)


class SparseAdagrad(keras.optimizers.Adagrad):
    """Keras' Adagrad; of a sparse gradient, only the rows that it has.

    The numbers are the same. Keras takes the root of all rows, which for the
    softmax of a large vocabulary is most of a step.
    """

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        parts_of = tf.distribute.get_strategy().experimental_local_results
        # Keras' own come last; a replica updates its own part of each.
        own = self.variables[-len(variables) :]
        self._sums = {
            part.ref(): sums
            for variable, accumulator in zip(variables, own)
            for part, sums in zip(
                parts_of(variable.value), parts_of(accumulator.value)
            )
        }

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        rows, values = gradient.indices, gradient.values
        sums = self._sums[variable.ref()]
        new = tf.gather(sums, rows) + tf.square(values)
        sums.scatter_update(tf.IndexedSlices(new, rows))
        rate = tf.cast(learning_rate, values.dtype)
        change = rate * values / tf.sqrt(new + self.epsilon)
        variable.scatter_sub(tf.IndexedSlices(change, rows))


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
