from pretraining.small_trainings import make_settings

from keras_elmo.pretraining.settings import TrainingPlan

ROWS, STEPS = 4, 5


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
    plan = make_plan(
        epoch=120, steps=250, evaluate_every=60, checkpoint_every=70
    )
    assert steps(plan.is_evaluation) == [60, 120, 180, 240, 250]
    assert steps(plan.is_regular_evaluation) == [60, 120, 180, 240, 250]
    assert steps(plan.is_checkpoint) == [70, 140, 210, 250]


def test_an_epoch_of_few_steps_has_no_early_ones():
    plan = make_plan(epoch=7, steps=None, epochs=2.8)
    assert plan.total == 20
    assert steps(plan.is_evaluation, 20) == [7, 14, 20]
