"""When a training does what: as asked for, and in steps."""

import dataclasses

# When a long training first shows what it has learned, and saves it.
_EARLY_STEPS = (10, 100, 1_000, 10_000)
_CHECKPOINT_EVERY = 1000


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to do when. Unlike the `Settings`, it changes no number."""

    evaluate_every: int | None = None
    """Steps; by default those of an epoch, and in the first one after 10, 100,
    1,000 and 10,000 steps, too"""
    checkpoint_every: int | None = None
    """Steps; by default 1,000, and after 10 and 100 steps, too"""
    log_every: int = 100
    """Steps"""
    patience: int | None = None
    """Evaluations without a better one, after which training stops; early ones
    do not count"""
    heldout_rows: int = 32
    """As `rows` of `Evaluator`"""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A `Plan` for a training of so many steps; all are numbers of steps."""

    total: int
    evaluate_every: int
    checkpoint_every: int
    log_every: int
    patience: int | None = None
    """As in `Plan`"""
    early_evaluations: tuple[int, ...] = ()
    """Before the first regular one"""
    early_checkpoints: tuple[int, ...] = ()
    """Before the first regular one"""

    @classmethod
    def of(cls, plan: Plan, total: int, epoch: int) -> "Schedule":
        """Makes the schedule of a plan.

        Args:
            plan: The `Plan`.
            total: Integer, the steps of the training.
            epoch: Integer, the steps of a pass over the corpus.
        """
        return cls(
            total,
            plan.evaluate_every or epoch,
            plan.checkpoint_every or _CHECKPOINT_EVERY,
            plan.log_every,
            plan.patience,
            () if plan.evaluate_every else _before(epoch),
            () if plan.checkpoint_every else _before(_CHECKPOINT_EVERY),
        )

    def is_log_entry(self, step: int) -> bool:
        """Whether the loss is logged after a step."""
        return self._is_regular(step, self.log_every)

    def is_evaluation(self, step: int) -> bool:
        """Whether the model is evaluated after a step."""
        is_early = step in self.early_evaluations
        return is_early or self.is_regular_evaluation(step)

    def is_regular_evaluation(self, step: int) -> bool:
        """Whether that evaluation counts for `patience`."""
        return self._is_regular(step, self.evaluate_every)

    def is_checkpoint(self, step: int) -> bool:
        """Whether there is a checkpoint after a step."""
        is_early = step in self.early_checkpoints
        return is_early or self._is_regular(step, self.checkpoint_every)

    def _is_regular(self, step, every):
        return step % every == 0 or step == self.total


def _before(regular):
    return tuple(step for step in _EARLY_STEPS if step < regular)
