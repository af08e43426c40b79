"""Keras' optimizers, faster for large vocabularies. TensorFlow only.

The results are the same up to rounding.
"""

import keras
import tensorflow as tf


class _SparseOptimizer:
    """Clips gradients by their global norm, and keeps sparse ones sparse.

    Keras would make the softmax's sparse gradient dense: one of all words. The
    slots of each variable, of which there are `num_slots`, are in `_slots_of`.
    """

    def __init__(self, *args, global_clipnorm, **kwargs):
        super().__init__(*args, **kwargs)
        self._sparse_clipnorm = global_clipnorm

    def build(self, variables):
        if not self.built:
            super().build(variables)
            # The slots come last.
            n = self.num_slots
            slots = [v.value for v in self.variables[-n * len(variables) :]]
            self._slots_of = {
                variable.value.ref(): slots[n * i : n * (i + 1)]
                for i, variable in enumerate(variables)
            }

    def apply(self, grads, trainable_variables=None):
        grads, _ = tf.clip_by_global_norm(grads, self._sparse_clipnorm)
        super().apply(grads, trainable_variables)


class Adam(_SparseOptimizer, keras.optimizers.Adam):
    """Keras' Adam, with one operation per variable update.

    Keras uses a dozen operations, each of which reads and writes the whole
    variable. For the softmax of a large vocabulary, this takes an eighth of a
    training step.
    """

    num_slots = 2

    def update_step(self, gradient, variable, learning_rate):
        first, second = self._slots_of[variable.ref()]
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


class Adagrad(_SparseOptimizer, keras.optimizers.Adagrad):
    """Keras' Adagrad, which updates only the rows in a sparse gradient.

    Keras computes the square root of all rows, which for the softmax of a large
    vocabulary takes most of a training step.
    """

    num_slots = 1

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            super().update_step(gradient, variable, learning_rate)
            return
        rows, values = gradient.indices, gradient.values
        (sums,) = self._slots_of[variable.ref()]
        new = tf.gather(sums, rows) + tf.square(values)
        sums.scatter_update(tf.IndexedSlices(new, rows))
        rate = tf.cast(learning_rate, values.dtype)
        change = rate * values / tf.sqrt(new + self.epsilon)
        variable.scatter_sub(tf.IndexedSlices(change, rows))


def rows_of(variable, rows):
    """Returns rows of a variable; its sparse gradient has each of them once.

    Keras' optimizers do not add up what a gradient has for the same row.
    """

    @tf.custom_gradient
    def gather(rows):
        def gradient(values, variables):
            distinct, indices = tf.unique(rows)
            values = tf.math.unsorted_segment_sum(
                values, indices, tf.size(distinct)
            )
            shape = tf.constant(variable.shape.as_list(), distinct.dtype)
            return None, [tf.IndexedSlices(values, distinct, shape)]

        # Reads these rows only: after sparse updates, TensorFlow copies a
        # variable whenever all of it is read.
        return tf.gather(variable, rows), gradient

    return gather(rows)
