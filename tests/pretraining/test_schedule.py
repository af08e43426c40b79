from keras_elmo.pretraining.settings import Plan
from keras_elmo.pretraining.settings import Schedule


def steps(is_due, total=250):
    return [step for step in range(1, total + 1) if is_due(step)]


def test_by_default_a_long_training_soon_shows_what_it_has_learned():
    schedule = Schedule.of(Plan(), 250, 20, epoch=120)
    assert steps(schedule.is_evaluation) == [10, 100, 120, 240, 250]
    assert steps(schedule.is_regular_evaluation) == [120, 240, 250]
    assert steps(schedule.is_checkpoint) == [10, 100, 250]
    assert steps(schedule.is_log_entry) == [100, 200, 250]


def test_what_is_asked_for_is_all():
    plan = Plan(60, 70, 125, patience=3)
    schedule = Schedule.of(plan, 250, 20, epoch=120)
    assert steps(schedule.is_evaluation) == [60, 120, 180, 240, 250]
    assert steps(schedule.is_regular_evaluation) == [60, 120, 180, 240, 250]
    assert steps(schedule.is_checkpoint) == [70, 140, 210, 250]
    assert steps(schedule.is_log_entry) == [125, 250]
    assert schedule.patience == 3


def test_an_epoch_of_few_steps_has_no_early_ones():
    schedule = Schedule.of(Plan(), 20, 20, epoch=7)
    assert steps(schedule.is_evaluation, 20) == [7, 14, 20]
