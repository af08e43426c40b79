import contextlib

from keras_elmo.ops.private_keras import sublayers


@contextlib.contextmanager
def stateless(layer):
    """Context in which `layer` and its stateful sublayers are stateless."""
    stateful = [
        part for part in (layer, *sublayers(layer)) if _is_stateful(part)
    ]
    for part in stateful:
        part.stateful = False
    try:
        yield
    finally:
        for part in stateful:
            part.stateful = True


def _is_stateful(layer):
    return getattr(layer, "stateful", False) is True
