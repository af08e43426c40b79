"""Writes the tables of the pages from docs/results, and draws the pictures.

python docs/tables.py

A table has the cells that its function below returns; what is to the left of
them, and the heads of the columns, are the page's own. A test says that the
pages are what this program writes.
"""

import itertools
import json
import pathlib
import re
import statistics
from statistics import mean
from statistics import median

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = "baseline", "elmo-both", "layer-0"
ENGLISH_NAMES = "keras_elmo/presets/english_names/README.md"
TAGGING = "benchmarks/tagging/README.md"


# Rows of the results of speed.py.
SPEEDS = {
    "english_pos": (
        "ElmoEmbedder",
        "float32",
        "int8",
        "spaCy",
        "MiniLM, float32",
        "MiniLM, int8",
    ),
    "train-tagger": ("float32", "int8"),
    "english_names": ("float32, entities", "int8, entities"),
}


def main():
    import draw

    for page, heading, cells in make_tables():
        path = ROOT / page
        path.write_text(
            with_cells(path.read_text("utf-8"), heading, cells), "utf-8"
        )
    draw.main()


def with_cells(text, heading, cells):
    """Returns a page with these cells at the end of a table's rows.

    Args:
        text: The page.
        heading: How the heading begins that the table follows.
        cells: List with a list for each row: strings, or `None` for a cell of
            the page.
    """
    place = text.index(f"# {heading}")
    (table,) = itertools.islice(
        re.compile(r"(?<=\n)\| ---.*\n((?:\|.*\n)+)").finditer(text, place), 1
    )
    rows = [
        [cell.strip() for cell in row[1:-1].split("|")]
        for row in table[1].splitlines()
    ]
    # A page may have more rows, whose figures come from elsewhere.
    for row, own in zip(rows, cells, strict=False):
        for i, cell in enumerate(own, len(row) - len(own)):
            row[i] = row[i] if cell is None else cell
    lines = (f"| {' | '.join(row)} |\n" for row in rows)
    new = "".join(re.sub(r"\|  (?=\|)", "| ", line) for line in lines)
    return text[: table.start(1)] + new + text[table.end(1) :]


def make_tables():
    """Yields the page, the heading and the cells of each table."""
    page = "docs/benchmarks.md"
    yield page, "Part-of-speech tagging", parts_of_speech()
    yield ENGLISH_NAMES, "How much it finds", names()
    yield TAGGING, "Probabilities of entities", probabilities()
    yield "docs/redaction.md", "Which threshold?", thresholds()
    yield page, "`english_pos`", raw_text()
    yield page, "Next to other taggers", rivals()
    yield page, "How fast taggers are", tagger_speeds()
    yield "benchmarks/README.md", "Formats of a tagger", formats()
    yield page, "Named entity recognition", named_entities()
    yield TAGGING, "Which layer to use", single_layers()
    yield TAGGING, "Weights of the layers", layer_weights()
    yield TAGGING, "F1 by entity type", entity_types()
    yield TAGGING, "Word senses", word_senses()
    yield TAGGING, "More text for the biLM", more_text()
    card = "keras_elmo/presets/english_mini/README.md"
    yield card, "Grammar", grammar()
    yield "docs/transformers.md", "A small transformer", small_transformer()
    yield "docs/transformers.md", "Cost on a CPU", encoders()
    yield "docs/corpus.md", "Time and storage", hours()
    yield page, "A corpus", speed_ups("throughput", ON_A_CORPUS)
    yield page, "One sentence", speed_ups("latency", ON_ONE_SENTENCE)
    yield page, "Memory", memory()
    yield page, "Backends", backends()
    yield page, "GPU", gpus()
    yield "benchmarks/README.md", "Pretraining", perplexities()
    yield "benchmarks/README.md", "Recipes for training", an_hour()
    yield "benchmarks/README.md", "Serving", serving()
    yield "docs/onnx.md", "Accuracy", eight_bits()
    yield "benchmarks/README.md", "Wrong labels", label_errors()
    yield "benchmarks/README.md", "What to label next", next_texts()


