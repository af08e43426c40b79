"""Callbacks that report on a training while it runs."""

import contextlib


class Report:
    """Base class of reports; it does nothing."""

    def working(self, what):
        """Returns a context manager for `what`, which may take long."""
        return contextlib.nullcontext()

    def counted(self, sentences, tokens):
        """Called with how much of the corpus has been counted."""

    def begun(self, step, schedule, tokens_per_step):
        """Called when training starts after `step` steps, with a `Schedule`."""

    def stepped(self, step, loss):
        """Called after a step with its training loss."""

    def logged(self, step, values):
        """Called when a dictionary of numbers has been logged."""

    def evaluated(self, step, perplexity, is_best):
        """Called with the held-out `Perplexity` after a step."""

    def saved(self, step):
        """Called when the checkpoint of a step has been written."""

    def stopping(self):
        """Called, in a thread, when training is told to stop."""

    def ended(self, step, is_over):
        """Called when training is finished, or stops and can be resumed."""


class Reports:
    """A `Report` that forwards every call to several reports."""

    def __init__(self, reports):
        self._reports = list(reports)

    @contextlib.contextmanager
    def working(self, what):
        with contextlib.ExitStack() as stack:
            for report in self._reports:
                stack.enter_context(report.working(what))
            yield

    def __getattr__(self, name):
        methods = [getattr(report, name) for report in self._reports]

        def pass_on(*args):
            for method in methods:
                method(*args)

        return pass_on
