"""Means and deviations of scores, over seeds."""

import numpy as np


def mean_and_deviation(scores):
    """Formats scores in percent as `mean ± sample standard deviation`."""
    return f"{100 * np.mean(scores):.2f} ± {100 * deviation(scores):.2f}"


def deviation(scores):
    """Returns the sample standard deviation, 0 for a single score."""
    return np.std(scores, ddof=1) if len(scores) > 1 else 0.0
