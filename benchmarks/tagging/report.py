"""Tables and pictures of many trainings, from their results.

`experiments.py` calls this.
"""

import json
import statistics

import numpy as np
import pictures
from evaluation import deviation
from evaluation import mean_and_deviation


def write_report(folder, chosen):
    """Writes `report.md`, `scores.json`, and pictures.

    Args:
        folder: Path of the output folder of `experiments.py`.
        chosen: The `TrainingList`.
    """
    results = {}
    for training in chosen.trainings:
        found = read_seeds(folder / training.name)
        if found:
            results[training.name] = found
    if not results:
        return
    measure = next(iter(results.values()))[0]["measure"]
    lines = [*score_table(results, chosen, measure), *weight_table(results)]
    text = "\n".join(lines) + "\n"
    (folder / "report.md").write_text(text, encoding="utf-8")
    scores = {
        "measure": measure,
        "trainings": {
            name: [scores_of(run) for run in runs]
            for name, runs in results.items()
        },
    }
    scores = json.dumps(scores, indent=1) + "\n"
    (folder / "scores.json").write_text(scores, encoding="utf-8")
    print(text)
    draw(folder, results, measure)


def read_seeds(folder):
    """Returns the finished results of a training, by seed."""
    files = folder.glob("seed-*/result.json")
    found = [json.loads(file.read_text("utf-8")) for file in files]
    return sorted(found, key=lambda result: result["seed"])


# What is shown of one type: of a label, the share of its words that are right.
OF_A_TYPE = {"f1": "f1", "accuracy": "recall"}


def scores_of(run):
    """Returns what the tables show of a training with one seed."""
    return {
        "seed": run["seed"],
        "training_sentences": run["training_sentences"],
        "updates_to_best": _best(run)["update"],
        **{
            part: {
                "score": run[part]["score"],
                "types": {
                    kind: scores[OF_A_TYPE[run["measure"]]]
                    for kind, scores in run[part]["types"].items()
                },
            }
            for part in ("dev", "test")
        },
        "mix_weights": run["mix_weights"],
    }


def score_table(results, chosen, measure):
    """Yields the lines of a table of scores, gains, updates and time."""
    yield from _header(
        f"dev {measure}",
        f"test {measure}",
        "over the baseline",
        "over layer 0",
        "updates to the best",
        "updates to the baseline's best",
        "minutes",
    )
    for name, runs in results.items():
        last = name.split("-")[-1]
        baseline = results.get(chosen.baseline.format(last=last), [])
        control = results.get(chosen.control.format(last=last), [])
        entries = [entry for run in runs for entry in run["history"]]
        seconds = sum(entry["processor_seconds"] for entry in entries)
        yield _row(
            name,
            mean_and_deviation(_scores(runs, "dev")),
            mean_and_deviation(_scores(runs, "test")),
            _gain(runs, baseline),
            _gain(runs, control),
            f"{statistics.mean(_best(run)['update'] for run in runs):,.0f}",
            _reached(runs, baseline),
            f"{seconds / 60 / len(runs):.1f}",
        )
    yield ""


def weight_table(results):
    """Yields the lines of a table of the learned mixes."""
    yield from _header("place", "gamma", "weights of layers 0, 1, ...")
    for name, runs in results.items():
        for place, weights in layer_weights(runs).items():
            gamma = np.mean([r["mix_weights"][place]["gamma"] for r in runs])
            text = ", ".join(f"{weight:.3f}" for weight in weights)
            yield _row(name, place, f"{gamma:.2f}", text)


def _header(*titles):
    return _row("", *titles), "| --- " + "| ---: " * len(titles) + "|"


def _row(*cells):
    return f"| {' | '.join(cells)} |"


def layer_weights(runs):
    """Returns the mean weights of ELMo's layers, by place of the mix."""
    return {
        place: np.mean(
            [run["mix_weights"][place]["weights"] for run in runs], axis=0
        )
        for place in runs[0]["mix_weights"]
    }


# What pictures call the trainings.
LEGEND = {
    "elmo": "with ELMo",
    "elmo-both": "ELMo at input\nand output",
    "layer-0": "layer 0, at both",
}


def draw(folder, results, measure):
    """Draws the curves of the trainings on each share of the sentences."""
    groups = {}
    for name, runs in results.items():
        percent = 100 * runs[0]["options"]["fraction"]
        histories = [run["history"] for run in runs]
        kind = name.removesuffix(f"-{percent:g}")
        label = LEGEND.get(kind, kind)
        groups.setdefault(f"{percent:g}", {})[label] = histories
    for percent, curves in groups.items():
        most = dict(list(curves.items())[:6])
        pictures.draw_curves(folder / f"curves-{percent}.png", most, measure)


def _scores(runs, part):
    return [run[part]["score"] for run in runs]


def _best(run):
    return max(run["history"], key=lambda entry: entry["dev_score"])


def _gain(runs, others):
    """Returns the gain in test score, with its standard deviation.

    This is the deviation of the difference of two independent groups of seeds:
    the square root of the sum of the variances.
    """
    if runs is others or not others:
        return ""
    ours, theirs = _scores(runs, "test"), _scores(others, "test")
    gain = np.mean(ours) - np.mean(theirs)
    spread = np.hypot(deviation(ours), deviation(theirs))
    return f"{100 * gain:+.2f} ± {100 * spread:.2f}"


def _reached(runs, baseline):
    """Returns the updates to reach the mean of the baseline's best scores."""
    if not baseline:
        return ""
    score = np.mean([_best(run)["dev_score"] for run in baseline])
    reached = []
    for run in runs:
        good = (e for e in run["history"] if e["dev_score"] >= score)
        reached += [entry["update"] for entry in good][:1]
    missed = len(runs) - len(reached)
    if not reached:
        return "never"
    text = f"{np.mean(reached):,.0f}"
    return f"{text} ({missed} never)" if missed else text
