import keras
from keras import ops

from keras_elmo.ops.private_keras import in_stateless_scope
from keras_elmo.ops.private_keras import is_exporting


class CarriedState:
    """The states that a stateful `BiLMEncoder` keeps between calls.

    They are not weights: they are not tracked, saved or exported.
    """

    def __init__(self):
        self.variables = None

    def of(self, encoder, batch_size):
        """Returns the initial states, or `None` if none are carried over."""
        if not encoder.stateful or is_exporting():
            return None
        if keras.backend.backend() == "jax" and in_stateless_scope():
            raise ValueError(
                f"Layer '{encoder.name}' is stateful. On JAX, only eager calls "
                "carry the state; `fit`, `evaluate` and `predict` would lose "
                "it. Pass the state to the encoder as a value: "
                "`encoder(x, initial_state=..., return_state=True)`."
            )
        if batch_size is None:
            raise ValueError(
                f"Layer '{encoder.name}' is stateful, so it needs a static "
                "batch size: use `keras.Input(..., batch_size=...)` and full "
                "batches only (`drop_remainder=True` in `tf.data`). "
                "Received: an unknown batch size"
            )
        if self.variables is None:
            self.variables = [
                keras.Variable(
                    state, trainable=False, autocast=False, name="carried_state"
                )
                for state in encoder.get_initial_state(batch_size)
            ]
        expected = self.variables[0].shape[0]
        if batch_size != expected:
            raise ValueError(
                f"Layer '{encoder.name}' is stateful and was first called with "
                f"a batch of {expected}; all later batches must have the same "
                "size, even after `reset_state()`. "
                f"Received: a batch of {batch_size}"
            )
        # Copies, as PyTorch computes gradients from them after `assign`.
        return [ops.copy(variable.value) for variable in self.variables]

    def assign(self, states):
        for variable, state in zip(self.variables, states):
            variable.assign(state)

    def reset(self):
        for variable in self.variables or ():
            variable.assign(ops.zeros_like(variable.value))