def read(name):
    path = ROOT / f"docs/results/{name}.json"
    return json.loads(path.read_text("utf-8"))


def scores(results, training, part="test"):
    runs = read(results)["trainings"][training]
    return [100 * run[part]["score"] for run in runs]


def with_deviation(values):
    return f"{mean(values):.2f} ± {statistics.stdev(values):.2f}"


def percent(share, digits=0):
    return f"{100 * share:.{digits}f}%"


def label_errors():
    """How many changed labels there are, and are among the first places."""
    rows = []
    for name in "ewt", "ewt_words", "btc", "btc_words", "ncbi", "ncbi_words":
        results = read(f"label_errors_{name}")
        numbers = [sum(results["wrong"].values()), *results["found"].values()]
        numbers.append(400 * results["random_share"])
        rows.append([f"{number:,.0f}" for number in numbers])
    return rows


def next_texts():
    """F1 and the words that were read, after each step."""
    rows = []
    for name in "ncbi", "wnut":
        for runs in read(f"next_texts_{name}")["curves"].values():
            row = []
            for points in zip(*runs):
                words, found = zip(*points)
                found = with_deviation([100 * x for x in found])
                row.append(f"{found} ({mean(words):,.0f})")
            rows.append(row)
    return rows


def gain_from_choice(name):
    """What the choice adds to F1 with as many words as the random texts have.

    Returns an array with a row for each seed, and a column for each step.
    """
    rows = []
    curves = read(f"next_texts_{name}")["curves"].values()
    for chosen, random in zip(*map(np.array, curves)):
        words, found = random.T
        rows.append(100 * (np.interp(words, *chosen.T) - found))
    return np.array(rows)


def parts_of_speech():
    rows = []
    for share in 1, 10, 100:
        without = scores("tagging_pos", f"baseline-{share}")
        own = scores("tagging_pos", f"elmo-{share}")
        (number,) = {
            run["training_sentences"]
            for run in read("tagging_pos")["trainings"][f"elmo-{share}"]
        }
        fewer = 1 - (100 - mean(own)) / (100 - mean(without))
        both = map(with_deviation, (without, own))
        rows.append([f"{number:,} ({share}%)", *both, percent(fewer)])
    return rows


def names():
    results = read("names_probabilities")
    rows = []
    for file, x in results["files"].items():
        spacy = results["spacy"]["files"][file]
        for cells, row in (
            ([file, "english_names"], x["scores"]),
            (["", "spaCy"], spacy),
        ):
            kinds = [row["types"][kind] for kind in ("PER", "LOC", "ORG")]
            shares = [
                f"{100 * y['precision']:.0f} / {100 * y['recall']:.0f}"
                for y in (*kinds, row)
            ]
            rows.append([*cells, *shares, f"{100 * row['f1']:.1f}"])
    return rows


def probabilities():
    rows = []
    for file, x in read("names_probabilities")["files"].items():
        both = x["reliability_before"], x["reliability"]
        number = sum(y["count"] for y in both[1]["bins"])
        above = [
            f"{percent(y['probability'])}, {percent(y['right'])}"
            for y in (one["bins"][-1] for one in both)
        ]
        errors = [f"{y['error']:.3f}" for y in both]
        rows.append([file, f"{number:,}", *errors, *above])
    return rows


def thresholds():
    files = read("names_probabilities")["files"]
    columns = [
        files[name]["thresholds"]
        for name in ("EWT", "PUD, news", "Broad Twitter Corpus", "WNUT 2017")
    ]
    best, *others = zip(*columns)
    # Who redacts a text wants a high recall.
    others = [row for row in others if row[0]["threshold"] <= 0.5]
    return [
        [
            str(row[0]["threshold"] or "none"),
            *(
                percent(x[f"words_{key}"], 1)
                for x in row
                for key in ("recall", "precision")
            ),
        ]
        for row in (*others, best)
    ]


def raw_text():
    return [
        [f"{100 * x[key]:.2f}" for key in ("tokens", "sentences", "tags")]
        for x in read("english_pos_raw")["tokens_by"].values()
    ]


