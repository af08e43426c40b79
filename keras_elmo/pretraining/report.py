"""What a training tells while it runs."""

import contextlib


class TrainingReport:
    """Receives the events of a training, and shows nothing.

    Derive from it, and override what you want to show.
    """

    def working(self, what: str) -> contextlib.AbstractContextManager:
        """Returns a context in which something other than steps is done."""
        return contextlib.nullcontext()

    def counted(self, sentences, tokens, share):
        """Some of the text has been read: a share of its bytes, from 0 to 1."""

    def covered(self, share):
        """The vocabulary has a share of the text's words."""

    def begun(self, step, plan):
        """The training goes on after a step, as in a `TrainingPlan`."""

    def stepped(self, step, loss):
        """The loss of a step is known, which may be while the next one runs."""

    def evaluated(self, step, perplexity, is_best):
        """The held-out `Perplexity` after a step was measured."""

    def stopping(self):
        """The training was asked to stop. Called in another thread."""
