"""Figures on the pages are those of docs/results, and the same on each page."""

import datetime
import hashlib
import importlib.util
import re
from statistics import mean
from statistics import median

import pytest
from conftest import ROOT

from keras_elmo.text import read_conll


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load(ROOT / "docs/tables.py")
read, scores = tables.read, tables.scores
README, BENCHMARKS = "README.md", "docs/benchmarks.md"
TRANSFORMERS = "docs/transformers.md"
PRETRAINING, TAGGING = "docs/pretraining.md", tables.TAGGING
PROGRAMS, LABEL = "benchmarks/README.md", "docs/label.md"
MINI_CARD = "keras_elmo/presets/english_mini/README.md"


def check(page, sentence):
    text = " ".join((ROOT / page).read_text("utf-8").split())
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
    ends = "_sixteenth", "_quarter", "_adam", ""
    for picture, names in {
        "speed": ["packages_original"],
        "transformers": ["encoders"],
        "reliability": ["names_probabilities"],
        "tagging-sizes": ["tagging_pos"],
        "tagging-text-sizes": [
            f"tagging_{task}{end}" for task in ("pos", "names") for end in ends
        ],
        "small_transformer": ["small_transformer"],
    }.items():
        drawn = (ROOT / f"docs/{picture}.svg").read_text("utf-8")
        for name in names:
            results = (ROOT / f"docs/results/{name}.json").read_bytes()
            digest = hashlib.sha256(results).hexdigest()
            assert digest in drawn, "run docs/tables.py"


def test_the_first_page():
    elmo, _, _, glove, frozen, tuned = tables.small_transformer()
    check(README, f"on ELMo gives {elmo[1]}% of the words in a")
    check(README, f"gets {tuned[1]}% when it is fine-tuned, and the")
    check(README, f"tagger on static GloVe vectors {glove[1]}% (")
    speeds = tables.tagger_speeds()
    check(README, f"labels {speeds[6][0]} words per second, and a fine-tuned")
    check(README, f"fine-tuned MiniLM-L6 {speeds[4][0]}. A biLM")
    check(README, f"MiniLM-L6 {frozen[2]} frozen and {tuned[2]} fine-tuned, ")
    check(README, f"fine-tuned, ELMo {elmo[2]})")
    check(TRANSFORMERS, f"| {elmo[2]} (BiLSTM-CRF, `english_mini`, ")
    check(TRANSFORMERS, f"); {glove[2]} on GloVe) |")
    float32, int8 = (
        tables.speed_up("original", "throughput", f"ElmoEmbedder{end}")
        for end in ("", ", int8")
    )
    check(README, f"corpus [{float32} times as fast as bilm-tf](")
    layers = read("int8_english_mini")["layers"]
    errors = [100 * share for x in layers.values() for share in x if share]
    errors = f"by {min(errors):.0f} to {max(errors):.0f}%"
    check(README, f"{int8} times with 8-bit weights, which change the vectors")
    check(README, errors)


def test_english_pos():
    results = read("english_pos")
    number = f"the {results['training_sentences']:,} training sentences of"
    dev, test = (100 * results[part]["accuracy"] for part in ("dev", "test"))
    raw = 100 * read("english_pos_raw")["tokens_by"]["spaCy's rules"]["tags"]
    card = "keras_elmo/presets/english_pos/README.md"
    check(card, f"{number} [UD English EWT]")
    check(card, f"| {dev:.2f}% on dev, {test:.2f}% on test")
    check(card, f"F1 of tags on raw text | {raw:.2f}% on test")
    check(TAGGING, f"| `english_pos`, 24 MB | {test:.2f} |")
    check(TAGGING, f"| `english_pos` | {raw:.2f} |")


def test_a_small_transformer():
    page, own = TRANSFORMERS, {}
    tasks = read("small_transformer")["tasks"]
    for key, task in tasks.items():
        seeds = (x["seeds"] for x in task["taggers"].values())
        scores = [f"{100 * mean(x):.1f}" for x in seeds]
        elmo, both, *_, frozen, tuned = scores
        tuned = f"{tuned}, MiniLM-L6 fine-tuned; {frozen} frozen"
        check(page, f"| {elmo}, with GloVe {both} | {tuned} |")
        own[key] = elmo, both
    page = "docs/word-vectors.md"
    check(page, "from {}% to {}%".format(*own["wnut"]))
    for words, found in read("transformer_table")["words"].items():
        check(page, f"{100 * mean(found['test']):.1f}% with {words}")


