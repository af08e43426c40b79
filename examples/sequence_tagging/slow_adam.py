"""Adam with a lower rate for some of the layers."""

import keras


@keras.saving.register_keras_serializable(package="sequence_tagging")
class SlowAdam(keras.optimizers.Adam):
    """Adam that changes the weights of some layers more slowly.

    Args:
        slow_layers: Strings, the layers' names; by default those of a biLM's
            parts, which they also have in a model that was reloaded.
        slow_factor: Float, what its learning rate is multiplied by.
        **kwargs: Arguments of `keras.optimizers.Adam`.
    """

    def __init__(
        self,
        *,
        slow_layers=("token_encoder", "encoder"),
        slow_factor=0.1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.slow_layers = list(slow_layers)
        self.slow_factor = slow_factor

    def build(self, variables):
        # By their number, as updates are of bare tensors of the backend.
        self._factors = [
            1.0
            if set(self.slow_layers).isdisjoint(v.path.split("/"))
            else self.slow_factor
            for v in variables
        ]
        super().build(variables)

    def update_step(self, gradient, variable, learning_rate):
        factor = self._factors[self._get_variable_index(variable)]
        super().update_step(gradient, variable, learning_rate * factor)

    def get_config(self):
        return {
            **super().get_config(),
            "slow_layers": self.slow_layers,
            "slow_factor": self.slow_factor,
        }
