import json

import pytest
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings

from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.pretraining.settings import TrainingPlan

INTEGER, POSITIVE = "an integer of at least 1", "a positive number"
ROWS, STEPS = 4, 5


def test_the_papers_recipe_is_the_papers():
    settings = RECIPES["paper"]
    options, lstm = settings.options, settings.options["lstm"]
    # From Peters et al., 2018, and bilm-tf.
    sizes = lstm["dim"], lstm["projection_dim"], lstm["n_layers"]
    assert sizes == (4096, 512, 2)
    assert sum(n for _, n in options["char_cnn"]["filters"]) == 2048
    assert options["n_negative_samples_batch"] == 8192
    assert options["dropout"] == 0.1
    assert (settings.batch_size, settings.unroll_steps) == (128, 20)
    assert (settings.optimizer, settings.learning_rate) == ("adagrad", 0.2)
    assert (settings.epochs, settings.clip_norm) == (10, 10)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_goes_on_with_itself(recipe):
    fixed = RECIPES[recipe].fixed()
    assert json.loads(json.dumps(fixed)) == fixed


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("batch_size", 0, INTEGER),
        ("unroll_steps", "20", INTEGER),
        ("steps", 0, f"{INTEGER} or None"),
        ("patience", 0, f"{INTEGER} or None"),
        ("log_every", None, INTEGER),
        ("warmup_steps", -1, "an integer of at least 0"),
        ("seed", -1, "an integer of at least 0"),
        ("epochs", 0, POSITIVE),
        ("learning_rate", float("nan"), POSITIVE),
        ("learning_rate", float("inf"), POSITIVE),
        ("clip_norm", "0.1", POSITIVE),
        ("reset_rate", 1.5, "a number from 0 to 1"),
        ("optimizer", "sgd", r"one of \['adagrad', 'adam', 'muon'\]"),
        ("learning_rate_schedule", "a", r"one of \['constant', 'linear'\]"),
        ("dtype", "float16", r"one of \['float32', 'mixed_bfloat16'\]"),
    ],
)
def test_wrong_values_are_named(name, value, expected):
    message = f"`{name}` must be {expected}. Received: {value!r}"
    with pytest.raises(ValueError, match=message):
        make_settings(**{name: value})


def test_wrong_options_are_named():
    with pytest.raises(ValueError, match="'dropout'"):
        make_settings(options={**OPTIONS, "dropout": 2})


def test_what_must_stay_when_a_training_goes_on():
    names = ["options", "batch_size", "unroll_steps", "optimizer"]
    names += ["reset_rate", "dtype", "seed"]
    settings = make_settings()
    assert settings.fixed() == {name: getattr(settings, name) for name in names}


def make_plan(epoch, **settings):
    settings = make_settings(unroll_steps=STEPS, **settings)
    return TrainingPlan(settings, epoch * ROWS * STEPS, ROWS)


def steps(is_due, total=250):
    return [step for step in range(1, total + 1) if is_due(step)]


def test_by_default_a_long_training_soon_shows_what_it_has_learned():
    plan = make_plan(epoch=120, steps=250)
    assert steps(plan.is_evaluation) == [10, 100, 120, 240, 250]
    assert steps(plan.is_regular_evaluation) == [120, 240, 250]
    assert steps(plan.is_checkpoint) == [10, 100, 250]
    assert steps(lambda step: plan.is_due(step, 100)) == [100, 200, 250]


def test_what_is_asked_for_is_all():
    asked = {"evaluate_every": 60, "checkpoint_every": 70}
    plan = make_plan(epoch=120, steps=250, **asked)
    assert steps(plan.is_evaluation) == [60, 120, 180, 240, 250]
    assert steps(plan.is_checkpoint) == [70, 140, 210, 250]


def test_an_epoch_of_few_steps_has_no_early_ones():
    plan = make_plan(epoch=7, steps=None, epochs=2.8)
    assert (plan.epoch, plan.total) == (7, 20)
    assert steps(plan.is_evaluation, 20) == [7, 14, 20]
