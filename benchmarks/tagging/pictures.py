"""Plots of trainings, readable without colours."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
from evaluation import deviation
from matplotlib import pyplot as plt

STYLES = [
    {"marker": "o"},
    {"marker": "s", "linestyle": "--"},
    {"marker": "^", "linestyle": "-."},
    {"marker": "D", "linestyle": ":"},
    {"marker": "v"},
    {"marker": "x", "linestyle": "--"},
]


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
            "linestyle": STYLES[i % len(STYLES)].get("linestyle", "-"),
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


def draw_sizes(path, scores, measure):
    """Draws scores against training-set size (figure 1 of the paper).

    Args:
        path: Path of the PNG.
        scores: Mapping from a name to a mapping from the percentage of the
            training sentences to a list of scores, one per seed.
        measure: String, the name of the score.
    """
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for style, (name, by_size) in zip(STYLES, scores.items()):
        sizes = sorted(by_size)
        scores_of_sizes = [by_size[size] for size in sizes]
        _draw_seeds(axes, sizes, scores_of_sizes, label=name, **style)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:g}%" for size in sizes])
    axes.minorticks_off()
    axes.set(xlabel="training sentences", ylabel=f"test {_label(measure)}, %")
    _finish(axes)
    _save(figure, path)


def draw_text_sizes(path, tokens, panels):
    """Draws scores against the text that a biLM was trained on.

    Args:
        path: Path of the PNG.
        tokens: List of numbers, in millions, one per biLM.
        panels: Mapping from a task's name to a mapping from a curve's name to a
            pair: a list of seeds' scores for each biLM, and the scores without
            ELMo, whose mean is dotted.
    """
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 3.8), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for panel, (title, curves) in zip(axes[0], panels.items()):
        colors = plt.rcParams["axes.prop_cycle"].by_key()["color"]
        for style, color, (name, found) in zip(STYLES, colors, curves.items()):
            scores, without = found
            _draw_seeds(panel, tokens, scores, color=color, label=name, **style)
            level = 100 * np.mean(without)
            panel.axhline(level, color=color, linestyle=":")
        panel.set_xscale("log")
        panel.set_xticks(tokens, [f"{number:g}" for number in tokens])
        panel.minorticks_off()
        panel.set(xlabel="million tokens read by the biLM", title=title)
        panel.set_ylabel("test score, % (dotted: without ELMo)")
        _finish(panel)
    _save(figure, path)


def draw_layer_weights(path, weights):
    """Draws learned layer weights by task and place (figure 2 of the paper).

    Args:
        path: Path of the PNG.
        weights: Mapping from the name of a task to a mapping from a place,
            `"input"` or `"output"`, to an array `(layers,)`.
    """
    places = [p for p in ("input", "output")
              if any(p in task for task in weights.values())]  # fmt: skip
    widths = [sum(p in task for task in weights.values()) for p in places]
    figure, panels = plt.subplots(
        1, len(places), figsize=(2 + 1.3 * sum(widths), 3.4), squeeze=False,
        width_ratios=widths, layout="constrained",
    )  # fmt: skip
    for axes, place in zip(panels[0], places):
        tasks = {t: w[place] for t, w in weights.items() if place in w}
        values = np.stack([*tasks.values()], axis=1)[::-1]
        # Equal weights have the middle colour.
        most = 2 / len(values)
        axes.imshow(values, cmap="Blues", vmin=0, vmax=most, aspect="auto")
        for i, j in np.ndindex(values.shape):
            color = "white" if values[i, j] > 0.7 * most else "black"
            axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center",
                      color=color)  # fmt: skip
        numbers = range(len(values))
        axes.set_yticks(numbers, [f"layer {k}" for k in reversed(numbers)])
        axes.set_xticks(range(len(tasks)), list(tasks), rotation=20)
        axes.set_title(f"at the {place}")
        axes.spines[:].set_visible(False)
    _save(figure, path)


def _draw_seeds(axes, x, scores, **style):
    """Draws means and standard deviations of the seeds' scores at each x."""
    means = [100 * np.mean(seeds) for seeds in scores]
    deviations = [100 * deviation(seeds) for seeds in scores]
    axes.errorbar(x, means, deviations, capsize=3, **style)


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
