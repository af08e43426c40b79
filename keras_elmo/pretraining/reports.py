"""What a training tells of itself while it runs."""

import contextlib


class Report:
    """Takes no notice of anything; others are subclasses."""

    def working(self, what):
        """Returns a context in which `what` is done, which may take long."""
        return contextlib.nullcontext()

    def counted(self, sentences, tokens):
        """So much of the corpus is counted."""

    def begun(self, step, schedule, tokens_per_step):
        """Training begins after `step` steps; `schedule` is a `Schedule`."""

    def stepped(self, step, loss):
        """A step is made; `loss` is its training loss."""

    def logged(self, step, values):
        """A dictionary of numbers went to the log."""

    def evaluated(self, step, perplexity, is_best):
        """The held-out `Perplexity` after a step."""

    def saved(self, step, path):
        """A checkpoint of a step is on the disk."""

    def ended(self, step, is_over):
        """Training is over, or stops here and can go on."""


class Reports:
    """A `Report` that passes everything on to several."""

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
