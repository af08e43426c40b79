"""Figures on the pages are those of docs/results, and the same on each page."""

import datetime
import hashlib
import importlib.util
import re
from statistics import mean
from statistics import median
from statistics import stdev

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
read, scores = tables.read, tables.scores
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


def test_the_pictures_are_of_the_results():
    for picture, name in {
        "speed": "packages_original",
        "transformers": "encoders",
        "reliability": "names_probabilities",
    }.items():
        results = (ROOT / f"docs/results/{name}.json").read_bytes()
        digest = hashlib.sha256(results).hexdigest()
        drawn = (ROOT / f"docs/{picture}.svg").read_text("utf-8")
        assert digest in drawn, "run docs/tables.py"


def test_english_pos():
    results = read("english_pos")
    dev, test = (f"{100 * results[x]['accuracy']:.2f}" for x in ("dev", "test"))
    raw = read("english_pos_raw")["tokens_by"]["spaCy's rules"]["tags"]
    card = "keras_elmo/presets/english_pos/README.md"
    check(card, f"{dev}% on dev, {test}% on test", f"text | {raw:.2%} on test")
    check(
        BENCHMARKS,
        f"| `english_pos`, 24 MB | {test} |",
        f"| `english_pos` | {100 * raw:.2f} |",
    )
    check(
        "README.md",
        f"the {results['training_sentences']:,} training sentences of UD "
        f"English EWT: {results['test']['accuracy']:.1%} of the words",
    )


def test_english_names():
    results, training = read("names_probabilities"), read("english_names")
    sentences = f"{training['training_sentences']:,} sentences"
    temperature = f"{training['temperature']:.2f}"
    dev = training["dev"]
    check(
        tables.ENGLISH_NAMES,
        f"{sentences}, {training['training_words']:,} words",
        f"scores divided by {temperature}",
        f"({dev['sentences']:,} sentences, F1 {100 * dev['f1']:.1f}) chose",
    )
    alone, entities, low = (median(x) for x in results["seconds"].values())
    check(
        BENCHMARKS,
        f"{sentences} of the web",
        f"best, here {temperature}.",
        f"takes {100 * (entities / alone - 1):.0f}% more time than `predict` "
        f"({100 * (low / alone - 1):.0f}% with a threshold of 0.1)",
    )


def test_other_taggers():
    results = read("rivals")
    taggers = results["tasks"]["wnut"]["taggers"]
    elmo, others = (taggers[x] for x in ("keras-elmo", "word2vec"))
    faster = median(elmo["seconds"]) / median(others["seconds"])
    check(
        "README.md",
        f"one seed, ELMo gives {100 * elmo['test']['f1']:.1f}%",
        f"in its place, it is {100 * others['test']['f1']:.1f}%",
        f"the tagger is {faster:.1f} times as fast",
    )
    formats = read("tagger_formats")
    check(
        BENCHMARKS,
        f"the same {results['vectors']['tokens'] / 1e6:.0f} million tokens",
        f"`{formats['model']}` in each, on the {formats['words']:,} words",
    )