def test_english_names():
    training = read("english_names")
    sentences = f"{training['training_sentences']:,} sentences"
    words, dev = training["training_words"], training["dev"]
    chosen_by = f"{dev['sentences']:,} sentences, F1 {100 * dev['f1']:.1f}"
    check(tables.ENGLISH_NAMES, f"{sentences}, {words:,} words")
    check(tables.ENGLISH_NAMES, f"by {training['temperature']:.2f} |")
    check(tables.ENGLISH_NAMES, f"({chosen_by}) chose")
    check(TAGGING, f"best, here {training['temperature']:.2f}.")
    rows = tables.names()
    own, spacy = (
        sorted(float(row[-1]) for row in x) for x in (rows[::2], rows[1::2])
    )
    check(BENCHMARKS, f"is {own[0]} to {own[-1]}, and that of spaCy's")
    check(BENCHMARKS, f"`en_core_web_sm` is {spacy[0]} to {spacy[-1]}.")
    alone, *others = read("names_probabilities")["seconds"].values()
    entities, low = (100 * (median(x) / median(alone) - 1) for x in others)
    check(TAGGING, f"takes {entities:.0f}% more time than `predict`")
    check(TAGGING, f"({low:.0f}% with a threshold of 0.1)")


def test_other_taggers():
    tokens = read("rivals")["vectors"]["tokens"] / 1e6
    check(BENCHMARKS, f"learned from the same {tokens:.0f} million tokens")
    formats = read("tagger_formats")
    model, words = formats["model"], formats["words"]
    formats = f"This is `{model}` in each format, on the {words:,} words"
    check("benchmarks/README.md", formats)


def test_the_speed_of_taggers():
    results = read("tagger_speed")
    seconds = {
        (tagger, row): median(times["corpus"])
        for tagger, rows in results["seconds"].items()
        for row, times in rows.items()
    }
    kinds = "float32", "int8"
    minilm = [seconds["english_pos", f"MiniLM, {x}"] for x in kinds]
    own = [seconds["train-tagger", x] for x in kinds]
    full, small = (a / b for a, b in zip(minilm, own))
    check("docs/transformers.md", f"it tags {full:.1f} times as many words")
    check("docs/transformers.md", f"and {small:.1f} times as many if both")
    ratio = seconds["english_pos", "float32"] / seconds["english_pos", "spaCy"]
    check(BENCHMARKS, f"is about {ratio:.1f} times as fast as `english_pos`")
    check(BENCHMARKS, f"These are the {results['words']:,} words of EWT's")
    (pos,) = results["scores"]["english_pos"]
    check(BENCHMARKS, f"On EWT's test file, {pos['differ']} of the labels")
    both = [f"{100 * pos[x]:.2f}" for x in kinds]
    assert both[0] == both[1]
    check(BENCHMARKS, f"accuracy of `english_pos` is {both[0]} in both")
    wnut = results["scores"]["WNUT"]
    full, small = (f"{100 * mean(x[key] for x in wnut):.1f}" for key in kinds)
    assert full == small
    check(BENCHMARKS, f"seeds of `train-tagger` is {full} in both")
    found = results["scores"]["calibration"].values()
    rises = (f"from {x['float32']:.3f} to {x['int8']:.3f} on" for x in found)
    for rise, text in zip(rises, ("EWT", "tweets", "WNUT"), strict=True):
        check(BENCHMARKS, f"{rise} {text}")


def test_what_context_adds():
    baseline, both, layer_0 = (
        mean(scores("tagging_names", name)) for name in tables.NAMES
    )
    gains = f"{layer_0 - baseline:.1f} of the {both - baseline:.1f} points"
    check(BENCHMARKS, f"It brings {gains}")
    check(BENCHMARKS, f"and context adds {both - layer_0:.1f}.")


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
    check(page, f"training sentences contain only {number}.")


