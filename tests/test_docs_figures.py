"""Figures on the pages are those of docs/results, and the same on each page."""

import datetime
import hashlib
import importlib.util
import itertools
import re
import statistics
from statistics import mean
from statistics import median

import pytest
from conftest import ROOT

from keras_elmo import PRESETS
from keras_elmo.pretraining.settings import RECIPES
from keras_elmo.text import read_conll


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load(ROOT / "docs/tables.py")
gain, read, scores = tables.gain, tables.read, tables.scores
BENCHMARKS, PRETRAINING = "docs/benchmarks.md", "docs/pretraining.md"
TAGGING = tables.TAGGING
MINI_CARD = "keras_elmo/presets/english_mini/README.md"


def check(page, *sentences):
    text = " ".join((ROOT / page).read_text("utf-8").split())
    for sentence in sentences:
        assert sentence in text, f"{page} should say: {sentence}"


@pytest.mark.parametrize(
    "page, heading, cells",
    [pytest.param(*x, id=" ".join(x[:2])) for x in tables.make_tables()],
)
def test_the_tables_are_of_the_results(page, heading, cells):
    text = (ROOT / page).read_text("utf-8")
    assert tables.with_cells(text, heading, cells) == text, "docs/tables.py"
    assert tables.with_cells(text, heading, [["x"]]) != text


def test_the_reference_is_of_the_docstrings_and_the_parsers():
    for path, text in load(ROOT / "docs/reference.py").make_pages():
        assert path.read_text("utf-8") == text, "run docs/reference.py"


def test_the_pictures_are_of_the_results():
    for page, picture, name in (
        (BENCHMARKS, "speed", "packages_original"),
        ("docs/transformers.md", "transformers", "encoders"),
        (BENCHMARKS, "reliability", "names_probabilities"),
    ):
        results = (ROOT / f"docs/results/{name}.json").read_bytes()
        digest = hashlib.sha256(results).hexdigest()
        drawn = (ROOT / f"docs/{picture}.svg").read_text("utf-8")
        assert digest in drawn, "run docs/tables.py"
        check(page, f"]({picture}.svg)")


def test_english_pos():
    results = read("english_pos")
    dev, test = (f"{100 * results[x]['accuracy']:.2f}" for x in ("dev", "test"))
    card = "keras_elmo/presets/english_pos/README.md"
    baseline, mini = (
        f"{mean(scores('tagging_pos', name)):.2f}"
        for name in ("baseline-100", "elmo-100")
    )
    found = read("english_pos_raw")["tokens_by"]
    raw = found["spaCy's rules"]["tags"]
    check(
        card,
        f"{dev}% on dev, {test}% on test",
        f"| F1 of tags on raw text | {raw:.2%} on test, ",
    )
    check(
        BENCHMARKS,
        f"{dev} on dev and {test} on test, between the baseline's {baseline} "
        f"and {mini} in the first table. ",
        f"| `english_pos`, 24 MB | {100 * found['the treebank']['tags']:.2f} |",
        f"| `english_pos` | {100 * raw:.2f} | UD 2.15 | raw text",
    )
    check(
        "README.md",
        f"the {results['training_sentences']:,} training sentences of UD "
        f"English EWT: {results['test']['accuracy']:.1%} of the words",
    )


def test_english_names():
    results = read("names_probabilities")
    training = read("english_names")
    assert training["temperature"] == results["temperature"]
    sentences = f"{training['training_sentences']:,} sentences"
    dev = training["dev"]
    check(
        tables.ENGLISH_NAMES,
        f"{sentences}, {training['training_words']:,} words",
        f"scores divided by {training['temperature']:.2f}",
        f"({dev['sentences']:,} sentences, F1 {100 * dev['f1']:.1f}) chose",
    )
    seconds = {k: median(x) for k, x in results["seconds"].items()}
    alone, entities, threshold = (
        x / seconds["predict"] for x in seconds.values()
    )
    assert alone == 1 and max(entities, threshold) < 1.15
    check(
        BENCHMARKS,
        f"{sentences} of the web",
        f"best, here {results['temperature']:.2f}.",
        f"takes {100 * (entities - 1):.0f}% more time than `predict` "
        f"({100 * (threshold - 1):.0f}% with a threshold of 0.1)",
    )
    files = results["files"]
    small = [k for k, x in files.items() if x["reliability"]["error"] <= 0.05]
    assert small == ["EWT", "Broad Twitter Corpus", "Wikigold"]


