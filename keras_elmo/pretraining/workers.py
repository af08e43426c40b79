"""Training in several processes, and signals to end it. TensorFlow only."""

import contextlib
import signal
import threading

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


class StopRequest(contextlib.AbstractContextManager):
    """Records the first SIGINT or SIGTERM instead of ending the process.

    Args:
        on_request: Function to call, in a thread, when it is recorded.
    """

    def __init__(self, on_request=None):
        self.is_made = False
        self._on_request = on_request
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.signal(number, self._note)
                # `None` is a handler that was not set by Python.
                self._before[number] = before or signal.SIG_DFL
        return self

    def __exit__(self, *_):
        self._restore()

    def _note(self, number, frame):
        self.is_made = True
        self._restore()  # A second signal takes effect at once.
        if self._on_request is not None:
            # In a thread, as the signal may have interrupted other output.
            threading.Thread(target=self._on_request, daemon=True).start()

    def _restore(self):
        while self._before:
            signal.signal(*self._before.popitem())
