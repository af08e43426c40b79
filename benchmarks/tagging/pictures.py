"""Plots of trainings, readable without colours."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

LINE_STYLES = "-", "--", "-.", ":"


def draw_curves(path, curves, measure):
    """Draws the best dev score so far against updates, for many trainings.

    Thin lines are the seeds, thick lines their means.

    Args:
        path: Path of the PNG.
        curves: Mapping from a name to a list of histories, one per seed.
        measure: String, the name of the score.
    """
    figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
    colors = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    for i, (name, histories) in enumerate(curves.items()):
        style = {
            "color": colors[i % len(colors)],
            "linestyle": LINE_STYLES[i % len(LINE_STYLES)],
        }
        updates, best = best_so_far(histories)
        for row in best:
            axes.plot(updates, 100 * row, alpha=0.35, linewidth=0.7, **style)
        mean = 100 * best.mean(axis=0)
        axes.plot(updates, mean, linewidth=2, label=name, **style)
    axes.set(xlabel="updates", ylabel=f"best dev {_label(measure)} so far, %")
    # Outside the plot, where the lines may run anywhere.
    _finish(axes, loc="upper left", bbox_to_anchor=(1, 1))
    _save(figure, path)


def best_so_far(histories):
    """Returns updates, and the best score of each history up to each update.

    A training that has ended keeps its best score.

    Args:
        histories: List of histories, one per seed.

    Returns:
        A pair: an array `(points,)` of updates, beginning where all histories
        have a score, and an array `(seeds, points)` of scores.
    """
    first = max(history[0]["update"] for history in histories)
    updates = sorted({e["update"] for history in histories for e in history})
    updates = np.array([update for update in updates if update >= first])
    rows = []
    for history in histories:
        own = [entry["update"] for entry in history]
        best = np.maximum.accumulate([e["dev_score"] for e in history])
        rows.append(best[np.searchsorted(own, updates, side="right") - 1])
    return updates, np.stack(rows)


def _label(measure):
    return "F1" if measure == "f1" else measure


def _finish(axes, **legend):
    axes.grid(True, color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, **legend)


def _save(figure, path):
    figure.savefig(path, dpi=130)
    plt.close(figure)