def test_redaction():
    files = read("names_probabilities")["files"]
    web, tweets = (
        files[name]["thresholds"][1]["words_recall"]
        for name in ("EWT", "WNUT 2017")
    )
    check(
        "docs/redaction.md",
        f"{100 * web:.0f}% of the words of names in web text",
        f"about one word in {1 / (1 - web):.0f} remains",
        f"rare names (WNUT) one in {1 / (1 - tweets):.0f}.",
    )


def test_other_taggers():
    results = read("rivals")
    found = {}
    for task in results["tasks"].values():
        for name, x in task["taggers"].items():
            score = 100 * x["test"][task["measure"]]
            speed = x["words"] / median(x["seconds"])
            found.setdefault(name, []).extend([score, speed, x["megabytes"]])
    compared = zip(found["keras-elmo"], found["word2vec"])
    ewt, ewt_speed, sizes, wnut, wnut_speed, _ = compared
    first, second = (b / a for a, b in (ewt_speed, wnut_speed))
    fewer = 1 - (100 - ewt[0]) / (100 - ewt[1])
    spacy = [
        x / y for x, y in zip(found["spaCy"][1::3], found["keras-elmo"][1::3])
    ]
    check(
        BENCHMARKS,
        f"learned from the same {results['vectors']['tokens'] / 1e6:.0f} "
        "million tokens",
        f"{fewer:.0%} fewer errors than word2vec on EWT",
        f"adds {wnut[0] - wnut[1]:.1f} points of F1 on WNUT",
        f"tags {first:.1f} to {second:.1f} times as fast",
        f"file {sizes[1] / sizes[0]:.1f} times as large",
        f"spaCy, which tags {spacy[0]:.1f} to {spacy[1]:.1f} times",
    )
    check(
        "README.md",
        f"one seed, ELMo gives {wnut[0]:.1f}%",
        f"in its place, it is {wnut[1]:.1f}%",
        f"the tagger is {second:.1f} times as fast",
    )
    formats = read("tagger_formats")
    check(
        BENCHMARKS,
        f"This is `{formats['model']}` in each",
        f"on the {formats['words']:,} words",
    )


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
            check(
                "docs/tutorials/named-entities.md",
                f"training sentences contain only {begins.count('B-ORG')},",
            )


def test_named_entities():
    baseline, both, layer_0 = (
        scores("tagging_names", name) for name in tables.NAMES
    )
    check(
        BENCHMARKS,
        f"alone gains {mean(layer_0) - mean(baseline):.1f} points, and context "
        f"adds {mean(both) - mean(layer_0):.1f}",
    )
    for values in (both, baseline):
        rounded = f"{mean(values):.1f} ± {statistics.stdev(values):.1f}%"
        check("README.md", rounded)
        check("docs/transformers.md", f"{mean(values):.1f}")
    first, _, third, last = (
        scores(f"tagging_names{end}", "elmo-both")
        for end in ("_sixteenth", "_quarter", "_adam", "")
    )
    check(
        TAGGING,
        f"both together ({gain(third, first)})",
        f"the last adds {gain(last, third).lstrip('+')}",
    )


def test_word_senses():
    results = read("word_senses")
    right, only, words = (results[key] for key in ("right", "only", "words"))
    tiny, mini = (
        [f"english_{size}, layer {layer}" for layer in range(3)]
        for size in ("tiny", "mini")
    )
    for model, test_set in itertools.product((tiny, mini), words):
        # The second layer leads in each set.
        assert max(model, key=lambda x: right[x][test_set]) == model[2]
    best = right["first sense"]["ALL"]
    most = max(right[name]["ALL"] for name in (*tiny, *mini))
    assert abs(most - best) / words["ALL"] < 0.002, "at best it is as good"
    check(
        TAGGING,
        f"the {words['ALL']:,} words",
        f"on {only[mini[2]][mini[1]]} words where the first is",
        f"({only[mini[1]][mini[2]]} the other way",
    )


