"""Draws the pictures of benchmarks.md and transformers.md from docs/results.

python docs/draw.py
"""

import hashlib
import json
import pathlib
import statistics

import matplotlib
from matplotlib import pyplot as plt

HERE = pathlib.Path(__file__).parent
# White behind them, so that they can be read in dark mode, and text as large as
# the page's on a screen of 400 pixels.
STYLE = {
    "figure.figsize": (4.8, 4.2),
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "keras-elmo",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
OURS, OTHERS = "#1f6f8b", "#c0602a"


def main():
    matplotlib.use("Agg")
    with matplotlib.rc_context(STYLE):
        draw_speed(HERE / "speed.svg")
        draw_encoders(HERE / "transformers.svg")
        draw_reliability(HERE / "reliability.svg")


def draw_speed(path):
    """Draws the speed-up of each package over bilm-tf on a corpus."""
    medians = {
        name: statistics.median(seconds)
        for name, seconds in read("packages_original")["throughput"].items()
    }
    names = [*medians][::-1]
    values = [medians["bilm-tf"] / medians[name] for name in names]
    figure, axes = plt.subplots()
    colors = [OURS if name.startswith("Elmo") else "#9a9a9a" for name in names]
    drawn = axes.barh(names, values, color=colors)
    axes.bar_label(drawn, [f"{value:.1f}" for value in values], padding=3)
    labels = [name.replace(", ", ",\n") for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.set(xlabel="speed-up over bilm-tf", xlim=(0, 1.12 * max(values)))
    save(figure, path, "packages_original")


def draw_encoders(path):
    """Draws words per second against the size of the file."""
    results = read("encoders")
    figure, axes = plt.subplots()
    models = {}
    for row in results["rows"]:
        # Where it is fastest.
        is_elmo = row["name"] in ("original", "small", "english_mini")
        if row["runs_in"] == ("`ElmoEmbedder`" if is_elmo else "ONNX Runtime"):
            speed = results["words"] / statistics.median(row["text"])
            point = (row["file_megabytes"], speed)
            models.setdefault((row["name"], is_elmo), []).append(point)
    for (name, is_elmo), points in models.items():
        color = OURS if is_elmo else OTHERS
        axes.plot(*zip(*points), color=color, linewidth=1)
        axes.plot(*points[0], "o", color=color)
        axes.plot(*points[1], "o", color=color, markerfacecolor="white")
        axes.annotate(
            name,
            points[1],
            (0, 7) if is_elmo else (-7, -4),
            textcoords="offset points",
            ha="center" if is_elmo else "right",
            color=color,
        )
    axes.set(xscale="log", yscale="log", xlim=(3, 700), ylim=(500, 30000))
    axes.set(xlabel="file, MB", ylabel="words per second")
    axes.set_xticks([10, 100], ["10", "100"])
    axes.set_yticks([1000, 10000], ["1,000", "10,000"])
    for color, label, face in (
        (OURS, "ELMo, in ElmoEmbedder", OURS),
        (OTHERS, "transformers, in ONNX", OTHERS),
        ("black", "float32", "black"),
        ("black", "int8", "white"),
    ):
        axes.plot([], [], "o", color=color, label=label, markerfacecolor=face)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save(figure, path, "encoders")


def draw_reliability(path):
    """Draws the share of right entities against their mean probability.

    The bins of all test files are put together.
    """
    files = read("names_probabilities")["files"].values()
    figure, axes = plt.subplots()
    axes.plot([0, 1], [0, 1], color="#9a9a9a", linewidth=1)
    for key, label, color, marker in (
        ("reliability_before", "as trained", OTHERS, "s"),
        ("reliability", "divided by the temperature", OURS, "o"),
    ):
        sums = {}
        for x in (bin_ for file in files for bin_ in file[key]["bins"]):
            own = sums.setdefault(int(10 * x["probability"]), [0, 0, 0])
            for i, value in enumerate((1, x["probability"], x["right"])):
                own[i] += value * x["count"]
        points = [(b / n, c / n) for _, (n, b, c) in sorted(sums.items())]
        axes.plot(*zip(*points), color=color, marker=marker, label=label)
    axes.set(xlabel="probability of an entity", ylabel="share that is right")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save(figure, path, "names_probabilities")


def read(name):
    return json.loads(path_of(name).read_text("utf-8"))


def path_of(name):
    return HERE / f"results/{name}.json"


def save(figure, path, name):
    # A test compares it with the file that was drawn.
    digest = hashlib.sha256(path_of(name).read_bytes()).hexdigest()
    metadata = {"Date": None, "Description": f"{name}.json, SHA-256 {digest}"}
    figure.savefig(path, metadata=metadata)
    plt.close(figure)


if __name__ == "__main__":
    main()
