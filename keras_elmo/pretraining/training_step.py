"""One step of a training, on one device or several. TensorFlow only."""

import keras
import tensorflow as tf

# More than the draws of a step, so that no two steps or replicas share a draw.
_DRAWS = 64


class TrainingStep:
    """Runs a model on a window and updates it.

    Args:
        model: A built `BidirectionalLanguageModel`.
        optimizer: A built Keras optimizer, made for as many replicas as
            `strategy` has.
        settings: The `Settings`.
        strategy: The `tf.distribute.Strategy` in whose scope both were made.
    """

    def __init__(self, model, optimizer, settings, strategy):
        self._model = model
        self._optimizer = optimizer
        self._settings = settings
        self._strategy = strategy
        self._rows = settings.batch_size
        self._seed = keras.random.SeedGenerator(settings.seed % 2**31)
        self._run = tf.function(self._run_replicas, autograph=False)
        self._gather = tf.function(self._gather_rows, autograph=False)

    def __call__(self, inputs, targets, state, step):
        """Runs a step.

        Args:
            inputs: Tensor `(2, rows of all replicas, steps, *token_shape)`.
            targets: Tensor `(2, rows of all replicas, steps)`.
            state: As `share_out_state` or this function returns it.
            step: Integer, the number of the step.

        Returns:
            The window's mean loss, a float, and the next state.
        """
        window = [self._share_out(x, axis=1) for x in (inputs, targets)]
        loss, state = self._run(*window, state, tf.constant(step, tf.int32))
        return float(loss), state

    def share_out_state(self, state):
        """Distributes the rows of arrays `(rows, ...)` to the replicas."""
        like = self._model.get_initial_state(1)
        return [
            self._share_out(tf.cast(x, y.dtype), axis=0)
            for x, y in zip(state, like)
        ]

    def gather_state(self, state):
        """Reverses `share_out_state`, in float32."""
        if self._strategy.num_replicas_in_sync > 1:
            state = self._gather(state)
        return [tf.cast(x, tf.float32).numpy() for x in state]

    def _share_out(self, x, axis):
        if self._strategy.num_replicas_in_sync == 1:
            return x
        rows = self._rows

        def part(context):
            start = context.replica_id_in_sync_group * rows
            return tf.gather(x, tf.range(start, start + rows), axis=axis)

        strategy = self._strategy
        parts = strategy.experimental_distribute_values_from_function(part)
        local = strategy.experimental_local_results(parts)
        # As a step returns it, or the second step would be compiled again.
        return parts if len(local) > 1 else local[0]

    def _gather_rows(self, state):
        return [self._strategy.gather(x, axis=0) for x in state]

    def _run_replicas(self, inputs, targets, state, step):
        losses, state = self._strategy.run(
            self._run_replica, (inputs, targets, state, step)
        )
        loss = self._strategy.reduce("MEAN", losses, axis=None)
        return loss, state

    def _run_replica(self, inputs, targets, state, step):
        variables = self._model.trainable_variables
        with tf.GradientTape() as tape:
            loss, state = self._loss(inputs, targets, state, step)
            # A sum over time, as published clip norms and rates assume.
            summed = loss * self._settings.unroll_steps
        gradients = tape.gradient(summed, [v.value for v in variables])
        gradients = [_with_distinct_rows(g) for g in gradients]
        count = self._strategy.num_replicas_in_sync
        if count > 1:
            # Keras clips before it sums over replicas; all must clip equally.
            gradients = [tf.convert_to_tensor(g) for g in gradients]
            context = tf.distribute.get_replica_context()
            gradients = context.all_reduce("MEAN", gradients)
        settings = self._settings
        if settings.clip_norm is not None and settings.accumulation_steps == 1:
            gradients, _ = tf.clip_by_global_norm(gradients, settings.clip_norm)
        if count > 1:
            gradients = [g / count for g in gradients]
        self._optimizer.apply(gradients, variables)
        return loss, state

    def _loss(self, inputs, targets, state, step):
        model = self._model
        seed = self._seeded(step)
        targets = tf.unstack(targets)
        state = _reset_rows(state, self._settings.reset_rate, seed)
        hidden, state = model.predict_hidden(tf.unstack(inputs), state, seed)
        if self._settings.full_softmax:
            losses = model.losses_of(hidden, targets)
        else:
            losses = model.sampled_losses_of(hidden, targets, seed)
        return tf.add_n([tf.reduce_mean(x) for x in losses]) / 2, state

    def _seeded(self, step):
        """Returns the random generator, set to the draws of a step.

        These depend only on the seed and the step, so an interruption does not
        change them.
        """
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        number = step * self._strategy.num_replicas_in_sync + replica
        state = self._seed.state
        number = tf.cast(number, state.dtype)
        state.assign(tf.stack([state[0], number * _DRAWS]))
        return self._seed


def _reset_rows(state, rate, seed):
    """Sets all states `(rows, ...)` of random rows to zero."""
    if not rate:
        return state
    draws = keras.random.uniform((state[0].shape[0], 1), seed=seed)
    return [x * tf.cast(draws >= rate, x.dtype) for x in state]


def _with_distinct_rows(gradient):
    """Sums a sparse gradient's values for the same row, as Keras does not."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, places = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(
        gradient.values, places, tf.size(rows)
    )
    return tf.IndexedSlices(values, rows, gradient.dense_shape)