def test_blimp():
    mini, tiny = read("blimp")["models"].values()
    for result in (mini, tiny):
        assert len(result["paradigms"]) == 67
    parts = {k: v["forward"] for k, v in mini["phenomena"].items()}
    agreement = [v for k, v in parts.items() if k.endswith("_agreement")]
    assert min(parts, key=parts.get) == "npi_licensing"
    a, b = mini["all"], tiny["all"]
    check(
        MINI_CARD,
        f"{mini['unknown_words']:.1f}% of BLiMP's words are outside",
        f"({tiny['unknown_words']:.1f}% for `english_tiny`)",
        f"On the {a['known']:.0f}% of the pairs without such a word "
        f"({b['known']:.0f}%), {a['forward_known']:.1f}% "
        f"({b['forward_known']:.1f}%) are right",
        f"irregular forms ({parts['irregular_forms']:.0f}%) and agreement "
        f"({min(agreement):.0f} to {max(agreement):.0f}%)",
        f"least ({parts['npi_licensing']:.0f}%)",
    )


def test_dates_on_the_tagging_page():
    for name in ("word_senses", "english_pos"):
        date = datetime.date.fromisoformat(read(name)["date"])
        check(
            TAGGING,
            f"with `english_mini` were measured on {date.day} {date:%B %Y}",
        )


def test_occurrences():
    results = read("occurrences")
    counts = results["counts"]
    none, *shares = results["nearest_has_same_tag"]
    assert none is None
    same = " and ".join(f"{share:.0%}" for share in shares)
    page = "docs/what-is-elmo.md"
    for each in ("README.md", page):
        check(each, f"{results['sentences']} sentences", f"in {same} of the")
    check(page, f"one of the {sum(counts.values())} occurrences")
    largest = max(counts.values()) / sum(counts.values())
    assert largest < 0.55, f"{page} says that half agree by chance"


def test_classification():
    for name, text in (
        ("reviews", "is {:.1f}%, and frozen ELMo's {:.1f}%"),
        ("questions", "qc.zip), {:.1f}% and {:.1f}%"),
    ):
        accuracy = read(f"classification_{name}")["accuracy"]
        ways = ("bag of words", "english_mini")
        shares = (100 * mean(accuracy[way]) for way in ways)
        check("docs/tutorials/classification.md", text.format(*shares))


def test_transformers():
    rows = {
        (row["name"], row["runs_in"], row["precision"]): row
        for row in read("encoders")["rows"]
    }
    runtime, page = "ONNX Runtime", "docs/transformers.md"
    elmo, bert, distilbert, minilm, in_onnx = (
        [rows[name, runs_in, precision] for precision in ("float32", "int8")]
        for name, runs_in in (
            ("original", "`ElmoEmbedder`"),
            ("BERT-base", runtime),
            ("DistilBERT", runtime),
            ("MiniLM-L6", runtime),
            ("original", runtime),
        )
    )
    for our, their in zip(elmo, bert, strict=True):
        ratio = median(their["text"]) / median(our["text"])
        *first, last = (
            f"{theirs / ours:.2f}"
            for theirs, ours in zip(their["text"], our["text"], strict=True)
        )
        check(
            page,
            f"embeds {ratio:.1f} times as many",
            f"({', '.join(first)} and {last}",
        )

    def faster(model, key="text", others=elmo):
        return (
            f"{median(our[key]) / median(their[key]):.1f}"
            for our, their in zip(others, model, strict=True)
        )

    float32, int8 = faster(bert, "sentence", in_onnx)
    check(
        page,
        "DistilBERT embeds {} times as many words per second as `original` in "
        "float32, and {} times with 8-bit weights. ".format(*faster(distilbert))
        + "MiniLM-L6 embeds {} and {} times as many.".format(*faster(minilm)),
        f"{int8} times as long as BERT-base with 8-bit",
        f"and {float32} times in float32",
    )
    sizes = [f"{row['file_megabytes']:.0f} MB" for row in in_onnx]
    check("docs/onnx.md", "{} in float32 and {}".format(*sizes))


