"""The processes that train one model together. TensorFlow only."""

import tensorflow as tf


def is_chief(strategy):
    """Whether this process is the one of the strategy's that writes files."""
    if not _has_workers(strategy):
        return True
    resolver = strategy.cluster_resolver
    chief = "chief" if "chief" in resolver.cluster_spec().jobs else "worker"
    return (resolver.task_type, resolver.task_id) == (chief, 0)


def make_any(strategy):
    """Makes a function that all processes of a strategy call at the same time.

    Args:
        strategy: The `tf.distribute.Strategy`.

    Returns:
        Function from a boolean to whether it is true in any process. None
        returns before all have called it.
    """
    if not _has_workers(strategy):
        return bool

    @tf.function(autograph=False)
    def add_up(value):
        def add():
            context = tf.distribute.get_replica_context()
            # A copy on the replica's device, without which it is an error.
            return context.all_reduce("SUM", tf.identity(value))

        return strategy.run(add)

    def is_any(value):
        sums = add_up(tf.constant(float(value)))
        return bool(strategy.experimental_local_results(sums)[0] > 0)

    return is_any


def _has_workers(strategy):
    resolver = strategy.cluster_resolver
    return resolver is not None and bool(resolver.task_type)
