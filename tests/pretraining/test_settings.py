import json

import pytest
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import make_settings

from keras_elmo.pretraining.settings import RECIPES


def test_the_papers_recipe_is_the_papers():
    settings = RECIPES["paper"]
    # From Peters et al., 2018, and bilm-tf.
    lstm = settings.options["lstm"]
    assert (lstm["dim"], lstm["projection_dim"], lstm["n_layers"]) == (
        4096,
        512,
        2,
    )
    filters = settings.options["char_cnn"]["filters"]
    assert sum(count for _, count in filters) == 2048
    assert settings.options["n_negative_samples_batch"] == 8192
    assert settings.options["dropout"] == 0.1
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
        ("batch_size", 0, "an integer of at least 1"),
        ("batch_size", 2.5, "an integer of at least 1"),
        ("unroll_steps", "20", "an integer of at least 1"),
        ("log_every", True, "an integer of at least 1"),
        ("steps", 0, "an integer of at least 1 or None"),
        ("patience", 0, "an integer of at least 1 or None"),
        ("log_every", None, "an integer of at least 1"),
        ("warmup_steps", -1, "an integer of at least 0"),
        ("seed", -1, "an integer of at least 0"),
        ("epochs", 0, "a positive number"),
        ("learning_rate", float("nan"), "a positive number"),
        ("learning_rate", float("inf"), "a positive number"),
        ("learning_rate", "0.1", "a positive number"),
        ("clip_norm", 0, "a positive number"),
        ("reset_rate", 1.5, "a number from 0 to 1"),
        ("reset_rate", None, "a number from 0 to 1"),
        ("optimizer", "sgd", r"one of \['adagrad', 'adam', 'muon'\]"),
        (
            "learning_rate_schedule",
            "cosine",
            r"one of \['constant', 'linear'\]",
        ),
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
