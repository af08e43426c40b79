"""Measures how fast pretraining feeds a device.

    python benchmarks/pretraining_host.py --text 'text/*.gz' \\
        --options host_bound_options.json --output out.json

`options.json` has a model so small that only the host's work counts, in windows
of 512 x 20. The program measures how fast a text is read, how fast windows are
cut and joined, both on one core, and the command `keras-elmo pretrain`. With
--other, another checkout of this repository trains in turns with this one.
"""

import itertools
import json
import pathlib
import statistics
import tempfile
import time

import keras
from pretraining_runs import PausedTraining
from program import begin_results
from program import make_parser
from program import write_results
from worker import tell

from keras_elmo.pretraining.corpus_shards import find_shards
from keras_elmo.pretraining.numbered_text import number_text
from keras_elmo.pretraining.numbered_text import open_numbered_text
from keras_elmo.pretraining.text_windows import training_windows
from keras_elmo.pretraining.window_batches import WindowBatches
from keras_elmo.text.byte_indexer import ByteIndexer
from keras_elmo.text.vocabulary import Vocabulary

WINDOWS, UPDATES = 400, 200
SPECIAL = [b"<S>", b"</S>", b"<UNK>"]


def main():
    arguments = parse_arguments()
    options = json.loads(pathlib.Path(arguments.options).read_text())
    rows, steps = options["batch_size"], options["unroll_steps"]
    results = begin_results(
        backend=keras.backend.backend(), rows=rows, unroll_steps=steps
    )
    with tempfile.TemporaryFile() as file:
        begin = time.perf_counter()
        reading, _ = number_text(find_shards(arguments.text), file)
        seconds = time.perf_counter() - begin
        text = open_numbered_text(file, reading)
    results["tokens"] = reading.tokens
    results["reading"] = reading.tokens / seconds
    speeds = [feed(text, rows, steps) for _ in range(arguments.turns)]
    results["feeding"], results["distinct"] = map(list, zip(*speeds))
    tell(f"feeding: {statistics.median(results['feeding']):,.0f} tokens/s")
    results["commands"] = measure_commands(arguments, rows * steps)
    write_results(arguments.output, results)


def feed(text, rows, steps):
    """Returns the tokens per second of one direction, and distinct words."""
    batches = WindowBatches(text.words, ByteIndexer(), Vocabulary(SPECIAL))
    windows = training_windows(text, rows, steps, seed=0)
    distinct = []
    begin = time.perf_counter()
    for _ in range(WINDOWS // 8):
        batch = list(itertools.islice(windows, 8))
        (ids, *_), _ = batches.join(batch, 8)
        distinct.append(ids.any(axis=-1).sum() / 8)
    seconds = time.perf_counter() - begin
    return WINDOWS * rows * steps / seconds, statistics.mean(distinct)


def measure_commands(arguments, tokens_per_step):
    """Returns the tokens per second of each turn of the command."""
    checkouts = {"this": None, "other": arguments.other}
    if not arguments.other:
        del checkouts["other"]
    flags = {
        "options": arguments.options,
        "recipe": "laptop",
        "batch-size": tokens_per_step // 20,
    }
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            name: PausedTraining(
                pathlib.Path(folder, name),
                *(UPDATES, arguments.text, flags, checkout),
            )
            for name, checkout in checkouts.items()
        }
        speeds = {name: [] for name in runs}
        for turn, (name, run) in itertools.product(
            range(arguments.turns), runs.items()
        ):
            speeds[name].append(UPDATES * tokens_per_step / run.run())
            tell(f"turn {turn + 1}: {name} {speeds[name][-1]:,.0f} tokens/s")
        for run in runs.values():
            run.close()
    return speeds


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--text", required=True, help="a file, or a glob")
    add("--options", required=True, help="options file of a small model")
    add("--other", help="another checkout, to train in turns with")
    add("--turns", type=int, default=7)
    add("--output", required=True, help="JSON file to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