def test_word_senses():
    results = read("word_senses")
    right, only, words = (results[key] for key in ("right", "only", "words"))
    for size in ("tiny", "mini"):
        layers = [f"english_{size}, layer {i}" for i in range(3)]
        for test_set in words:
            found = [right[layer][test_set] for layer in layers]
            assert max(found) == found[2]
    _, first, second = layers
    check(TAGGING, f"the {words['ALL']:,} words")
    check(TAGGING, f"on {only[second][first]} words where the first is")
    check(TAGGING, f"({only[first][second]} the other way")
    date = datetime.date.fromisoformat(results["date"])
    check(TAGGING, f"`english_mini` were measured on {date.day} {date:%B %Y}")


def test_blimp():
    mini, tiny = read("blimp")["models"].values()
    unknown = f"{mini['unknown_words']:.1f}% of BLiMP's words are outside"
    check(MINI_CARD, unknown)
    check(MINI_CARD, f"({tiny['unknown_words']:.1f}% for `english_tiny`)")
    a, b = mini["all"], tiny["all"]
    check(MINI_CARD, f"On the {a['known']:.0f}% of the pairs without such")
    check(MINI_CARD, f"word ({b['known']:.0f}%), {a['forward_known']:.1f}% (")
    check(MINI_CARD, f"({b['forward_known']:.1f}%) are right")
    parts = {k: v["forward"] for k, v in mini["phenomena"].items()}
    agree = [v for k, v in parts.items() if k.endswith("_agreement")]
    check(MINI_CARD, f"irregular forms ({parts['irregular_forms']:.0f}%)")
    check(MINI_CARD, f"agreement ({min(agree):.0f} to {max(agree):.0f}%) best")
    assert min(parts, key=parts.get) == "npi_licensing"
    check(MINI_CARD, f"least ({parts['npi_licensing']:.0f}%)")


def test_occurrences():
    results = read("occurrences")
    _, first, second = results["nearest_has_same_tag"]
    page = "docs/what-is-elmo.md"
    check(page, f"{results['sentences']} sentences")
    check(page, f"in {first:.0%} and {second:.0%} of the")
    total = sum(results["counts"].values())
    check(page, f"one of the {total} occurrences")
    largest = max(results["counts"].values()) / total
    assert largest < 0.55, f"{page} says that half agree by chance"


def test_classification():
    for name, text in {
        "reviews": "is {:.1f}%, and frozen ELMo's {:.1f}%",
        "questions": "qc.zip), {:.1f}% and {:.1f}%",
    }.items():
        accuracy = read(f"classification_{name}")["accuracy"]
        ways = ("bag of words", "english_mini")
        shares = (100 * mean(accuracy[way]) for way in ways)
        check("docs/tutorials/classification.md", text.format(*shares))


def test_sizes_of_files():
    onnx, int8 = (
        f"{row['file_megabytes']:.0f} MB"
        for row in read("encoders")["rows"]
        if row["name"] == "original" and row["runs_in"] == "ONNX Runtime"
    )
    check("docs/onnx.md", f"{onnx} in float32 and {int8}")


def test_other_packages():
    original, small = (read(f"packages_{size}") for size in tables.SIZES)
    ours, theirs = (
        median(small["training"][name]) for name in ("ElmoLayer", "AllenNLP")
    )
    check(BENCHMARKS, f"20 words, is {theirs / ours:.1f} times as fast in a")
    check(BENCHMARKS, f"ran on {original['date']}")
    for results in (original, small):
        check(BENCHMARKS, f"the first {results['sentences']} for the")


def test_a_processor_with_amx():
    results = read("packages_original_amx")
    theirs, _, *ours = map(median, results["throughput"].values())
    float32, half, int8 = (f"{theirs / x:.1f} times" for x in ours)
    check(BENCHMARKS, f"is {float32} as fast as simple_elmo in float32")
    check(BENCHMARKS, f"{half} in bfloat16 and {int8} with 8 bits (")
    check(BENCHMARKS, f"packages_original_amx.json), {results['date']}")


