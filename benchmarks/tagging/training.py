"""Training a tagger until its score on the dev sentences stops rising."""

import time

import keras
from batches import predict_tags

import keras_elmo
from keras_elmo.commands.progress import Progress


def compile_tagger(model, learning_rate=1e-3, clip=5.0, fine_tune_factor=0.1):
    """Makes a model ready for `fit`; the biLM in it learns more slowly."""
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
        model: The model, from the batches' inputs to the scores of a `CRF`.
        batches: A `Batches` with tags.
        evaluate: Function that returns the score to be raised.
        epochs: Integer, how often to go through the sentences, at most.
        patience: Integer, after how many evaluations without a better score to
            stop.
        decay: Float, what the learning rate is multiplied by after
            `decay_patience` evaluations without a better score.
        decay_patience: Integer.
        evaluate_every: Integer, updates from one evaluation to the next;
            `None` for once an epoch.
        score_name: String, what to call the score.
        report: Function to which each evaluation's line is given.

    Returns:
        A list of dictionaries, one an evaluation.
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
            shuffle=False,  # The dataset is.
            verbose=0,
            callbacks=callbacks,
        )
    return score.history


class DevScore(keras.callbacks.Callback):
    """Scores the dev sentences, for the callbacks after it as `dev_score`.

    Args:
        evaluate: Function that returns the score.
        steps: Integer, updates from one evaluation to the next.
        score_name: String, what to call the score.
        report: Function to which each evaluation's line is given.
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
    """Returns a function that scores a tagger's tags of some sentences.

    Args:
        tagger: Model from the batches' inputs to tags.
        batches: A `Batches`.
        gold: List of lists of the true tags.
        tag_names: Strings, the tags.
        measure: Function from the true and the predicted tags to what the
            function returns.
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