def test_other_packages():
    results = [read(f"packages_{size}") for size in tables.SIZES]
    training = results[1]["training"]
    ratio = median(training["AllenNLP"]) / median(training["ElmoLayer"])
    check(BENCHMARKS, f"the layer in a compiled model is {ratio:.1f} times")
    for result in results:
        check(
            BENCHMARKS,
            f"on {result['date']}",
            f"the first {result['sentences']} sentences",
        )
    for name in ("ElmoEmbedder", "ElmoEmbedder, int8"):
        factor = tables.speed_up("original", "throughput", name)
        check("README.md", f" {factor} times")


def test_a_processor_with_amx():
    results = read("packages_original_amx")
    runs = {k: median(v) for k, v in results["throughput"].items()}
    float32, half, int8 = (
        f"{runs['simple_elmo'] / runs[name]:.1f} times"
        for name in tables.ON_A_CORPUS[3:]
    )
    check(
        BENCHMARKS,
        f"`ElmoEmbedder` is {float32} as fast as simple_elmo in float32, "
        f"{half} in bfloat16 and {int8} with 8 bits.",
        f"(results/packages_original_amx.json), {results['date']}",
    )


def test_shares_of_the_machine():
    machine = load(ROOT / "benchmarks/machine.py")
    results = read("packages_original")
    speeds = machine.medians(results["speeds"])
    corpus, sentence = (
        median(results[section]["ElmoEmbedder"])
        for section in ("throughput", "latency")
    )
    flops = results["flops"] / corpus / speeds["float32"] / 1e9
    read_share = results["bytes"]["ElmoEmbedder"] / sentence / speeds["read"]
    check(
        BENCHMARKS,
        f"reached {flops:.0%} of the machine's matrix multiply",
        f"uses {read_share / 1e9:.0%} of the memory bandwidth",
    )


def test_pretraining_on_a_gpu():
    results = read("gpu_pretraining")
    tokens, seconds = results["tokens"], results["seconds"]
    found, on_cpus = results["perplexity"].values()
    check(
        PRETRAINING,
        f"in {seconds / 60:.1f} minutes",
        f"It read {round(tokens / seconds, -3):,.0f} tokens per second, "
        f"{tokens / 1e6:.0f} million in all, and the perplexity of 1,000 "
        f"held-out sentences is {found:.1f}.",
        f"hours, had {on_cpus:.1f} ",
        f"(results/gpu_pretraining.json), {results['date']}",
    )
    check(
        MINI_CARD,
        f"In {results['steps']:,} steps of 512 rows of 20 tokens",
        f"in 32 streams, is {found:.1f}.",
        f"and gave a perplexity of {on_cpus:.1f}.",
    )


def test_sizes_of_presets():
    text = (ROOT / "docs/models.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+|5\.5B)` \|.*\| (.*) \|$", text, re.M)
    assert {name for name, _ in rows} >= {*PRESETS}
    for name, download in rows:
        preset = PRESETS.get(name)
        if preset is not None:
            on_the_web = f"{preset.megabytes} MB"
            assert download == ("in the package" if preset.path else on_the_web)


def test_pretraining():
    results = read("pretraining_speed")
    theirs, ours = (
        median(results["tokens_per_turn"] / s for s in results["seconds"][name])
        for name in ("bilm-tf", "keras-elmo")
    )
    check(
        PRETRAINING,
        f"bilm-tf {theirs:,.0f} tokens per second",
        f"`keras-elmo pretrain` {ours:,.0f}",
    )
    for name in (PRETRAINING, BENCHMARKS, "README.md"):
        check(name, f"{ours / theirs:.1f} times")
    adam, muon, *others = (
        median(read(f"recipes_{name}")["tokens_per_second"][optimizer])
        for name in ("laptop", "english_mini")
        for optimizer in ("adam", "muon")
    )
    memory = read("training_memory")
    check(
        PRETRAINING,
        f"{adam:,.0f} tokens per second with Adam and {muon:,.0f} with Muon",
        "and {:,.0f} and {:,.0f} for the other".format(*others),
        f"takes {adam / muon:.1f} times as long as with `--optimizer",
        f"({memory['vocabulary']:,} words, {memory['batch_size']} rows) "
        f"takes {memory['peak_gib']:.1f} GiB of memory",
    )