def test_pretraining_on_a_gpu():
    results = read("gpu_pretraining")
    tokens, seconds = results["tokens"], results["seconds"]
    found, on_cpus = results["perplexity"].values()
    speed = f"{round(tokens / seconds, -3):,.0f} tokens per second"
    check(PRETRAINING, f"in {seconds / 60:.1f} minutes")
    check(PRETRAINING, f"at {speed}, and has a perplexity of {found:.1f}.")
    check(PRETRAINING, f"hours, has {on_cpus:.1f}.")
    check(MINI_CARD, f"In {results['steps']:,} steps of 512 rows of 20 tokens")
    check(MINI_CARD, f"in 32 streams, is {found:.1f}.")
    check(MINI_CARD, f"and gave a perplexity of {on_cpus:.1f}.")


def test_speed_of_pretraining():
    results = read("pretraining_speed")
    theirs, ours = (
        results["tokens_per_turn"] / median(seconds)
        for seconds in results["seconds"].values()
    )
    check(PROGRAMS, f"bilm-tf {theirs:,.0f} tokens per second")
    check(PROGRAMS, f"`keras-elmo pretrain` {ours:,.0f}")
    for page in (PRETRAINING, BENCHMARKS):
        check(page, f"{ours / theirs:.1f} times")
    speeds = read("recipes_laptop")["tokens_per_second"]
    adam, muon = (median(speeds[optimizer]) for optimizer in ("adam", "muon"))
    check(PRETRAINING, f"takes {adam / muon:.1f} times as long as with")
    mini = median(read("recipes_english_mini")["tokens_per_second"]["muon"])
    check(PROGRAMS, f"train on {muon:,.0f} and {mini:,.0f} tokens per")
    _, (*_, muon, adam, _), *_ = tables.an_hour()
    check(PRETRAINING, f"is {muon} with Muon, and {adam} with Adam")
    memory = read("training_memory")
    words, rows = memory["vocabulary"], memory["batch_size"]
    check(PROGRAMS, f"the paper's model ({words:,} words, {rows} rows)")
    for page in PRETRAINING, PROGRAMS:
        check(page, f"takes {memory['peak_gib']:.1f} GiB of memory")


def test_perplexities():
    results = read("pretraining_perplexity")
    found = results["perplexities"]
    theirs = found["bilm-tf"]
    in_rows = theirs[2]["by_its_own_program_in_256_rows"]
    others = [x["perplexity"] for x in results["in_another_order_of_the_text"]]
    one, two = results["laptop_ten_minutes"]["perplexities"]
    check(PROGRAMS, f"in 256 rows, gives {in_rows:,.0f} for it.")
    check(PROGRAMS, f"order ({max(others):,.2f})")
    check(PROGRAMS, f"gave {one:.1f} and {two:.1f} ({results['date']})")
    middles = (
        median(x["perplexity"] for x in found[name])
        for name in ("bilm-tf", "keras-elmo on TensorFlow")
    )
    theirs, ours = middles
    assert abs(ours / theirs - 1) < 0.01, f"{PRETRAINING} says it is equal"


def test_what_feeds_a_device():
    results = read("pretraining_host")
    runs = [results[name] for name in ("jax", "tensorflow")]
    jax, tensorflow = (
        f"{round(median(run['commands']['this']), -3):,.0f}" for run in runs
    )
    check(PROGRAMS, f"{jax} tokens per second on JAX and {tensorflow} on")
    check(PROGRAMS, f"AMD EPYC, {results['date']}")


def test_backends():
    for name in ("tensorflow", "jax", "torch"):
        assert read(f"backends_{name}")["model"] == "english_mini"
    results = read("first_step")
    embedding, frozen, thawed = map(median, results["seconds"].values())
    page, model = "benchmarks/README.md", results["model"]
    check(page, f"takes {frozen:.1f} s of processor time over a frozen")
    check(page, f"over a frozen `{model}`, {thawed:.1f} s over a trainable")
    check(page, f"trainable one, and {embedding:.1f} s over an")


