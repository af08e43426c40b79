"""Plots a training run from the log that `keras-elmo pretrain` writes.

    python examples/plot_training.py FOLDER --picture curve.png

Takes one or more training folders. Needs matplotlib (`pip install
.[examples]`).
"""

import argparse
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib import ticker


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--picture", required=True, help="PNG file to write")
    parser.add_argument("--labels", nargs="+", help="one for each folder")
    arguments = parser.parse_args()
    labels = arguments.labels or [
        pathlib.Path(folder).resolve().name for folder in arguments.folders
    ]
    num_folders, num_labels = len(arguments.folders), len(labels)
    if num_folders != num_labels:
        parser.error(
            "the number of --labels must be that of the folders, "
            f"{num_folders}. Received: {num_labels}"
        )

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for folder, label in zip(arguments.folders, labels):
        draw(axes, read_log(folder), label)
    axes.set_yscale("log")
    axes.set_xlabel("million training tokens")
    axes.set_ylabel("held-out perplexity (full softmax)")
    low, high = axes.get_ylim()
    steps = (1, 2, 5) if high > 10 * low else (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=steps))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(True, color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    if len(labels) > 1:
        axes.legend(frameon=False)
    figure.savefig(arguments.picture, dpi=150)
    print(f"Wrote {arguments.picture}")


def read_log(folder):
    """Returns the millions of tokens and the perplexity at each evaluation."""
    lines = (pathlib.Path(folder) / "log.jsonl").read_text().split("\n")
    # A line that was being written when the training was killed has no end.
    entries = [json.loads(line) for line in lines[:-1]]
    points = [
        (entry["tokens"] / 1e6, entry["heldout_perplexity"])
        for entry in entries
        if "heldout_perplexity" in entry
    ]
    if not points:
        sys.exit(f"'{folder}' has no perplexities: train with --heldout.")
    return points


def draw(axes, points, label):
    """Draws a curve, and labels its best perplexity."""
    tokens, perplexities = zip(*points)
    axes.plot(tokens, perplexities, marker="o", markersize=3, label=label)
    best = min(perplexities)
    place = perplexities.index(best)
    axes.annotate(
        f"{best:.4g}" if math.isfinite(best) else "",
        (tokens[place], best),
        textcoords="offset points",
        xytext=(0, 8),
        ha="center",
    )


if __name__ == "__main__":
    main()
