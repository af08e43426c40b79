"""Trains a tagger until its score on the dev sentences stops rising."""

import time

import keras
from batches import predict_tags

import keras_elmo
from keras_elmo.commands.progress import Progress


def compile_tagger(model, learning_rate=1e-3, clip=5.0, fine_tune_factor=0.1):
    """Compiles a model; its biLM gets a lower learning rate."""
    model.compile(
        SlowAdam(
            learning_rate=learning_rate,
            global_clipnorm=clip,
            slow_factor=fine_tune_factor,
        ),
        loss=keras_elmo.CRFLoss(),
    )


def train(
    model,
    batches,
    evaluate,
    epochs=50,
    patience=8,
    decay=0.5,
    decay_patience=3,
    evaluate_every=None,
    score_name="score",
    report=print,
):
    """Trains a compiled model, and leaves it with its best weights.

    Args:
        model: The model, from the inputs in the batches to `CRF` scores.
        batches: A `Batches` with tags.
        evaluate: Function that returns the score to maximize.
        epochs: Integer, the maximum number of epochs.
        patience: Integer, the number of evaluations without a better score
            after which to stop.
        decay: Float, the factor for the learning rate after `decay_patience`
            evaluations without a better score.
        decay_patience: Integer.
        evaluate_every: Integer, updates between evaluations; `None` for once
            per epoch.
        score_name: String, the name of the score.
        report: Function that is called with the line of each evaluation.

    Returns:
        A list of dictionaries, one per evaluation.
    """
    steps = evaluate_every or len(batches)
    score = DevScore(evaluate, steps, score_name, report)
    callbacks = [
        score,
        keras.callbacks.ReduceLROnPlateau(
            "dev_score", mode="max", factor=decay, patience=decay_patience
        ),
        keras.callbacks.EarlyStopping(
            "dev_score",
            mode="max",
            patience=patience,
            restore_best_weights=True,
        ),
    ]
    with score.line.waiting("compiling the first update"):
        model.fit(
            batches.dataset(),
            steps_per_epoch=steps,
            epochs=max(1, epochs * len(batches) // steps),
            shuffle=False,  # The dataset already is.
            verbose=0,
            callbacks=callbacks,
        )
    return score.history


class DevScore(keras.callbacks.Callback):
    """Scores the dev sentences; logs `dev_score` for the callbacks after it.

    Args:
        evaluate: Function that returns the score.
        steps: Integer, updates between evaluations.
        score_name: String, the name of the score.
        report: Function that is called with the line of each evaluation.
    """

    def __init__(self, evaluate, steps, score_name="score", report=print):
        super().__init__()
        self.history = []
        self._evaluate = evaluate
        self._steps = steps
        self._score_name = score_name
        self._report = report
        self.line = Progress()

    def on_epoch_begin(self, epoch, logs=None):
        self._first = epoch * self._steps
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def on_train_batch_end(self, batch, logs=None):
        self.line.show(f"update {self._first + batch + 1:,}")

    def on_epoch_end(self, epoch, logs):
        seconds = time.perf_counter() - self._wall
        cpu = time.process_time() - self._cpu
        with self.line.waiting("tagging the dev sentences"):
            logs["dev_score"] = self._evaluate()
        entry = {
            "update": (epoch + 1) * self._steps,
            "loss": float(logs["loss"]),
            "dev_score": logs["dev_score"],
            "learning_rate": float(self.model.optimizer.learning_rate),
            "seconds": seconds,
            "processor_seconds": cpu,
        }
        self.history.append(entry)
        self._report(
            f"update {entry['update']:>6,}  loss {entry['loss']:8.4f}  "
            f"dev {self._score_name} {100 * entry['dev_score']:6.2f}  "
            f"rate {entry['learning_rate']:.1e}  {seconds:6.1f} s",
            flush=True,
        )


def make_evaluation(tagger, batches, gold, tag_names, measure):
    """Returns a function that scores the tags a tagger predicts.

    Args:
        tagger: Model from the inputs in the batches to tags.
        batches: A `Batches`.
        gold: List of lists of the true tags.
        tag_names: Strings, the tags.
        measure: Function from the true and the predicted tags to the result.
    """

    def evaluate():
        predicted = [
            [tag_names[tag] for tag in row]
            for row in predict_tags(tagger, batches)
        ]
        return measure(gold, predicted)

    return evaluate


@keras.saving.register_keras_serializable(package="tagging")
class SlowAdam(keras.optimizers.Adam):
    """Adam with a lower learning rate for some layers.

    Args:
        slow_layers: Strings, the names of these layers. Defaults to the parts
            of a biLM, which keep these names in a reloaded model.
        slow_factor: Float, the factor for their learning rate.
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
        # By index, because updates may receive bare backend tensors.
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
