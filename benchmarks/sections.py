"""The sections to time; README.md describes what each one measures."""

import time

from agreement import compare_losses
from agreement import compare_vectors
from bench import tell
from workloads import Synthetic
from workloads import count_tokens
from workloads import sentence_of

LATENCY_WORDS = 20
LATENCY_BLOCK = 5
TRAINING_SENTENCES = 32
TRAINING_WORDS = 20

LENGTHS = (5, 10, 20, 40, 80, 160)
BATCH_TOKENS = (256, 1024, 4096, 16384, 32768)
DISTINCT_SHARES = (1 / 64, 1 / 16, 1 / 4, 1)


def start(bench, implementations):
    """Starts all implementations (their first load), which must then agree."""
    seconds = {i.name: [bench.start(i)] for i in implementations}
    bench.results["load"] = {"seconds": seconds}
    compare_vectors(bench, implementations)


def throughput(bench):
    """Times passes over the text, in turns; then measures their memory."""
    implementations = bench.of("throughput")
    seconds = {i.name: [] for i in implementations}
    for turn in range(bench.arguments.turns):
        bench.measure_machine()
        for i in implementations:
            seconds[i.name] += bench.time(i, bench.text)
            _report_rate(i.name, bench.text, seconds[i.name][-1], turn)
    bench.measure_machine()
    bench.results["throughput"] = {
        "sentences": len(bench.text),
        "tokens": count_tokens(bench.text),
        "flops": bench.model.flops(bench.text),
        "seconds": seconds,
        "precisions": {i.name: i.precision for i in implementations},
    }
    bench.results["memory"] = {
        i.name: bench.call(i, "peak_megabytes") for i in implementations
    }


def latency(bench):
    """Times calls with one sentence, in turns of a few calls."""
    implementations = bench.of("latency")
    sentence = sentence_of(LATENCY_WORDS, bench.sentences)
    seconds = {i.name: [] for i in implementations}
    left = bench.arguments.latency_repeats
    while left > 0:
        bench.measure_machine()
        for i in implementations:
            seconds[i.name] += bench.time(
                i,
                [sentence],
                calls=min(left, LATENCY_BLOCK),
                untimed_calls=1,
            )
            milliseconds = 1000 * seconds[i.name][-1]
            tell(f"latency: {i.name}, {milliseconds:.1f} ms")
        left -= LATENCY_BLOCK
    bench.measure_machine()
    bench.results["latency"] = {
        "words": len(sentence),
        "seconds": seconds,
        "bytes": {
            i.name: bench.model.bytes_read(sentence, i.precision)
            for i in implementations
        },
    }


def growth(bench):
    """Measures how speed changes with the sentences and the batches."""
    synthetic = Synthetic(bench.sentences)
    num_tokens = bench.arguments.growth_tokens
    corpus = synthetic.like_text(bench.arguments.growth_corpus)
    counts = {
        min(max(1, int(num_tokens * share)), synthetic.num_distinct)
        for share in DISTINCT_SHARES
    }
    every = bench.of("growth")
    embedders = [i for i in every if i.batch_size is None]
    lengths = {
        n: synthetic.of_length(n, num_tokens)
        for n in LENGTHS
        if n <= num_tokens
    }
    distinct = {
        n: synthetic.of_distinct_words(n, num_tokens) for n in sorted(counts)
    }
    sizes = [n for n in BATCH_TOKENS if n <= bench.arguments.growth_corpus]
    bench.results["growth"] = {
        "sentence_length": _curve(bench, every, lengths),
        "distinct_words": _curve(bench, every, distinct),
        "batch_tokens": _curve(
            bench, embedders, dict.fromkeys(sizes, corpus), "batch_tokens"
        ),
    }
    bench.measure_machine()


def _curve(bench, implementations, texts, setting=None):
    """Times texts, {x: sentences}; x is also the value of `setting`, if any."""
    seconds = {i.name: [[] for _ in texts] for i in implementations}
    for turn in range(bench.arguments.turns):
        bench.measure_machine()
        for k, (x, text) in enumerate(texts.items()):
            for i in implementations:
                settings = {setting: x} if setting else {}
                new = bench.time(i, text, settings)
                seconds[i.name][k] += new
                _report_rate(f"{i.name} at {x}", text, new[0], turn)
    return {
        "x": list(texts),
        "tokens": [count_tokens(text) for text in texts.values()],
        "seconds": seconds,
    }


def load(bench):
    """Loads each again in a fresh process, in turns."""
    section = bench.results["load"]
    names = [i.name for i in bench.of("load")]
    section["since_start"] = {name: [] for name in names}
    section["megabytes"] = {name: [] for name in names}
    for _ in range(max(1, bench.arguments.turns - 1)):
        for i in bench.of("load"):
            start = time.perf_counter()
            section["seconds"][i.name].append(bench.start(i))
            section["since_start"][i.name].append(time.perf_counter() - start)
            megabytes = bench.call(i, "peak_megabytes")
            section["megabytes"][i.name].append(megabytes)
            bench.close_workers()


def training(bench):
    """Times training steps in turns, after two whose losses must agree."""
    implementations = bench.of("training")
    text = Synthetic(bench.sentences).of_length(
        TRAINING_WORDS, TRAINING_SENTENCES * TRAINING_WORDS
    )

    def step(i):
        answer = bench.call(i, "train", sentences=text)
        tell(f"training: {i.name}, {answer['seconds']:.2f} s")
        return answer

    for i in implementations:
        bench.start(i)
    compare_losses(
        {i.name: [step(i)["loss"] for _ in range(2)] for i in implementations}
    )
    seconds = {i.name: [] for i in implementations}
    for _ in range(bench.arguments.training_steps):
        for i in implementations:
            seconds[i.name].append(step(i)["seconds"])
    bench.close_workers()
    bench.results["training"] = {
        "sentences": TRAINING_SENTENCES,
        "words": TRAINING_WORDS,
        "seconds": seconds,
    }


def _report_rate(name, text, seconds, turn):
    rate = count_tokens(text) / seconds
    tell(f"turn {turn + 1}: {name}, {rate:,.0f} tokens/s")