def rivals():
    """Both scores, and the megabytes that a tagger for EWT loads."""
    pos, names = (x["taggers"] for x in read("rivals")["tasks"].values())
    return [
        [
            f"{100 * x['test']['accuracy']:.2f}",
            f"{100 * names[name]['test']['f1']:.2f}" if name in names else "",
            f"{x['megabytes']:.0f}",
        ]
        for name, x in pos.items()
    ]


def tagger_speeds():
    """Words per second, their share of the embedder's, and milliseconds."""
    results, rows = read("tagger_speed"), []
    for tagger, names in SPEEDS.items():
        times = results["seconds"][tagger]
        for name in names:
            corpus, one = (median(x) for x in times[name].values())
            share = median(times["ElmoEmbedder"]["corpus"]) / corpus
            speed = f"{results['words'] / corpus:,.0f}"
            rows.append([speed, f"{share:.2f}", f"{1000 * one:.1f}"])
    return rows


def small_transformer():
    """The scores in all tasks, and the costs for EWT with 125 sentences.

    A star marks the score of a single training.
    """
    tasks = read("small_transformer")["tasks"]
    rows = []
    for name, x in tasks["ewt125"]["taggers"].items():
        seeds = [task["taggers"][name]["seeds"] for task in tasks.values()]
        own = [f"{100 * mean(x):.1f}{'*' * (len(x) == 1)}" for x in seeds]
        costs = (
            x["words"] / median(x["seconds"]),
            x["megabytes"],
            x["processor_minutes"],
        )
        rows.append([*own, *(f"{cost:,.0f}" for cost in costs)])
    return rows


def formats():
    found = read("tagger_formats")
    return [
        [
            f"{found['words'] / median(x['seconds']):,.0f}",
            f"{x['megabytes']:.1f}",
            str(x["different_labels"]),
        ]
        for x in found["formats"].values()
    ]


def named_entities():
    return [
        [
            with_deviation(scores("tagging_names", name, part))
            for part in ("dev", "test")
        ]
        for name in NAMES
    ]


def entity_types():
    kinds = "person", "location", "group", "creative-work", "corporation"
    trainings = read("tagging_names")["trainings"]
    return [
        [
            f"{mean(100 * run['test']['types'][kind] for run in runs):.1f}"
            for kind in (*kinds, "product")
        ]
        for runs in map(trainings.get, NAMES)
    ]


def single_layers():
    return [
        [
            with_deviation(scores("tagging_pos", f"probe-{probe}-100", part))
            for part in ("dev", "test")
        ]
        for probe in ("layer-0", "layer-1", "layer-2", "average")
    ]


def layer_weights():
    """Means of the learned weights of layers 0, 1, 2, at each place."""
    rows = []
    for results, training, place in (
        ("tagging_pos", "elmo-100", "input"),
        ("tagging_names", "elmo-both", "input"),
        ("tagging_names", "elmo-both", "output"),
    ):
        runs = read(results)["trainings"][training]
        every = (run["mix_weights"][place]["weights"] for run in runs)
        rows.append([f"{mean(layer):.2f}" for layer in zip(*every)])
    return rows


def word_senses():
    results = read("word_senses")
    right, words = results["right"], results["words"]["ALL"]
    rows = []
    for row in "first sense", "layer 0", "layer 1", "layer 2", "average":
        both = (f"english_{size}, {row}" for size in ("tiny", "mini"))
        # Both have the same first senses.
        found = [right.get(x, right["first sense"])["ALL"] for x in both]
        rows.append([*(f"{100 * x / words:.1f}" for x in found), None])
    return rows


def more_text():
    return [
        [
            with_deviation(scores(f"tagging_names{end}", "elmo-both")),
            with_deviation(scores(f"tagging_pos{end}", "elmo-1")),
            with_deviation(scores(f"tagging_pos{end}", "elmo-10")),
        ]
        for end in ("_sixteenth", "_quarter", "_adam", "")
    ]


def grammar():
    return [
        [f"{model['all'][key]:.1f}%" for key in ("forward", "sum")]
        for model in read("blimp")["models"].values()
    ]