def test_serving():
    results = read("serving")
    assert results["wrong"] == 0
    check(PROGRAMS, f"request of 1 to {results['largest']} sentences of UD")
    check(PROGRAMS, f"takes with `{results['model']}`")
    largest, model = results["largest"], results["model"]
    ms = f"takes [{1000 * median(results['alone']):.0f} ms]"
    link = f"{ms}(../benchmarks/README.md#serving) with `{model}`"
    check("docs/serving.md", f"all vectors of 1 to {largest} sentences {link}")


def test_the_browser():
    results = read("browser")
    words, runs = results["words"], results["seconds"]
    took, page = f"{1000 * median(runs):.0f} ms", "docs/gallery.md"
    check(page, f"{words} words take {took} (median of {len(runs)} runs")
    check(page, f"loads {sum(results['megabytes'].values()):.0f} MB")


def test_a_large_corpus():
    page = "docs/corpus.md"
    workers, process = map(median, read("cluster")["seconds"].values())
    check(page, f"were {process / workers:.1f} times as fast as one process")


def test_wrong_labels():
    ewt, btc, ncbi = (read(f"label_errors_{x}") for x in ("ewt", "btc", "ncbi"))
    every = ewt, btc, ncbi
    first = [x["found"]["100"] for x in every]
    check(LABEL, "Of the first 100 places, {}, {} and {} were".format(*first))
    shares = [f"{100 * x['random_share']:.0f}" for x in every]
    check(LABEL, "random ones would contain {}, {} and {}.".format(*shares))
    check(README, f"({min(first)} to {max(first)} of the first 100 [in tests")
    judged = [x["judgement"] for x in btc["first"]]
    real = judged.count("error of the file")
    check(LABEL, f"first {len(judged)} other places in the tweets, {real} were")
    minutes, half = (sum(x["seconds"]) / 60 for x in (ewt, ncbi))
    assert ewt["machine"]["cores"] == 2 and f"{minutes:.0f}" == "8"
    check(LABEL, f"For {ewt['sentences']:,} sentences, this takes eight")
    check(PROGRAMS, f"{ewt['words']:,} words) take {minutes:.0f} minutes on")
    sizes = f"The {ncbi['sentences']:,} sentences of NCBI ({ncbi['words']:,} "
    check(PROGRAMS, f"{sizes}words) take {half:.0f} minutes on one core")


def test_corrected_labels():
    results = read("label_errors_corrected")
    checked, found = results["checked"], results["found"]
    check(LABEL, f"old release of EWT, {found['200']} were corrected later")
    check(LABEL, f"random words, {200 * results['random_share']:.0f})")
    check(PROGRAMS, f"release 2.2, {checked['sentences']:,} sentences")
    share = f"{100 * results['random_share']:.1f}%"
    check(PROGRAMS, f"Of their labels, {share} were changed.")
    *some, last = found.values()
    some = ", ".join(map(str, some))
    check(PROGRAMS, f"and 400 places are {some} and {last} of them")
    chance = [f"{int(n) * results['random_share']:.0f}" for n in found]
    check(PROGRAMS, "would be {}, {}, {} and {}.".format(*chance))
    seconds = checked["processor_seconds"] / checked["folds"]
    check(PROGRAMS, f"take {seconds / 60:.0f} minutes of processor time for")
    first = results["first"]
    own = [x for x in first if x["judgement"] == "error of the file"]
    assert (len(own), sum(x["is_wrong"] for x in own)) == (9, 7)
    check(PROGRAMS, "Seven of the nine errors in EWT were corrected later.")


def test_what_to_label_next():
    gains = tables.gain_from_choice("wnut")[:, 1:].mean(axis=0)
    low, high = f"{min(gains):.0f}", f"{max(gains):.0f}"
    check(LABEL, f"gave a tagger {low} to {high} more points of F1 than")
    check(PROGRAMS, f"they give {low} to {high} more points of F1 on WNUT")
    gains = tables.gain_from_choice("ncbi")[:, 1:]
    assert (abs(gains.mean(axis=0)) < gains.std(axis=0, ddof=1)).all()
    check(LABEL, "In NCBI's abstracts, random texts were as good")
