"""Makes a training's optimizer from its settings. TensorFlow only."""

import keras
import tensorflow as tf


def make_optimizer(settings, total_steps):
    """Makes a Keras optimizer.

    Args:
        settings: The `Settings`.
        total_steps: Integer, the number of steps of the training.

    Returns:
        A `keras.optimizers.Optimizer`.
    """
    accumulates = settings.accumulation_steps > 1
    arguments = {
        "learning_rate": _learning_rate(settings, total_steps),
        "gradient_accumulation_steps": (
            settings.accumulation_steps if accumulates else None
        ),
        # `TrainingStep` clips the gradients of single windows, which keeps
        # sparse ones sparse; Keras clips averages over several windows.
        "global_clipnorm": settings.clip_norm if accumulates else None,
    }
    if settings.optimizer == "adagrad":
        return SparseAdagrad(
            initial_accumulator_value=1.0, epsilon=0.0, **arguments
        )
    return FusedAdam(**arguments)


class FusedAdam(keras.optimizers.Adam):
    """Keras' Adam, with one operation per variable update.

    The results are the same up to rounding. Keras uses a dozen operations, each
    of which reads and writes the whole variable. For the softmax of a large
    vocabulary, this takes an eighth of a training step.
    """

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._moments = _slots(self, variables, 2)

    def update_step(self, gradient, variable, learning_rate):
        first, second = self._moments[variable.ref()]
        dtype = variable.dtype
        step = tf.cast(tf.convert_to_tensor(self.iterations), dtype) + 1
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=tf.pow(tf.cast(self.beta_1, dtype), step),
            beta2_power=tf.pow(tf.cast(self.beta_2, dtype), step),
            lr=tf.cast(learning_rate, dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.convert_to_tensor(gradient),
        )


class SparseAdagrad(keras.optimizers.Adagrad):
    """Keras' Adagrad, which updates only the rows in a sparse gradient.

    The results are the same. Keras computes the square root of all rows, which
    for the softmax of a large vocabulary takes most of a training step.
    """

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._sums = _slots(self, variables, 1)

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        rows, values = gradient.indices, gradient.values
        (sums,) = self._sums[variable.ref()]
        new = tf.gather(sums, rows) + tf.square(values)
        sums.scatter_update(tf.IndexedSlices(new, rows))
        rate = tf.cast(learning_rate, values.dtype)
        change = rate * values / tf.sqrt(new + self.epsilon)
        variable.scatter_sub(tf.IndexedSlices(change, rows))


def _slots(optimizer, variables, number):
    """Maps the reference of each variable to the optimizer's slots for it.

    Args:
        optimizer: A built Keras optimizer.
        variables: The variables that it was built for.
        number: Integer, the number of slots per variable.
    """
    parts_of = tf.distribute.get_strategy().experimental_local_results
    # Slots come last; each replica updates its own copy of them.
    own = optimizer.variables[-number * len(variables) :]
    return {
        part.ref(): slots
        for i, variable in enumerate(variables)
        for part, *slots in zip(
            *(
                parts_of(x.value)
                for x in (variable, *own[number * i : number * (i + 1)])
            )
        )
    }


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
