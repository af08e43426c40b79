"""Tables and pictures of many trainings, from their results.

`experiments.py` calls this. As a program, this draws the learned weights of
ELMo's layers for several tasks (figure 2 of the paper):

    python benchmarks/tagging/report.py layers.png \\
        "names=FOLDER/elmo-both" "parts of speech=OTHER/elmo-100"
"""

import argparse
import json
import pathlib
import statistics

import numpy as np
from evaluation import mean_and_deviation


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("picture", help="PNG file to write")
    add("tasks", nargs="+", metavar="NAME=FOLDER", help="name of a task, and "
        "the folder with its trainings: seed-1, seed-2, ...")  # fmt: skip
    options = parser.parse_args(argv)
    weights = {}
    for task in options.tasks:
        name, _, folder = task.partition("=")
        runs = read_seeds(pathlib.Path(folder))
        if not runs or not runs[0]["mix_weights"]:
            parser.error(
                "A task must be NAME=FOLDER, where FOLDER/seed-1 has a "
                f"training with ELMo. Received: {task!r}"
            )
        weights[name] = layer_weights(runs)
    import pictures

    pictures.draw_layer_weights(options.picture, weights)
    print(f"Wrote {options.picture}")


def write_report(folder, chosen):
    """Writes `report.md`, `scores.json`, and pictures if it can draw.

    Args:
        folder: Path of the output folder of `experiments.py`.
        chosen: The `TrainingList`.
    """
    folder = pathlib.Path(folder)
    results = read_results(folder, chosen)
    if not results:
        print(f"No training in {folder} has finished yet.")
        return
    text = "\n".join(
        [
            *score_table(results, chosen),
            "",
            *type_table(results),
            "",
            *weight_table(results),
            "",
        ]
    )
    (folder / "report.md").write_text(text, encoding="utf-8")
    scores = json.dumps(all_scores(results), indent=1)
    (folder / "scores.json").write_text(scores + "\n", encoding="utf-8")
    print(text)
    try:
        import pictures
    except ImportError:
        print("No pictures: matplotlib is not installed.")
        return
    draw(pictures, folder, results)
    print(f"Wrote {folder / 'report.md'} and pictures next to it")


def read_results(folder, chosen):
    """Returns a mapping from each training's name to its results, by seed."""
    results = {}
    for training in chosen.trainings:
        found = read_seeds(folder / training.name)
        if found:
            results[training.name] = found
    return results


def read_seeds(folder):
    """Returns the finished results of a training, by seed."""
    files = folder.glob("seed-*/result.json")
    found = [json.loads(file.read_text("utf-8")) for file in files]
    return sorted(found, key=lambda result: result["seed"])


def all_scores(results):
    """Returns what the tables show, as a JSON object with an entry per seed."""
    return {
        "measure": next(iter(results.values()))[0]["measure"],
        "trainings": {
            name: [scores_of(run) for run in runs]
            for name, runs in results.items()
        },
    }


def scores_of(run):
    best = _best(run)
    return {
        "seed": run["seed"],
        "training_sentences": run["training_sentences"],
        "updates_to_best": best["update"],
        **{
            part: {
                "score": run[part]["score"],
                "types": {
                    kind: scores[run["measure"]]
                    for kind, scores in run[part]["types"].items()
                },
            }
            for part in ("dev", "test")
            if part in run
        },
        "mix_weights": run["mix_weights"],
    }


