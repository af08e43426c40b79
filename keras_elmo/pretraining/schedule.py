"""When a training logs, evaluates, saves and stops."""

import dataclasses

# The first evaluations and checkpoints of a long training.
_EARLY_STEPS = (10, 100, 1_000, 10_000)
_CHECKPOINT_EVERY = 1000


@dataclasses.dataclass(frozen=True)
class Plan:
    """When to do what. Unlike `Settings`, it does not affect the losses."""

    evaluate_every: int | None = None
    """Number of steps; by default one epoch, and in the first epoch also after
    10, 100, 1,000 and 10,000 steps"""
    checkpoint_every: int | None = None
    """Number of steps; by default 1,000, and also after 10 and 100 steps"""
    log_every: int = 100
    """Number of steps"""
    patience: int | None = None
    """Number of evaluations without improvement after which training stops;
    early evaluations do not count"""
    heldout_rows: int = 32
    """As `rows` of `Evaluator`"""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A `Plan` for a training of known length, in numbers of steps."""

    total: int
    evaluate_every: int
    checkpoint_every: int
    log_every: int
    patience: int | None = None
    """As in `Plan`"""
    early_evaluations: tuple[int, ...] = ()
    """Those before the first regular evaluation"""
    early_checkpoints: tuple[int, ...] = ()
    """Those before the first regular checkpoint"""

    @classmethod
    def of(cls, plan: Plan, total: int, epoch: int) -> "Schedule":
        """Makes the schedule of a plan.

        Args:
            plan: The `Plan`.
            total: Integer, the number of steps of the training.
            epoch: Integer, the number of steps of a pass over the corpus.
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
        """Whether the evaluation after a step counts for `patience`."""
        return self._is_regular(step, self.evaluate_every)

    def is_checkpoint(self, step: int) -> bool:
        """Whether there is a checkpoint after a step."""
        is_early = step in self.early_checkpoints
        return is_early or self._is_regular(step, self.checkpoint_every)

    def _is_regular(self, step, every):
        return step % every == 0 or step == self.total


def _before(regular):
    return tuple(step for step in _EARLY_STEPS if step < regular)