def encoders():
    results = read("encoders")
    return [
        [
            f"{results['words'] / median(row['text']):,.0f}",
            f"{1000 * median(row['sentence']):.1f}",
            f"{median(row['megabytes']):,.0f}",
            f"{median(row['start']):.1f}",
            f"{row['file_megabytes']:,.0f}",
        ]
        for row in results["rows"]
        # It lies between the two other sizes of ELMo.
        if row["name"] != "small"
    ]


def hours():
    """Of a billion words, at the speeds of `encoders`."""
    results = read("encoders")
    found = {}
    for row in results["rows"]:
        runtime = "`ElmoEmbedder`"
        is_elmo = row["name"] in ("original", "small", "english_mini")
        if is_elmo == (row["runs_in"] == runtime):
            value = 1e9 / results["words"] * median(row["text"]) / 3600
            found.setdefault(row["name"], []).append(f"{value:.0f}")
    return [*found.values()]


SIZES = "original", "small"
ON_A_CORPUS = (
    "AllenNLP",
    "simple_elmo",
    "ElmoLayer",
    "ElmoEmbedder",
    "ElmoEmbedder, mixed_bfloat16",
    "ElmoEmbedder, int8",
)
ON_ONE_SENTENCE = (*ON_A_CORPUS[:4], "SavedModel", "ONNX", "ONNX, int8")


def speed_up(size, section, name):
    every = read(f"packages_{size}")[section]
    return f"{median(every['bilm-tf']) / median(every[name]):.1f}"


def speed_ups(section, packages):
    return [
        [speed_up(size, section, name) for size in SIZES] for name in packages
    ]


def memory():
    return [
        [f"{median(megabytes for _, megabytes in runs):,.0f}"]
        for runs in read("packages_small")["load"].values()
    ]


def backends():
    """Speeds, divided by that of the first backend."""
    speeds = []
    for name in "tensorflow", "jax", "torch", "torch_one_thread":
        results = read(f"backends_{name}")
        speeds.append(results["tokens"] / median(results["seconds"]))
    return [[f"{speed / speeds[0]:.2f}"] for speed in speeds]


def gpus():
    return [
        [
            "{:,} to {:,}".format(*found[model])
            for model in ("english_tiny", "original")
        ]
        for found in read("backends_gpu")["tokens_per_second"].values()
    ]


def an_hour():
    rows = []
    for name, minutes in itertools.product(
        ("laptop", "english_mini"), (10, 60)
    ):
        curves = read(f"recipes_{name}")["curves"].items()
        muon, adam = (
            mean(
                curve[-1][1]
                for key, curve in curves
                if key.startswith(f"{optimizer}-{minutes}-")
            )
            for optimizer in ("muon", "adam")
        )
        lower = f"{percent(1 - muon / adam, 1)} lower"
        rows.append([name, str(minutes), f"{muon:.1f}", f"{adam:.1f}", lower])
    return rows


def perplexities():
    results = read("pretraining_perplexity")["perplexities"]
    return [
        [", ".join(f"{run['perplexity']:,.2f}" for run in runs)]
        for runs in results.values()
    ]


def serving():
    results = read("serving")
    return [
        [
            f"{1000 * statistics.quantiles(results[way], n=100)[k]:,.0f}"
            for k in (49, 98)
        ]
        for way in ("alone", "together")
    ]


def eight_bits():
    results = read("int8_english_mini")
    ways = "embedder", "ONNX"

    def percents(shares):
        return ", ".join(percent(x, 1) if x else "0" for x in shares)

    drifts = [results["drift"][way] for way in ways]
    return [
        ["", *(percents(results["layers"][way]) for way in ways)],
        ["", *(percents([x[0], x[-1]]) for x in drifts)],
        [f"{x:.2f}" for x in results["perplexity"].values()],
        [
            ", ".join(f"{mean(seeds):.2f}" for seeds in every)
            for every in results["accuracy"].values()
        ],
    ]


if __name__ == "__main__":
    main()
