"""Makes the tables and the picture from a results.json.

python benchmarks/report.py FOLDER
"""

import argparse
import json
import pathlib
import statistics
import sys

OWN = "keras-elmo"
FRAMEWORKS = {"tensorflow": "TensorFlow", "keras": "Keras", "torch": "PyTorch"}
CURVES = {
    "sentence_length": "words a sentence",
    "distinct_words": "distinct words",
    "batch_tokens": "`batch_tokens`",
}


def write(folder):
    """Writes table.md and picture.png beside results.json."""
    folder = pathlib.Path(folder)
    results = json.loads((folder / "results.json").read_text())
    (folder / "table.md").write_text(make_tables(results))
    try:
        import picture
    except ImportError as error:
        print(f"No picture was drawn: {error}", file=sys.stderr)
    else:
        picture.draw(results, folder / "picture.png")


def make_tables(results):
    """Returns all tables, as Markdown."""
    parts = [_describe(results)]
    for name, make in TABLES.items():
        if name in results["only"] and name in results:
            parts.append(make(results))
    return "\n".join(parts)


def peaks(results):
    """Returns the machine's median speeds, or `None` if not measured."""
    speeds = results.get("speeds")
    if not speeds:
        return None
    both = ("float32_numpy", "float32_tensorflow")
    return {
        "float32": statistics.median(max(s[x] for x in both) for s in speeds),
        "bfloat16": statistics.median(s["bfloat16"] for s in speeds),
        **{
            name: statistics.median(s[name] for s in speeds)
            for name in ("int8", "read")
            if name in speeds[0]
        },
    }


def medians(section):
    """Returns the median seconds of each implementation."""
    return {
        name: statistics.median(seconds)
        for name, seconds in section["seconds"].items()
    }


def rates(curve, name):
    """Returns the tokens per second at each point of a curve."""
    return [
        tokens / statistics.median(seconds)
        for tokens, seconds in zip(curve["tokens"], curve["seconds"][name])
    ]


def _describe(results):
    machine, model = results["machine"], results["model"]
    text = (
        f"{model['units']}/{model['projection_dim']} "
        f"(units/projection), {results['text']}, {results['date']}; "
        f"{machine['cpu']}, {machine['cores']} cores "
        f"({', '.join(machine['flags'])})"
    )
    speed = peaks(results)
    if speed:
        text += (
            f"; matrix multiply: float32 {speed['float32']:,.0f} GFLOP/s, "
            f"bfloat16 {speed['bfloat16']:,.0f} GFLOP/s; memory bandwidth "
            f"{speed['read']:.0f} GB/s"
        )
    return "; ".join([text, *_describe_versions(results["versions"])]) + ".\n"


def _describe_versions(versions):
    # All variants of this package have the same versions.
    merged = {name.split(",")[0]: found for name, found in versions.items()}
    for name, found in merged.items():
        frameworks = ", ".join(
            f"{title} {found[package]}"
            for package, title in FRAMEWORKS.items()
            if package in found
        )
        yield f"{name} on {frameworks}"


def _table(header, rows):
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _peers(section):
    return [name for name in section["seconds"] if not name.startswith(OWN)]


def _times(section, name):
    """Returns the speedup over each peer: medians over the turns."""
    own = section["seconds"][name]
    ratios = (
        [x / y for x, y in zip(section["seconds"][peer], own)]
        for peer in _peers(section)
    )
    return [f"{statistics.median(ratio):.2f}" for ratio in ratios]


def _times_header(section):
    return [f"times {peer}" for peer in _peers(section)]


def _throughput(results):
    section, speed = results["throughput"], peaks(results)
    rows = []
    for name, seconds in medians(section).items():
        row = [name, f"{section['tokens'] / seconds:,.0f}"]
        row += _times(section, name)
        if speed:
            peak = speed[section["precisions"][name]] * 1e9
            row.append(f"{section['flops'] / seconds / peak:.0%}")
        rows.append(row)
    header = ["", "tokens a second", *_times_header(section)]
    header += ["share of the peak"] * bool(speed)
    title = (
        f"Throughput: {section['sentences']} sentences, "
        f"{section['tokens']:,} tokens\n\n"
    )
    return title + _table(header, rows) + _errors(results)


def _errors(results):
    errors = "".join(
        f"\n{name}: relative error of layers 0, 1, ...: "
        + ", ".join(f"{x:.1e}" for x in values)
        for name, values in results["agreement"].items()
        if results["throughput"]["precisions"].get(name, "float32") != "float32"
    )
    return f"{errors}\n" if errors else ""


def _latency(results):
    section, speed = results["latency"], peaks(results)
    rows = []
    for name, seconds in medians(section).items():
        row = [name, f"{1000 * seconds:.1f}", *_times(section, name)]
        if speed:
            read = section["bytes"][name] / seconds / 1e9
            row.append(f"{read / speed['read']:.0%}")
        rows.append(row)
    header = ["", "ms", *_times_header(section)]
    header += ["share of the bandwidth"] * bool(speed)
    title = f"Latency: one sentence of {section['words']} words\n\n"
    return title + _table(header, rows)


def _memory(results):
    rows = [[k, f"{x:,.0f}"] for k, x in results["memory"].items()]
    return "Memory\n\n" + _table(["", "peak, MB"], rows)


def _load(results):
    section = results["load"]
    rows = [
        [
            name,
            f"{seconds:.1f}",
            f"{statistics.median(section['since_start'][name]):.1f}",
            f"{statistics.median(section['megabytes'][name]):,.0f}",
        ]
        for name, seconds in medians(section).items()
    ]
    header = ["", "first vector, s", "with all imports, s", "memory, MB"]
    return "Loading\n\n" + _table(header, rows)


def _growth(results):
    tables = []
    for key, title in CURVES.items():
        curve = results["growth"][key]
        columns = [rates(curve, name) for name in curve["seconds"]]
        rows = [
            [f"{x:,}", *(f"{rate:,.0f}" for rate in row)]
            for x, *row in zip(curve["x"], *columns)
        ]
        tables.append(_table([title, *curve["seconds"]], rows))
    return "Growth: tokens a second\n\n" + "\n".join(tables)


def _training(results):
    section = results["training"]
    rows = [
        [name, f"{1000 * seconds:,.0f}", *_times(section, name)]
        for name, seconds in medians(section).items()
    ]
    title = (
        f"Training: a step with {section['sentences']} sentences of "
        f"{section['words']} words\n\n"
    )
    header = ["", "ms a step", *_times_header(section)]
    return title + _table(header, rows)


TABLES = {
    "throughput": _throughput,
    "latency": _latency,
    "load": _load,
    "memory": _memory,
    "growth": _growth,
    "training": _training,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", help="folder of results.json")
    write(parser.parse_args().folder)
