"""What a training reports while it runs."""

import contextlib


class Report:
    """Base class of reports; it does nothing."""

    def working(self, what):
        """Returns a context manager for `what`, which may take long."""
        return contextlib.nullcontext()

    def counted(self, sentences, tokens):
        """Called with how much of the corpus has been counted."""

    def begun(self, step, schedule):
        """Called when training starts after `step` steps, with a `Schedule`."""

    def stepped(self, step, loss):
        """Called after a step with its training loss."""

    def evaluated(self, step, perplexity, is_best):
        """Called with the held-out `Perplexity` after a step."""

    def stopping(self):
        """Called, in a thread, when training is told to stop."""
