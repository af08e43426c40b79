"""The session of a TensorFlow 1 peer, kept open between calls."""

import tensorflow.compat.v1 as tf


def open_session():
    """Initialises the graph; returns its session and a function to reset it.

    The states that bilm-tf carries from batch to batch are its unnamed
    variables.
    """
    states = [
        variable
        for variable in tf.global_variables()
        if variable.op.name.startswith("bilm/Variable")
    ]
    to_zero = tf.variables_initializer(states)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session, lambda: session.run(to_zero)
