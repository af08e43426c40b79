"""Distributed training in several processes. TensorFlow only."""

import tensorflow as tf


def is_chief(strategy):
    """Whether this process is the one that writes the files."""
    if not _has_workers(strategy):
        return True
    resolver = strategy.cluster_resolver
    chief = "chief" if "chief" in resolver.cluster_spec().jobs else "worker"
    return (resolver.task_type, resolver.task_id) == (chief, 0)


def make_any(strategy):
    """Makes a function that all processes of a strategy call together.

    Args:
        strategy: The `tf.distribute.Strategy`.

    Returns:
        Function that takes a boolean and returns whether it is true in any
        process. It returns only after all processes have called it.
    """
    if not _has_workers(strategy):
        return bool

    @tf.function(autograph=False)
    def add_up(value):
        def add():
            context = tf.distribute.get_replica_context()
            # `all_reduce` needs a copy on the replica's device.
            return context.all_reduce("SUM", tf.identity(value))

        return strategy.run(add)

    def is_any(value):
        sums = add_up(tf.constant(float(value)))
        return bool(strategy.experimental_local_results(sums)[0] > 0)

    return is_any


def _has_workers(strategy):
    resolver = strategy.cluster_resolver
    return resolver is not None and bool(resolver.task_type)
