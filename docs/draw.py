"""Draws the pictures of scores and speeds from docs/results.

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
# By the end of the results' names: the million tokens of each biLM.
BILMS = {"_sixteenth": 5.1, "_quarter": 20.5, "_adam": 82, "": 158}
LABELS = {
    "keras-elmo, trained on": "keras-elmo, task's text",
    "GloVe": "GloVe alone",
    "MiniLM with a BiLSTM": "MiniLM, frozen",
}


def main():
    matplotlib.use("Agg")
    with matplotlib.rc_context(STYLE):
        draw_speed(HERE / "speed.svg")
        draw_encoders(HERE / "transformers.svg")
        draw_reliability(HERE / "reliability.svg")
        draw_sizes(HERE / "tagging-sizes.svg")
        draw_text_sizes(HERE / "tagging-text-sizes.svg")
        draw_small_transformer(HERE / "small_transformer.svg")


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


def draw_sizes(path):
    """Draws scores against the number of training sentences."""
    trainings = read("tagging_pos")["trainings"]
    figure, axes = plt.subplots()
    shares = 1, 10, 100
    for kind, label, color, marker in (
        ("elmo", "with ELMo", OURS, "o"),
        ("baseline", "without ELMo", OTHERS, "s"),
    ):
        every = [trainings[f"{kind}-{share}"] for share in shares]
        numbers = [runs[0]["training_sentences"] for runs in every]
        draw_seeds(axes, numbers, every, color, marker, label)
    axes.set(xscale="log", xlabel="training sentences of EWT")
    labels = [f"{x:,}\n({share}%)" for x, share in zip(numbers, shares)]
    axes.set_xticks(numbers, labels)
    axes.minorticks_off()
    axes.set_ylabel("accuracy of parts of speech, %")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save(figure, path, "tagging_pos")


def draw_text_sizes(path):
    """Draws scores against the number of tokens a biLM was trained on."""
    pos, names = (
        [f"tagging_{task}{end}" for end in BILMS] for task in ("pos", "names")
    )
    tokens = [*BILMS.values()]
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.2))
    for axes, files, with_elmo, without, color, marker in (
        (panels[0], pos, "elmo-10", "baseline-10", OURS, "o"),
        (panels[0], pos, "elmo-1", "baseline-1", OTHERS, "s"),
        (panels[1], names, "elmo-both", "baseline", OURS, "o"),
    ):
        results = [read(file)["trainings"] for file in files]
        number = results[-1][with_elmo][0]["training_sentences"]
        every = [x[with_elmo] for x in results]
        label = f"trained on {number:,} sentences"
        draw_seeds(axes, tokens, every, color, marker, label)
        runs = results[-1][without]
        level = 100 * statistics.mean(run["test"]["score"] for run in runs)
        axes.axhline(level, color=color, linestyle=":")
    titles = "Parts of speech: accuracy, %", "Named entities: F1, %"
    for axes, title in zip(panels, titles):
        axes.plot([], [], ":", color="black", label="the same without ELMo")
        axes.set(xscale="log")
        axes.set_xticks(tokens, [f"{x:g}" for x in tokens])
        axes.minorticks_off()
        axes.legend(
            title=title,
            title_fontsize=12,
            alignment="left",
            loc="lower left",
            bbox_to_anchor=(0, 1),
            frameon=False,
            reverse=True,
        )
    figure.supxlabel("million tokens that the biLM was trained on", size=11)
    save(figure, path, *pos, *names)


def draw_seeds(axes, x, every, color, marker, label):
    """Draws means and standard deviations of the seeds' scores at each x."""
    seeds = [[100 * run["test"]["score"] for run in runs] for runs in every]
    means, deviations = (
        [*map(f, seeds)] for f in (statistics.mean, statistics.stdev)
    )
    style = {"color": color, "marker": marker, "label": label}
    axes.errorbar(x, means, deviations, capsize=3, **style)


def draw_small_transformer(path):
    """Draws a row for each tagger: its score in each task, and its speed."""
    tasks = read("small_transformer")["tasks"]
    panels = {
        f"{task['title']}:\n{task['measure'].replace('f1', 'F1')}, %": {
            name: 100 * statistics.mean(tagger["seeds"])
            for name, tagger in task["taggers"].items()
        }
        for task in tasks.values()
    }
    # As in the table, of the tagger that was trained on few sentences.
    panels["words per second"] = {
        name: tagger["words"] / statistics.median(tagger["seconds"])
        for name, tagger in tasks["ewt125"]["taggers"].items()
    }
    figure, every = plt.subplots(2, 3, figsize=(9.6, 5.6), sharey=True)
    figure.delaxes(every[-1, -1])
    # A row for each tagger, so that no mark can lie on another one.
    for axes, (title, values) in zip(every.flat, panels.items()):
        for i, (name, value) in enumerate(values.items()):
            color = OURS if "keras-elmo" in name else OTHERS
            axes.plot(value, i, "o", color=color)
            text = f"{value:.1f}" if value < 100 else f"{value:,.0f}"
            axes.annotate(
                text,
                (value, i),
                (0, 6),
                textcoords="offset points",
                ha="center",
                size=9,
                color=color,
            )
        axes.set_title(title, size=11)
        labels = [LABELS.get(name, name) for name in values]
        axes.set_yticks(range(len(values)), labels, size=10)
        axes.xaxis.set_visible(False)
        axes.set_ylim(len(values) - 0.5, -0.9)
        axes.margins(x=0.25)
        axes.grid(axis="y", color="0.9")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    every[-1, 1].set_xscale("log")
    save(figure, path, "small_transformer")


def read(name):
    return json.loads(path_of(name).read_text("utf-8"))


def path_of(name):
    return HERE / f"results/{name}.json"


def save(figure, path, *names):
    # A test compares it with the files that were drawn.
    digests = [
        f"{name}.json, SHA-256 "
        + hashlib.sha256(path_of(name).read_bytes()).hexdigest()
        for name in names
    ]
    metadata = {"Date": None, "Description": "; ".join(digests)}
    figure.savefig(path, metadata=metadata)
    plt.close(figure)


if __name__ == "__main__":
    main()