def score_table(results, chosen):
    """Returns the lines of a table of scores, gains, updates and time."""
    measure = next(iter(results.values()))[0]["measure"]
    columns = [
        "",
        "seeds",
        f"dev {measure}",
        f"test {measure}",
        "over the baseline",
        "over layer 0",
        "updates to the best",
        "updates to the baseline's best",
        "CPU s per evaluation",
        "minutes",
    ]
    lines = [
        f"| {' | '.join(columns)} |",
        "| --- " + "| ---: " * (len(columns) - 1) + "|",
    ]
    for name, runs in results.items():
        last = name.split("-")[-1]
        baseline = results.get(chosen.baseline.format(last=last), [])
        control = results.get(chosen.control.format(last=last), [])
        entries = [entry for run in runs for entry in run["history"]]
        seconds = statistics.median(e["processor_seconds"] for e in entries)
        minutes = sum(e["processor_seconds"] for e in entries) / 60 / len(runs)
        best = np.mean([_best(run)["update"] for run in runs])
        tests = _scores(runs, "test")
        cells = [
            name,
            str(len(runs)),
            mean_and_deviation(_scores(runs, "dev")),
            mean_and_deviation(tests) if tests else "",
            _gain(runs, baseline),
            _gain(runs, control),
            f"{best:,.0f}",
            _reached(runs, baseline),
            f"{seconds:.1f}",
            f"{minutes:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def type_table(results):
    """Returns the lines of a table of test scores by type."""
    runs = [run for found in results.values() for run in found]
    types = sorted(
        {kind for r in runs for kind in r.get("test", r["dev"])["types"]}
    )
    measure = runs[0]["measure"]
    lines = [
        f"| {measure} of | {' | '.join(types)} |",
        "| --- " + "| ---: " * len(types) + "|",
    ]
    for name, found in results.items():
        cells = []
        for kind in types:
            scores = [
                r.get("test", r["dev"])["types"][kind][measure]
                for r in found
                if kind in r.get("test", r["dev"])["types"]
            ]
            cells.append(f"{100 * np.mean(scores):.1f}" if scores else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def weight_table(results):
    """Returns the lines of a table of the learned mixes."""
    lines = [
        "| mix | place | gamma | weights of layers 0, 1, ... |",
        "| --- | --- | ---: | --- |",
    ]
    for name, runs in results.items():
        for place, weights in layer_weights(runs).items():
            gamma = np.mean([r["mix_weights"][place]["gamma"] for r in runs])
            text = ", ".join(f"{weight:.3f}" for weight in weights)
            lines.append(f"| {name} | {place} | {gamma:.2f} | {text} |")
    return lines


def layer_weights(runs):
    """Returns the mean weights of ELMo's layers, by place of the mix."""
    return {
        place: np.mean(
            [run["mix_weights"][place]["weights"] for run in runs], axis=0
        )
        for place in runs[0]["mix_weights"]
    }


def draw(pictures, folder, results):
    """Draws curves, sizes and layer weights, where available."""
    measure = next(iter(results.values()))[0]["measure"]
    groups, sizes = {}, {}
    for name, runs in results.items():
        percent = 100 * runs[0]["options"]["fraction"]
        histories = [run["history"] for run in runs]
        groups.setdefault(f"{percent:g}", {})[name] = histories
        kind = name.removesuffix(f"-{percent:g}")
        by_size = sizes.setdefault(kind, {})
        by_size[percent] = _scores(runs, "test") or _scores(runs, "dev")
    for percent, curves in groups.items():
        most = dict(list(curves.items())[:6])
        pictures.draw_curves(folder / f"curves-{percent}.png", most, measure)
    shown = {
        kind: sizes[kind]
        for kind in ("baseline", "elmo", "layer-0", "layer-1", "layer-2")
        if len(sizes.get(kind, {})) > 1
    }
    if shown:
        pictures.draw_sizes(folder / "sizes.png", shown, measure)
    learned = {
        name: layer_weights(runs)
        for name, runs in results.items()
        if runs[0]["mix_weights"] and runs[0]["options"]["mix"] == "learned"
    }
    if learned:
        pictures.draw_layer_weights(folder / "layers.png", learned)


def _scores(runs, part):
    return [run[part]["score"] for run in runs if part in run]


def _best(run):
    return max(run["history"], key=lambda entry: entry["dev_score"])


def updates_to_reach(history, score):
    """Returns the updates a training needed to reach a score, or `None`."""
    return next((e["update"] for e in history if e["dev_score"] >= score), None)


def _gain(runs, others):
    """Returns the gain in test score, with its standard deviation.

    This is the deviation of the difference of two independent groups of seeds:
    the square root of the sum of the variances.
    """
    ours, theirs = _scores(runs, "test"), _scores(others, "test")
    if runs is others or not ours or not theirs:
        return ""
    gain = np.mean(ours) - np.mean(theirs)
    spread = [np.var(s, ddof=1) if len(s) > 1 else 0 for s in (ours, theirs)]
    return f"{100 * gain:+.2f} ± {100 * np.sqrt(sum(spread)):.2f}"


def _reached(runs, baseline):
    """Returns the updates to reach the mean of the baseline's best scores."""
    if not baseline:
        return ""
    score = np.mean([_best(run)["dev_score"] for run in baseline])
    updates = [updates_to_reach(run["history"], score) for run in runs]
    reached = [number for number in updates if number is not None]
    if not reached:
        return "never"
    text = f"{np.mean(reached):,.0f}"
    missed = len(updates) - len(reached)
    return f"{text} ({missed} never)" if missed else text


if __name__ == "__main__":
    main()