def test_the_sentences_of_the_examples():
    folder = ROOT / "examples/ner_data"
    text = (folder / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \| (.*?) \|", text, re.M)
    begins = {}
    for name, *cells in rows:
        sentences, tags = read_conll(folder / name)
        begins[name] = [x for row in tags for x in row if x.startswith("B-")]
        counts = len(sentences), sum(map(len, sentences)), len(begins[name])
        assert cells == [f"{count:,}" for count in counts]
    number = begins["train.conll"].count("B-ORG")
    page = "docs/tutorials/named-entities.md"
    check(page, f"training sentences contain only {number},")


def test_named_entities():
    for name in ("elmo-both", "baseline"):
        values = scores("tagging_names", name)
        check("README.md", f"{mean(values):.1f} ± {stdev(values):.1f}%")
        check("docs/transformers.md", f"{mean(values):.1f}")


def test_word_senses():
    results = read("word_senses")
    right, only, words = (results[key] for key in ("right", "only", "words"))
    for size in ("tiny", "mini"):
        layers = [f"english_{size}, layer {i}" for i in range(3)]
        for test_set in words:
            found = [right[layer][test_set] for layer in layers]
            assert max(found) == found[2]
    _, first, second = layers
    date = datetime.date.fromisoformat(results["date"])
    check(
        TAGGING,
        f"the {words['ALL']:,} words",
        f"on {only[second][first]} words where the first is",
        f"({only[first][second]} the other way",
        f"with `english_mini` were measured on {date.day} {date:%B %Y}",
    )


def test_blimp():
    mini, tiny = read("blimp")["models"].values()
    a, b = mini["all"], tiny["all"]
    parts = {k: v["forward"] for k, v in mini["phenomena"].items()}
    agreement = [v for k, v in parts.items() if k.endswith("_agreement")]
    assert min(parts, key=parts.get) == "npi_licensing"
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


def test_occurrences():
    results = read("occurrences")
    counts = results["counts"]
    _, *shares = results["nearest_has_same_tag"]
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


def test_sizes_of_onnx_files():
    rows = [
        x for x in read("encoders")["rows"] if x["runs_in"] != "`ElmoEmbedder`"
    ]
    first, second = (f"{x['file_megabytes']:.0f} MB" for x in rows[:2])
    check("docs/onnx.md", f"{first} in float32 and {second}")


def test_other_packages():
    original, small = (read(f"packages_{size}") for size in tables.SIZES)
    ours, theirs = (
        median(small["training"][name]) for name in ("ElmoLayer", "AllenNLP")
    )
    check(
        BENCHMARKS,
        f"the layer in a compiled model is {theirs / ours:.1f} times",
        f"ran on {original['date']}",
        f"the first {original['sentences']} sentences",
        f"the first {small['sentences']} sentences",
    )
    for name in ("ElmoEmbedder", "ElmoEmbedder, int8"):
        factor = tables.speed_up("original", "throughput", name)
        check("README.md", f" {factor} times")


def test_a_processor_with_amx():
    results = read("packages_original_amx")
    theirs, _, *ours = map(median, results["throughput"].values())
    float32, half, int8 = (f"{theirs / x:.1f} times" for x in ours)
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
    rows = dict(re.findall(r"^\| `(\w+|5\.5B)` \|.*\| (.*) \|$", text, re.M))
    for name, preset in PRESETS.items():
        on_the_web = f"{preset.megabytes} MB"
        assert rows[name] == ("in the package" if preset.path else on_the_web)


def test_pretraining():
    results = read("pretraining_speed")
    tokens = results["tokens_per_turn"]
    theirs, ours = (tokens / median(x) for x in results["seconds"].values())
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
    found = results["perplexities"]
    theirs = found["bilm-tf"]
    in_rows = theirs[2]["by_its_own_program_in_256_rows"]
    others = [x["perplexity"] for x in results["in_another_order_of_the_text"]]
    one, two = results["laptop_ten_minutes"]["perplexities"]
    check(
        PRETRAINING,
        f"in 256 rows, gives {in_rows:,.0f} for its third",
        f"order ({max(others):,.2f})",
        f"gave {one:.1f} and {two:.1f} ({results['date']})",
    )
    _, middle, most = sorted(x["perplexity"] for x in theirs)
    ours = median(x["perplexity"] for x in found["keras-elmo on TensorFlow"])
    check(
        "README.md",
        f"is {ours:.0f}, and {middle:.0f} with bilm-tf",
        f"a perplexity of {most / 1e6:.0f} million",
    )


def test_what_feeds_a_device():
    results = read("pretraining_host")
    jax, tensorflow = (results[name] for name in ("jax", "tensorflow"))
    fed = min(median(run["feeding"]) for run in (jax, tensorflow))
    on_jax, on_tensorflow = (
        f"{round(median(run['commands']['this']), -3):,.0f}"
        for run in (jax, tensorflow)
    )
    check(
        PRETRAINING,
        f"prepares {fed / 1e6:.1f} million tokens per second",
        f"{on_jax} tokens per second on JAX and {on_tensorflow} on",
        f"AMD EPYC, {results['date']}",
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
    embedding, frozen, thawed = (
        f"{median(seconds):.1f} s" for seconds in results["seconds"].values()
    )
    check(
        BENCHMARKS,
        f"takes {frozen} of processor time over a frozen `{results['model']}`, "
        f"{thawed} over a trainable one, and {embedding} over an `Embedding`",
    )


def test_serving():
    results = read("serving")
    assert results["wrong"] == 0
    check(
        "docs/serving.md",
        f"a request of 1 to {results['largest']} sentences",
        f"takes with `{results['model']}`",
    )


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
    memory = median(read("encoders")["rows"][0]["megabytes"]) / 1000
    seconds = read("cluster")["seconds"]
    faster = median(seconds["process"]) / median(seconds["workers"])
    check(
        "docs/corpus.md",
        f"and {20 * (memory + 0.5):.0f} GB of memory: each takes "
        f"{memory:.1f} GB, and 0.5 GB for the vectors of a batch",
        f"were {faster:.1f} times as fast as one process",
    )
