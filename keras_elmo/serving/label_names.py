"""Names for the labels that a model returns."""


class LabelNames:
    """Looks up the names of labels.

    Args:
        labels: Dictionary from the name of an output to the list of its labels'
            names, each a string.
    """

    def __init__(self, labels):
        self._labels = {
            name: _checked(name, names) for name, names in labels.items()
        }

    def __call__(self, outputs, ids):
        """Returns the names of the labels in some outputs.

        Args:
            outputs: Dictionary of tensors: integers `(batch, time)` or
                `(batch,)`, which are labels; or floats with one more axis, the
                scores of each label.
            ids: Ids of words, `(batch, time, *token_shape)`.

        Returns:
            Dictionary of string tensors, `(batch, time)` with "" at padding,
            or `(batch,)`.
        """
        unknown = set(self._labels) - set(outputs)
        if unknown:
            raise ValueError(
                "The keys of `labels` must be outputs of the model, which are "
                f"{sorted(outputs)}. Received: {sorted(unknown)}"
            )
        import tensorflow as tf

        of_token = list(range(2, len(ids.shape)))
        mask = tf.reduce_any(ids != 0, axis=of_token)  # (batch, time)
        return {
            f"{name}_labels": _look_up(name, names, outputs[name], mask)
            for name, names in self._labels.items()
        }


def _checked(name, names):
    labels = [] if isinstance(names, (str, bytes)) else list(names)
    if not labels or not all(isinstance(x, (str, bytes)) for x in labels):
        raise ValueError(
            "`labels` must be lists of names, each a string. "
            f"Received for output '{name}': {names!r}"
        )
    return labels


def _look_up(name, names, output, mask):
    import tensorflow as tf

    is_scores = output.dtype.is_floating
    rank = len(output.shape) - is_scores
    fits = rank in (1, 2) and (is_scores or output.dtype.is_integer)
    if not fits or (is_scores and output.shape[-1] != len(names)):
        raise ValueError(
            f"To have labels, output '{name}' must be integers of shape "
            "(batch, time) or (batch,), or floats with one more axis, of size "
            f"{len(names)}, the number of labels. Received: an output of "
            f"shape={tuple(output.shape)}, dtype={output.dtype.name}"
        )
    index = tf.argmax(output, axis=-1) if is_scores else output
    if rank == 1:
        return tf.gather(names, index)  # (batch,)
    # The values at padding need not be valid labels.
    found = tf.gather(names, tf.where(mask, index, 0))
    return tf.where(mask, found, "")  # (batch, time)