def test_perplexities():
    results = read("pretraining_perplexity")
    theirs, ours, *_ = results["perplexities"].values()
    in_rows = theirs[2]["by_its_own_program_in_256_rows"]
    others = [x["perplexity"] for x in results["in_another_order_of_the_text"]]
    one, two = results["laptop_ten_minutes"]["perplexities"]
    tiny = (ROOT / "tests/english_tiny/README.md").read_text("utf-8")
    (stream,) = re.findall(r"perplexity \| ([\d.]+) \(", tiny)
    (alone,) = re.findall(r"([\d.]+)\s+with\s+each\s+sentence", tiny)
    check(
        PRETRAINING,
        f"in 256 rows, gives {in_rows:,.0f} for its third",
        f"order ({max(others):,.2f})",
        f"gave {one:.1f} and {two:.1f} ({results['date']})",
        f"({alone} instead of {stream} for `english_tiny`)",
    )
    middle = [
        median([x["perplexity"] for x in runs]) for runs in (ours, theirs)
    ]
    most = max(run["perplexity"] for run in theirs)
    check(
        "README.md",
        "is {:.0f}, and {:.0f} with bilm-tf".format(*middle),
        f"a perplexity of {most / 1e6:.0f} million",
    )


def test_what_feeds_a_device():
    results = read("pretraining_host")
    runs = {name: results[name] for name in ("jax", "tensorflow")}
    fed = min(median(run["feeding"]) for run in runs.values())
    on_jax, on_tensorflow = (
        f"{round(median(run['commands']['this']), -3):,.0f}"
        for run in runs.values()
    )
    assert round(min(run["reading"] for run in runs.values()) / 1e6) == 3
    check(
        PRETRAINING,
        f"prepares {fed / 1e6:.1f} million tokens per second",
        f"{on_jax} tokens per second on JAX and {on_tensorflow} on",
        f"AMD EPYC, {results['date']}",
        "about three million tokens per second",
    )


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
    paper, mini = multiplications("paper"), multiplications("gpu")
    gpu = read("gpu_pretraining")
    speed = gpu["tokens"] / gpu["seconds"] * mini / paper
    hours = 10 * 832e6 / speed / 3600
    check(
        PRETRAINING,
        f"multiplies {paper / 1e6:.0f} million numbers",
        f"`english_mini` {mini / 1e6:.1f} million",
        f"on {round(speed, -3):,.0f}, if it multiplied",
        f"takes {hours:.0f} hours, and eight of them {hours / 8:.1f}",
    )


def test_backends():
    for name in ("tensorflow", "jax", "torch"):
        check(BENCHMARKS, f"The model is `{read(f'backends_{name}')['model']}`")
    results = read("first_step")
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
    results = read("serving")
    assert results["wrong"] == 0
    assert (results["threads"], results["largest"]) == (8, 64)
    check("docs/serving.md", f"takes with `{results['model']}`")


def test_8_bits():
    layers = read("int8_english_mini")["layers"]
    shares = [100 * share for x in layers.values() for share in x if share]
    check("README.md", f" {min(shares):.0f} to {max(shares):.0f}%")


def test_the_browser():
    results = read("browser")
    milliseconds = 1000 * median(results["seconds"])
    check(
        "docs/gallery.md",
        f"{results['words']} words take {milliseconds:.0f} ms (median of "
        f"{len(results['seconds'])} runs",
        f"loads {sum(results['megabytes'].values()):.0f} MB",
    )


def test_a_large_corpus():
    """A billion words, at the speeds of docs/transformers.md."""
    results, cluster = read("encoders"), read("cluster")
    # The first row is `original` in float32.
    memory = median(results["rows"][0]["megabytes"]) / 1000
    time = float(tables.hours()[0][0]) / 10
    values = 1e9 * 2 * 512
    process, workers = (
        median(cluster["seconds"][way]) for way in ("process", "workers")
    )
    check(
        "docs/corpus.md",
        *(f" {4 * x / 1e12:.1f} TB" for x in (3 * values, values, values / 20)),
        f"it takes about {time:.0f} hours",
        f"and {20 * (memory + 0.5):.0f} GB of memory: each takes",
        f"{memory:.1f} GB, and 0.5 GB for the vectors of a batch",
        f"in float16, takes {2 * values / 1e12:.1f} TB",
        f"were {process / workers:.1f} times as fast as one process",
    )
