"""Figures on the pages are those of docs/results, and the same on each page."""

import datetime
import hashlib
import importlib
import itertools
import json
import math
import re
import statistics
from statistics import mean
from statistics import median

from conftest import ROOT

from keras_elmo import PRESETS
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.text import read_conll

BENCHMARKS = "docs/benchmarks.md"
TAGGING_README = "benchmarks/tagging/README.md"
NAMES = {
    "baseline": "baseline",
    "ELMo at input and output": "elmo-both",
    "layer 0, at both": "layer-0",
}


def read_results(name):
    return json.loads((ROOT / f"docs/results/{name}.json").read_text("utf-8"))


def read_page(page):
    """Returns a page without line breaks."""
    return " ".join((ROOT / page).read_text("utf-8").split())


def check(page, sentence):
    assert sentence in read_page(page), f"{page} should say: {sentence}"


def read_table(page, heading):
    """Returns the first table below a heading, lists of its rows' cells."""
    text = (ROOT / page).read_text("utf-8").split(f"# {heading}", 1)[1]
    rows = re.search(r"^\| ---.*\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
    return [
        [cell.strip() for cell in row[1:-1].split("|")]
        for row in rows.splitlines()
    ]


def scores(results, training, part="test"):
    runs = read_results(results)["trainings"][training]
    return [100 * run[part]["score"] for run in runs]


def with_deviation(values):
    return f"{mean(values):.2f} ± {statistics.stdev(values):.2f}"


def gain(values, others):
    deviation = math.hypot(statistics.stdev(values), statistics.stdev(others))
    return f"{mean(values) - mean(others):+.2f} ± {deviation:.2f}"


def test_parts_of_speech():
    table = read_table(BENCHMARKS, "Part-of-speech tagging")
    for row, percent in zip(table, (1, 10, 100), strict=True):
        runs = read_results("tagging_pos")["trainings"][f"elmo-{percent}"]
        (number,) = {run["training_sentences"] for run in runs}
        without = scores("tagging_pos", f"baseline-{percent}")
        with_elmo = scores("tagging_pos", f"elmo-{percent}")
        fewer = 1 - (100 - mean(with_elmo)) / (100 - mean(without))
        assert row == [
            f"{number:,} ({percent}%)",
            with_deviation(without),
            with_deviation(with_elmo),
            f"{fewer:.0%}",
        ]


def test_english_pos():
    results = read_results("english_pos")
    dev, test = (
        f"{100 * results[part]['accuracy']:.2f}" for part in ("dev", "test")
    )
    card = read_page("keras_elmo/presets/english_pos/README.md")
    assert f"{dev}% on dev, {test}% on test" in card
    baseline, mini = (
        f"{mean(scores('tagging_pos', name)):.2f}"
        for name in ("baseline-100", "elmo-100")
    )
    assert (
        f"{dev} on dev and {test} on test, between the baseline's {baseline} "
        f"and {mini} in the first table. "
    ) in read_page(BENCHMARKS)
    check(
        "README.md",
        f"the {results['training_sentences']:,} training sentences of UD "
        f"English EWT: {results['test']['accuracy']:.1%} of the words",
    )


def test_english_names():
    results = read_results("names_probabilities")
    files, training = results["files"], read_results("english_names")
    assert training["temperature"] == results["temperature"]
    card = "keras_elmo/presets/english_names/README.md"
    rows = []
    for name, x in files.items():
        spacy = results["spacy"]["files"][name]
        for who, row in (("english_names", x["scores"]), ("spaCy", spacy)):
            kinds = [row["types"][kind] for kind in ("PER", "LOC", "ORG")]
            shares = [
                f"{100 * y['precision']:.0f} / {100 * y['recall']:.0f}"
                for y in (*kinds, row)
            ]
            file = name if who != "spaCy" else ""
            rows.append([file, who, *shares, f"{100 * row['f1']:.1f}"])
    assert read_table(card, "How much it finds") == rows
    assert read_table(BENCHMARKS, "`english_names`") == rows
    sentences = f"{training['training_sentences']:,} sentences"
    check(BENCHMARKS, f"{sentences} of the web")
    check(card, f"{sentences}, {training['training_words']:,} words")
    check(card, f"scores divided by {training['temperature']:.2f}")
    dev = training["dev"]
    f1 = f"{100 * dev['f1']:.1f}"
    check(card, f"({dev['sentences']:,} sentences, F1 {f1}) chose")


def test_probabilities_of_entities():
    results = read_results("names_probabilities")
    rows, small = [], []
    for name, x in results["files"].items():
        both = x["reliability_before"], x["reliability"]
        last = [y["bins"][-1] for y in both]
        errors = [f"{y['error']:.3f}" for y in both]
        small += [name] if both[1]["error"] <= 0.05 else []
        number = sum(y["count"] for y in both[1]["bins"])
        above = [
            f"{100 * y['probability']:.0f}%, {100 * y['right']:.0f}%"
            for y in last
        ]
        rows.append([name, f"{number:,}", *errors, *above])
    assert read_table(BENCHMARKS, "Probabilities of entities") == rows
    assert small == ["EWT", "Broad Twitter Corpus", "Wikigold"]
    check(BENCHMARKS, f"best, here {results['temperature']:.2f}.")
    seconds = {k: median(x) for k, x in results["seconds"].items()}
    alone, entities, threshold = (
        x / seconds["predict"] for x in seconds.values()
    )
    assert alone == 1 and max(entities, threshold) < 1.15
    check(
        BENCHMARKS,
        f"takes {100 * (entities - 1):.0f}% more time than `predict` "
        f"({100 * (threshold - 1):.0f}% with a threshold of 0.1)",
    )


def test_redaction():
    files = read_results("names_probabilities")["files"]
    columns = [
        files[name]["thresholds"]
        for name in ("EWT", "PUD, news", "Broad Twitter Corpus", "WNUT 2017")
    ]
    best, *others = zip(*columns)
    rows = []
    for row in (*others, best):
        shares = [
            f"{100 * x[f'words_{key}']:.1f}%"
            for x in row
            for key in ("recall", "precision")
        ]
        rows.append([str(row[0]["threshold"] or "none"), *shares])
    page = "docs/redaction.md"
    assert read_table(page, "Which threshold?") == rows
    least = columns[0][1]["words_recall"]
    check(page, f"{100 * least:.0f}% of the words of names in web text")
    check(page, f"about one word in {1 / (1 - least):.0f} remains")
    worst = columns[-1][1]["words_recall"]
    check(page, f"rare names (WNUT) one in {1 / (1 - worst):.0f}.")


def test_raw_text():
    found = read_results("english_pos_raw")["tokens_by"]
    rows = read_table(BENCHMARKS, "`english_pos`")
    assert [row[0].split(": ")[-1] for row in rows] == list(found)
    for row, x in zip(rows, found.values()):
        columns = ("tokens", "sentences", "tags")
        assert row[1:] == [f"{100 * x[key]:.2f}" for key in columns]
    tags = found["spaCy's rules"]["tags"]
    card = "keras_elmo/presets/english_pos/README.md"
    check(card, f"| F1 of tags on raw text | {tags:.2%} on test, ")
    gold = f"{100 * found['the treebank']['tags']:.2f}"
    check(BENCHMARKS, f"| `english_pos`, 24 MB | {gold} | UD 2.15 |")
    check(
        BENCHMARKS, f"| `english_pos` | {100 * tags:.2f} | UD 2.15 | raw text"
    )


def test_other_taggers():
    results = read_results("rivals")
    words = f"{results['vectors']['tokens'] / 1e6:.0f} million tokens"
    check(BENCHMARKS, f"learned from the same {words}")
    found = {}
    for task in results["tasks"].values():
        table = read_table(BENCHMARKS, f"{task['title']}, trained here")
        for (name, *cells), (key, x) in zip(
            table, task["taggers"].items(), strict=True
        ):
            score = 100 * x["test"][task["measure"]]
            speed = x["words"] / median(x["seconds"])
            assert name.startswith(key)
            assert cells == [
                f"{score:.2f}",
                f"{speed:,.0f}",
                f"{x['megabytes']:.0f}",
                f"{x['processor_minutes']:.0f}",
            ]
            found.setdefault(key, []).extend([score, speed, x["megabytes"]])
    compared = zip(found["keras-elmo"], found["word2vec"])
    ewt, ewt_speed, sizes, wnut, wnut_speed, _ = compared
    first, second = (b / a for a, b in (ewt_speed, wnut_speed))
    fewer = 1 - (100 - ewt[0]) / (100 - ewt[1])
    check(BENCHMARKS, f"{fewer:.0%} fewer errors than word2vec on EWT")
    check(BENCHMARKS, f"adds {wnut[0] - wnut[1]:.1f} points of F1 on WNUT")
    check(BENCHMARKS, f"tags {first:.1f} to {second:.1f} times as fast")
    check(BENCHMARKS, f"file {sizes[1] / sizes[0]:.1f} times as large")
    spacy = [
        x / y for x, y in zip(found["spaCy"][1::3], found["keras-elmo"][1::3])
    ]
    check(
        BENCHMARKS, f"spaCy, which tags {spacy[0]:.1f} to {spacy[1]:.1f} times"
    )
    check("README.md", f"one seed, ELMo gives {wnut[0]:.1f}%")
    check("README.md", f"in its place, it is {wnut[1]:.1f}%")
    check("README.md", f"the tagger is {second:.1f} times as fast")


def test_the_formats_of_a_tagger():
    found = read_results("tagger_formats")
    for (*_, speed, size, different), x in zip(
        read_table(BENCHMARKS, "One tagger in four formats"),
        found["formats"].values(),
        strict=True,
    ):
        assert speed == f"{found['words'] / median(x['seconds']):,.0f}"
        assert size == f"{x['megabytes']:.1f}"
        assert different == str(x["different_labels"])
    check(BENCHMARKS, f"This is `{found['model']}` in each")
    check(BENCHMARKS, f"on the {found['words']:,} words")


def test_the_sentences_of_the_examples():
    folder = ROOT / "examples/ner_data"
    text = (folder / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \| (.*?) \|", text, re.M)
    assert len(rows) == 3
    for name, *cells in rows:
        sentences, tags = read_conll(folder / name)
        begins = [x for row in tags for x in row if x.startswith("B-")]
        counts = len(sentences), sum(map(len, sentences)), len(begins)
        assert cells == [f"{count:,}" for count in counts]
        if name == "train.conll":
            organisations = begins.count("B-ORG")
            page = "docs/tutorials/named-entities.md"
            check(page, f"training sentences contain only {organisations},")


def test_named_entities():
    table = read_table(BENCHMARKS, "Named entity recognition")
    tests = {k: scores("tagging_names", v) for k, v in NAMES.items()}
    baseline, both, layer_0 = tests.values()
    check(
        BENCHMARKS,
        f"alone gains {mean(layer_0) - mean(baseline):.1f} points, and context "
        f"adds {mean(both) - mean(layer_0):.1f}",
    )
    for row, (name, test) in zip(table, tests.items(), strict=True):
        runs = read_results("tagging_names")["trainings"][NAMES[name]]
        is_best = name == "ELMo at input and output"
        assert row == [
            name,
            with_deviation(scores("tagging_names", NAMES[name], "dev")),
            with_deviation(test),
            "" if test is baseline else gain(test, baseline),
            gain(test, layer_0) if is_best else "",
            f"{mean(run['updates_to_best'] for run in runs):,.0f}",
        ]


def test_named_entities_by_type():
    kinds = ["person", "location", "group", "creative-work", "corporation"]
    for name, *cells in read_table(TAGGING_README, "F1 by entity type"):
        runs = read_results("tagging_names")["trainings"][NAMES[name]]
        assert cells == [
            f"{mean(100 * run['test']['types'][kind] for run in runs):.1f}"
            for kind in [*kinds, "product"]
        ]


def test_single_layers():
    table = read_table(BENCHMARKS, "Which layer to use")
    probes = ("layer-0", "layer-1", "layer-2", "average")
    for (_, *cells), probe in zip(table, probes, strict=True):
        assert cells == [
            with_deviation(scores("tagging_pos", f"probe-{probe}-100", part))
            for part in ("dev", "test")
        ]


def test_word_senses():
    results = read_results("word_senses")
    right, only, words = (results[key] for key in ("right", "only", "words"))
    sizes = ("tiny", "mini")
    for row, *cells in read_table(TAGGING_README, "Word senses"):
        names = [f"english_{size}, {row}" for size in sizes]
        shares = [
            right.get(name, right["first sense"])["ALL"] / words["ALL"]
            for name in names
        ]
        assert cells[:2] == [f"{100 * share:.1f}" for share in shares]
    tiny, mini = (
        [f"english_{size}, layer {layer}" for layer in range(3)]
        for size in sizes
    )
    for model, test_set in itertools.product((tiny, mini), words):
        # The second layer leads in each set.
        assert max(model, key=lambda x: right[x][test_set]) == model[2]
    best = right["first sense"]["ALL"]
    most = max(right[name]["ALL"] for name in (*tiny, *mini))
    assert abs(most - best) / words["ALL"] < 0.002, "at best it is as good"
    page = read_page(TAGGING_README)
    assert f"the {words['ALL']:,} words" in page
    assert f"on {only[mini[2]][mini[1]]} words where the first is" in page
    assert f"({only[mini[1]][mini[2]]} the other way" in page


def test_blimp():
    card = "keras_elmo/presets/english_mini/README.md"
    mini, tiny = read_results("blimp")["models"].values()
    table = read_table(card, "Grammar")
    for result, (_, _, *cells) in zip((mini, tiny), table, strict=False):
        result = result["all"]
        assert cells == [f"{result[k]:.1f}%" for k in ("forward", "sum")]
    for result in (mini, tiny):
        assert len(result["paradigms"]) == 67
    page = read_page(card)
    a, b = mini["unknown_words"], tiny["unknown_words"]
    assert f"{a:.1f}% of BLiMP's words are outside" in page
    assert f"({b:.1f}% for `english_tiny`)" in page
    a, b = mini["all"], tiny["all"]
    assert (
        f"On the {a['known']:.0f}% of the pairs without such a word "
        f"({b['known']:.0f}%), {a['forward_known']:.1f}% "
        f"({b['forward_known']:.1f}%) are right"
    ) in page
    parts = {k: v["forward"] for k, v in mini["phenomena"].items()}
    agreement = [v for k, v in parts.items() if k.endswith("_agreement")]
    least, most, low, high = (
        f"{value:.0f}"
        for value in (
            parts["npi_licensing"],
            parts["irregular_forms"],
            min(agreement),
            max(agreement),
        )
    )
    assert f"irregular forms ({most}%) and agreement ({low} to {high}%)" in page
    assert f"least ({least}%)" in page
    assert min(parts, key=parts.get) == "npi_licensing"


def test_dates_on_the_tagging_page():
    for name in ("word_senses", "english_pos"):
        date = datetime.date.fromisoformat(read_results(name)["date"])
        check(
            TAGGING_README,
            f"with `english_mini` were measured on {date.day} {date:%B %Y}",
        )


def test_occurrences():
    results = read_results("occurrences")
    counts, sentences = results["counts"], results["sentences"]
    none, *shares = results["nearest_has_same_tag"]
    assert none is None
    same = " and ".join(f"{share:.0%}" for share in shares)
    page = "docs/what-is-elmo.md"
    for each in ("README.md", page):
        check(each, f"{sentences} sentences")
        check(each, f"in {same} of the cases")
    check(page, f"one of the {sum(counts.values())} occurrences")
    largest = max(counts.values()) / sum(counts.values())
    assert largest < 0.55, f"{page} says that half agree by chance"


def test_more_text():
    table = read_table(TAGGING_README, "More text")
    ends = ("_sixteenth", "_quarter", "_adam", "")
    for (_, *cells), end in zip(table, ends, strict=True):
        assert cells == [
            with_deviation(scores(f"tagging_names{end}", "elmo-both")),
            with_deviation(scores(f"tagging_pos{end}", "elmo-1")),
            with_deviation(scores(f"tagging_pos{end}", "elmo-10")),
        ]
    first, _, third, last = (
        scores(f"tagging_names{end}", "elmo-both") for end in ends
    )
    check(TAGGING_README, f"both together ({gain(third, first)})")
    check(TAGGING_README, f"the last adds {gain(last, third).lstrip('+')}")


def test_classification():
    page = read_page("docs/tutorials/classification.md")
    for name, text in (
        ("reviews", "is {:.1f}%, and frozen ELMo's {:.1f}%"),
        ("questions", "qc.zip), {:.1f}% and {:.1f}%"),
    ):
        accuracy = read_results(f"classification_{name}")["accuracy"]
        ways = ("bag of words", "english_mini")
        assert text.format(*(100 * mean(accuracy[way]) for way in ways)) in page


def test_transformers():
    results = read_results("encoders")
    table = read_table("docs/transformers.md", "Cost on a CPU")
    for (_, _, *cells), row in zip(table, results["rows"], strict=True):
        assert cells == [
            f"{results['words'] / median(row['text']):,.0f}",
            f"{1000 * median(row['sentence']):.1f}",
            f"{median(row['megabytes']):,.0f}",
            f"{median(row['start']):.1f}",
            f"{row['file_megabytes']:,.0f}",
        ]
    sizes = [f"{row['file_megabytes']:.0f} MB" for row in results["rows"]]
    assert f"{sizes[1]} in float32 and {sizes[3]}" in read_page("docs/onnx.md")


def test_transformers_in_words():
    rows = {
        (row["name"], row["runs_in"], row["precision"]): row
        for row in read_results("encoders")["rows"]
    }
    runtime, page = "ONNX Runtime", "docs/transformers.md"
    elmo, bert, distilbert, minilm = (
        [rows[name, runs_in, precision] for precision in ("float32", "int8")]
        for name, runs_in in (
            ("original", "`ElmoEmbedder`"),
            ("BERT-base", runtime),
            ("DistilBERT", runtime),
            ("MiniLM-L6", runtime),
        )
    )
    for our, their in zip(elmo, bert, strict=True):
        ratio = median(their["text"]) / median(our["text"])
        *first, last = (
            f"{theirs / ours:.2f}"
            for theirs, ours in zip(their["text"], our["text"], strict=True)
        )
        check(page, f"embeds {ratio:.1f} times as many")
        check(page, f"({', '.join(first)} and {last}")

    def faster(model):
        return (
            f"{median(our['text']) / median(their['text']):.1f}"
            for our, their in zip(elmo, model, strict=True)
        )

    check(
        page,
        "DistilBERT embeds {} times as many words per second as `original` in "
        "float32, and {} times with 8-bit weights. ".format(*faster(distilbert))
        + "MiniLM-L6 embeds {} and {} times as many.".format(*faster(minilm)),
    )
    float32, int8 = (
        median(rows["original", runtime, precision]["sentence"])
        / median(rows["BERT-base", runtime, precision]["sentence"])
        for precision in ("float32", "int8")
    )
    check(page, f"{int8:.1f} times as long as BERT-base with 8-bit")
    check(page, f"and {float32:.1f} times in float32")


SIZES = ("original", "small")
ON_A_CORPUS = {  # The page's rows, and their names in the JSON files.
    "AllenNLP": "AllenNLP",
    "simple_elmo": "simple_elmo",
    "`ElmoLayer`": "ElmoLayer",
    "`ElmoEmbedder`": "ElmoEmbedder",
    "`ElmoEmbedder`, `mixed_bfloat16`": "ElmoEmbedder, mixed_bfloat16",
    '`ElmoEmbedder(quantize="int8")`': "ElmoEmbedder, int8",
}
ON_ONE_SENTENCE = {
    **dict([*ON_A_CORPUS.items()][:4]),
    "exported SavedModel": "SavedModel",
    "ONNX file": "ONNX",
    "ONNX file, 8 bits": "ONNX, int8",
}


def test_other_packages():
    results = [read_results(f"packages_{size}") for size in SIZES]

    def speed_up(result, section, name):
        every = result[section]
        return f"{median(every['bilm-tf']) / median(every[name]):.1f}"

    for heading, section, names in (
        ("A corpus", "throughput", ON_A_CORPUS),
        ("One sentence", "latency", ON_ONE_SENTENCE),
    ):
        table = read_table(BENCHMARKS, heading)
        for row, (shown, name) in zip(table, names.items(), strict=True):
            assert row == [
                shown,
                *(speed_up(result, section, name) for result in results),
            ]
    *_, small = results
    ours, theirs = (
        median(small["training"][name]) for name in ("ElmoLayer", "AllenNLP")
    )
    page = BENCHMARKS
    check(page, f"the layer in a compiled model is {theirs / ours:.1f} times")
    memory = {
        name: median(megabytes for _, megabytes in found)
        for name, found in small["load"].items()
    }
    for name, *cells in read_table(page, "Memory"):
        megabytes = memory[ON_ONE_SENTENCE.get(name, name)]
        ratio = megabytes / memory["ElmoEmbedder"]
        assert cells == [f"{megabytes:,.0f}", f"{ratio:.1f}"]
    for result in results:
        check(page, f"on {result['date']}")
        check(page, f"the first {result['sentences']} sentences")


def test_pretraining_on_a_gpu():
    results = read_results("gpu_pretraining")
    page = "docs/pretraining.md"
    tokens, seconds = results["tokens"], results["seconds"]
    found, on_cpus = results["perplexity"].values()
    check(page, f"in {seconds / 60:.1f} minutes")
    check(
        page,
        f"It read {round(tokens / seconds, -3):,.0f} tokens per second, "
        f"{tokens / 1e6:.0f} million in all, and the perplexity of 1,000 "
        f"held-out sentences is {found:.1f}.",
    )
    check(page, f"hours, had {on_cpus:.1f} ")
    check(page, f"(results/gpu_pretraining.json), {results['date']}")
    card = "keras_elmo/presets/english_mini/README.md"
    check(card, f"In {results['steps']:,} steps of 512 rows of 20 tokens")
    check(card, f"in 32 streams, is {found:.1f}.")
    check(card, f"and gave a perplexity of {on_cpus:.1f}.")


def test_a_processor_with_amx():
    results = read_results("packages_original_amx")
    runs = {k: median(v) for k, v in results["throughput"].items()}
    float32, half, int8 = (
        f"{runs['simple_elmo'] / runs[name]:.1f} times"
        for name in [*ON_A_CORPUS.values()][3:]
    )
    check(
        BENCHMARKS,
        f"`ElmoEmbedder` is {float32} as fast as simple_elmo in float32, "
        f"{half} in bfloat16 and {int8} with 8 bits.",
    )
    check(
        BENCHMARKS, f"(results/packages_original_amx.json), {results['date']}"
    )


def test_shares_of_the_machine(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    machine = importlib.import_module("machine")
    results = read_results("packages_original")
    page = BENCHMARKS
    # Without the speeds of the machine, there is nothing to state.
    assert ("## What limits the speed" in read_page(page)) == bool(
        results["speeds"]
    )
    if results["speeds"]:
        speeds = machine.medians(results["speeds"])
        corpus, sentence = (
            median(results[section]["ElmoEmbedder"])
            for section in ("throughput", "latency")
        )
        flops = results["flops"] / corpus / speeds["float32"] / 1e9
        read = results["bytes"]["ElmoEmbedder"] / sentence / speeds["read"]
        check(page, f"reached {flops:.0%} of the machine's matrix multiply")
        check(page, f"uses {read / 1e9:.0%} of the memory bandwidth")


def test_the_pictures_are_of_the_results():
    for page, picture, name in (
        (BENCHMARKS, "speed", "packages_original"),
        ("docs/transformers.md", "transformers", "encoders"),
        (BENCHMARKS, "reliability", "names_probabilities"),
    ):
        results = (ROOT / f"docs/results/{name}.json").read_bytes()
        digest = hashlib.sha256(results).hexdigest()
        drawn = (ROOT / f"docs/{picture}.svg").read_text("utf-8")
        assert digest in drawn, "run docs/draw.py"
        assert f"]({picture}.svg)" in read_page(page)


def test_sizes_of_presets():
    for name, *_, download in read_table("docs/models.md", "Pre-trained"):
        preset = PRESETS[name.strip("`")]
        on_the_web = f"{preset.megabytes} MB"
        assert download == ("in the package" if preset.path else on_the_web)


def test_perplexities():
    tiny = "tests/english_tiny/README.md"
    (stream,) = re.findall(r"perplexity \| ([\d.]+) \(", read_page(tiny))
    (alone,) = re.findall(r"([\d.]+) with each sentence", read_page(tiny))
    page = read_page("docs/pretraining.md")
    assert f"({alone} instead of {stream} for `english_tiny`)" in page
    *_, row = read_table("docs/pretraining.md", "Measurements")
    assert stream == f"{float(row[-1]):.1f}"


def test_pretraining():
    results = read_results("pretraining_speed")
    theirs, ours = (
        [results["tokens_per_turn"] / s for s in results["seconds"][name]]
        for name in ("bilm-tf", "keras-elmo")
    )
    ratio = median(ours) / median(theirs)
    page = read_page("docs/pretraining.md")
    assert f"bilm-tf {median(theirs):,.0f} tokens per second" in page
    assert f"`keras-elmo pretrain` {median(ours):,.0f}" in page
    for name in ("docs/pretraining.md", BENCHMARKS, "README.md"):
        assert f"{ratio:.1f} times" in read_page(name)


def test_an_hour_of_pretraining():
    page = "docs/pretraining.md"
    models = {
        name: read_results(f"recipes_{name}")
        for name in ("laptop", "english_mini")
    }
    expected = []
    for name, minutes in itertools.product(models, (10, 60)):
        curves = models[name]["curves"].items()
        muon, adam = (
            mean(
                curve[-1][1]
                for key, curve in curves
                if key.startswith(f"{optimizer}-{minutes}-")
            )
            for optimizer in ("muon", "adam")
        )
        lower = f"{1 - muon / adam:.1%} lower"
        row = [name, f"{minutes}", f"{muon:.1f}", f"{adam:.1f}", lower]
        expected.append(row)
    assert read_table(page, "What an hour gives") == expected
    speeds = [
        median(models[name]["tokens_per_second"][optimizer])
        for name in models
        for optimizer in ("adam", "muon")
    ]
    first, second, *others = (f"{speed:,.0f}" for speed in speeds)
    check(page, f"{first} tokens per second with Adam and {second} with Muon")
    check(page, f"and {' and '.join(others)} for the other")
    ratio = speeds[0] / speeds[1]
    check(page, f"takes {ratio:.1f} times as long as with `--optimizer")


def test_the_memory_of_pretraining():
    results = read_results("training_memory")
    check(
        "docs/pretraining.md",
        f"({results['vocabulary']:,} words, {results['batch_size']} rows) "
        f"takes {results['peak_gib']:.1f} GiB of memory",
    )


def test_backends():
    for link, speed in read_table(BENCHMARKS, "Backends"):
        results = read_results(re.search(r"results/(\w+)\.json", link)[1])
        every = [results["tokens"] / seconds for seconds in results["seconds"]]
        assert (link, speed) == (link, f"{median(every):,.0f}")
        check(BENCHMARKS, f"The model is `{results['model']}`")
    gpu = read_results("backends_gpu")["tokens_per_second"]
    for name, *cells in read_table(BENCHMARKS, "GPU"):
        assert cells == [
            "{:,} to {:,}".format(*gpu[name][model])
            for model in ("english_tiny", "original")
        ]


def test_the_cluster():
    results = read_results("cluster")
    process, workers = (
        median(results["seconds"][way]) for way in ("process", "workers")
    )
    ratio = process / workers
    check("docs/corpus.md", f"were {ratio:.1f} times as fast as one process")


def test_the_first_step():
    results = read_results("first_step")
    frozen, thawed, embedding = (
        f"{median(results['seconds'][kind]):.1f} s"
        for kind in ("frozen", "thawed", "embedding")
    )
    check(
        BENCHMARKS,
        f"takes {frozen} of processor time over a frozen `{results['model']}`, "
        f"{thawed} over a trainable one, and {embedding} over an `Embedding`",
    )


def test_serving():
    results = read_results("serving")
    assert results["wrong"] == 0
    alone, together = (
        [1000 * statistics.quantiles(results[way], n=100)[k] for k in (49, 98)]
        for way in ("alone", "together")
    )
    assert read_table("docs/serving.md", "Speed") == [
        ["1", *(f"{milliseconds:,.0f}" for milliseconds in alone)],
        ["8", *(f"{milliseconds:,.0f}" for milliseconds in together)],
    ]
    check("docs/serving.md", f"takes with `{results['model']}`")
    assert (results["threads"], results["largest"]) == (8, 64)


def test_8_bits():
    results = read_results("int8_english_mini")
    ways = ("embedder", "ONNX")
    layers = [results["layers"][way] for way in ways]
    drifts = [results["drift"][way] for way in ways]
    expected = [
        ["", *map(_percents, layers)],
        ["", *(_percents([x[0], x[-1]]) for x in drifts)],
        [f"{x:.2f}" for x in results["perplexity"].values()],
        [
            ", ".join(f"{mean(seeds):.2f}" for seeds in every)
            for every in results["accuracy"].values()
        ],
    ]
    for (_, *cells), row in zip(
        read_table("docs/onnx.md", "Accuracy"), expected, strict=True
    ):
        assert cells == row
    shares = [100 * share for x in layers for share in x if share]
    assert f" {min(shares):.0f} to {max(shares):.0f}%" in read_page("README.md")


def _percents(shares):
    return ", ".join(
        f"{100 * share:.1f}%" if share else "0" for share in shares
    )


def test_perplexities_of_the_same_training():
    results = read_results("pretraining_perplexity")["perplexities"]
    table = read_table("docs/pretraining.md", "Measurements")
    page, readme = read_page("docs/pretraining.md"), read_page("README.md")
    for (*_, cell), runs in zip(table, results.values(), strict=False):
        assert cell == ", ".join(f"{run['perplexity']:,.2f}" for run in runs)
    theirs, ours = list(results.values())[:2]
    in_rows = theirs[2]["by_its_own_program_in_256_rows"]
    assert f"in 256 rows, gives {in_rows:,.0f} for its third" in page
    middle = [
        median([x["perplexity"] for x in runs]) for runs in (ours, theirs)
    ]
    readme = " ".join(readme.split())
    assert "is {:.0f}, and {:.0f} with bilm-tf".format(*middle) in readme
    most = max(run["perplexity"] for run in theirs)
    assert f"a perplexity of {most / 1e6:.0f} million" in readme
    every = read_results("pretraining_perplexity")
    others = [x["perplexity"] for x in every["in_another_order_of_the_text"]]
    assert f"order ({max(others):,.2f})" in " ".join(page.split())
    one, two = every["laptop_ten_minutes"]["perplexities"]
    assert f"gave {one:.1f} and {two:.1f} ({every['date']})" in page


def test_what_feeds_a_device():
    results = read_results("pretraining_host")
    page = " ".join(read_page("docs/pretraining.md").split())
    runs = {name: results[name] for name in ("jax", "tensorflow")}
    fed = min(median(run["feeding"]) for run in runs.values())
    assert f"prepares {fed / 1e6:.1f} million tokens per second" in page
    speeds = [
        f"{round(median(run['commands']['this']), -3):,.0f}"
        for run in runs.values()
    ]
    on_jax, on_tensorflow = speeds
    told = f"{on_jax} tokens per second on JAX and {on_tensorflow} on"
    assert told in page
    assert f"AMD EPYC, {results['date']}" in page
    read = min(run["reading"] for run in runs.values())
    assert (
        f"about {NUMBERS[round(read / 1e6)]} million tokens per second" in page
    )


NUMBERS = {3: "three"}


def multiplications(recipe):
    """Returns how many a token of one direction takes, forward."""
    options, rows = RECIPES[recipe].options, RECIPES[recipe].batch_size
    lstm, cnn = options["lstm"], options["char_cnn"]
    units, dim = lstm["dim"], lstm["projection_dim"]
    layers = 2 * 2 * (2 * dim * 4 * units + units * dim)
    softmax = 2 * (1 + options["n_negative_samples_batch"]) * dim
    filters = sum(number for _, number in cnn["filters"])
    convolutions = sum(width * number for width, number in cnn["filters"])
    word = cnn["max_characters_per_token"] * cnn["embedding"]["dim"]
    word *= convolutions
    word += cnn["n_highway"] * 2 * filters**2 + filters * dim
    # Of a window's tokens, so many are distinct words, in real text.
    distinct = {128: 1862, 512: 5209}[rows]
    return layers + softmax + word * distinct / (20 * rows)


def test_what_the_papers_model_costs():
    page = " ".join(read_page("docs/pretraining.md").split())
    paper, mini = multiplications("paper"), multiplications("gpu")
    assert f"multiplies {paper / 1e6:.0f} million numbers" in page
    assert f"`english_mini` {mini / 1e6:.1f} million" in page
    gpu = read_results("gpu_pretraining")
    speed = gpu["tokens"] / gpu["seconds"] * mini / paper
    assert f"on {round(speed, -3):,.0f}, if it multiplied" in page
    hours = 10 * 832e6 / speed / 3600
    assert f"takes {hours:.0f} hours, and eight of them {hours / 8:.1f}" in page


def test_the_readme_quotes():
    page = read_page("README.md")
    for training in ("elmo-both", "baseline"):
        values = scores("tagging_names", training)
        rounded = f"{mean(values):.1f} ± {statistics.stdev(values):.1f}%"
        assert rounded in page
        assert f"{mean(values):.1f}" in read_page("docs/transformers.md")
    rows = {row[0]: row[1] for row in read_table(BENCHMARKS, "A corpus")}
    for kind in ("`ElmoEmbedder`", '`ElmoEmbedder(quantize="int8")`'):
        assert f" {rows[kind]} times" in page


def test_the_browser():
    page, path = "docs/gallery.md", ROOT / "docs/results/browser.json"
    if not path.exists():  # Without results, there is nothing to state.
        assert " ms" not in read_page(page)
        return
    results = read_results("browser")
    milliseconds = 1000 * median(results["seconds"])
    runs, words = len(results["seconds"]), results["words"]
    check(
        page,
        f"{words} words take {milliseconds:.0f} ms (median of {runs} runs",
    )
    check(page, f"loads {sum(results['megabytes'].values()):.0f} MB")


def test_estimates_for_a_cluster():
    """Hours for a billion words, at the speeds of docs/transformers.md."""
    page = read_page("docs/corpus.md")
    results = read_results("encoders")
    hours = {}
    for row in results["rows"]:
        name = f"`{row['name']}`"
        if row["runs_in"] != "`ElmoEmbedder`":
            name = f"{row['name']}, in ONNX Runtime"
        value = 1e9 / results["words"] * median(row["text"]) / 3600
        hours.setdefault(name, []).append(f"{value:.0f}")
    table = read_table("docs/corpus.md", "Time and storage")
    assert len(table) == 6
    for name, _, *values in table:
        assert values == hours[name]
    values = 1e9 * 2 * 512
    for number in (3 * values, values, values / 20):
        assert f" {4 * number / 1e12:.1f} TB" in page
    # The first row is `original` in float32.
    memory = median(results["rows"][0]["megabytes"]) / 1000
    time = float(hours["`original`"][0]) / 10
    assert f"it takes about {time:.0f} hours" in page
    assert f"and {20 * (memory + 0.5):.0f} GB of memory: each takes" in page
    assert f"{memory:.1f} GB, and 0.5 GB for the vectors of a batch" in page
    assert f"in float16, takes {2 * values / 1e12:.1f} TB" in page
