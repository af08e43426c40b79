"""Compares the speed of this package with AllenNLP's; see README.md."""

import argparse
import contextlib
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from keras_elmo.text import batch_to_ids

HERE = pathlib.Path(__file__).parent


def read_sentences(path, limit):
    """The first sentences of a CoNLL-U file, or of one sentence a line."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if path.endswith(".conllu"):
        blocks = (block.splitlines() for block in text.split("\n\n"))
        sentences = [
            [
                line.split("\t")[1]
                for line in block
                if line.split("\t")[0].isdigit()
            ]
            for block in blocks
        ]
    else:
        sentences = [line.split() for line in text.splitlines()]
    return [sentence for sentence in sentences if sentence][:limit]


def make_batches(sentences, batch_size, budget):
    """In file order, or by length with `budget` tokens a batch."""
    if not budget:
        return [
            sentences[i : i + batch_size]
            for i in range(0, len(sentences), batch_size)
        ]
    batches = [[]]
    for sentence in sorted(sentences, key=len):
        if (len(batches[-1]) + 1) * len(sentence) > budget and batches[-1]:
            batches.append([])
        batches[-1].append(sentence)
    return batches


class Worker:
    """One implementation in its own process."""

    def __init__(self, name, command, folder, batches, output):
        self.name, self.output, self.seconds = name, output, []
        program, *options = command[1:]
        self.process = subprocess.Popen(
            [command[0], program, folder, batches, output, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.load_seconds = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended: run its worker by hand to see why.")
        return float(line)

    def time_once(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.seconds.append(self._answer())

    def close(self):
        self.process.communicate()


def gemm_gigaflops(size=2048, repeats=10):
    """The machine's float32 matrix product, as NumPy's library does it."""
    import time

    a = np.random.default_rng(0).normal(size=(size, size)).astype("float32")
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        a @ a
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(seconds) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="folder of the biLM")
    parser.add_argument("--text", required=True, help="CoNLL-U or plain text")
    parser.add_argument("--sentences", type=int, default=192)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--allennlp-python", help="Python that has AllenNLP")
    arguments = parser.parse_args()
    sentences = read_sentences(arguments.text, arguments.sentences)
    tokens = sum(map(len, sentences))

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.ExitStack() as stack,
    ):
        paths = {}
        for key, budget in (("in file order", 0), ("by length", 2048)):
            batches = make_batches(sentences, arguments.batch_size, budget)
            paths[key] = os.path.join(folder, f"{len(paths)}.npz")
            ids = {f"{i}": batch_to_ids(b) for i, b in enumerate(batches)}
            np.savez(paths[key], **ids)

        ours = [sys.executable, HERE / "worker_keras_elmo.py"]
        plan = [
            ("keras-elmo", ours, "in file order"),
            ("keras-elmo, eager", [*ours, "compiled=false"], "in file order"),
            ("keras-elmo", ours, "by length"),
            (
                "keras-elmo, mixed_bfloat16",
                [*ours, 'dtype="mixed_bfloat16"'],
                "by length",
            ),
        ]
        if arguments.allennlp_python:
            theirs = [arguments.allennlp_python, HERE / "worker_allennlp.py"]
            plan.insert(0, ("AllenNLP", theirs, "in file order"))
        workers = []
        for name, command, order in plan:
            output = os.path.join(folder, f"{len(workers)}.npy")
            worker = Worker(
                name, command, arguments.model, paths[order], output
            )
            stack.callback(worker.close)
            workers.append((worker, order))

        first = np.load(workers[0][0].output)
        for worker, order in workers[1:]:
            if order == "in file order":
                difference = np.abs(np.load(worker.output) - first).max()
                scale = np.abs(first).max()
                print(f"{worker.name}: differs by {difference / scale:.1e}")
                if difference > 1e-4 * scale:
                    sys.exit("The vectors disagree, so nothing was timed.")
        for _ in range(arguments.repeats):
            for worker, _ in workers:
                worker.time_once()

    peak = gemm_gigaflops()
    print(
        f"\n{platform.processor() or platform.machine()}, {os.cpu_count()} "
        f"cores, float32 matrix product {peak:.0f} GFLOP/s; {len(sentences)} "
        f"sentences, {tokens} tokens; medians of {arguments.repeats} turns.\n"
    )
    print("| | batches | first vector (s) | tokens a second | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for worker, order in workers:
        seconds = statistics.median(worker.seconds)
        ratios = [b / a for a, b in zip(worker.seconds, workers[0][0].seconds)]
        print(
            f"| {worker.name} | {order} | {worker.load_seconds:.1f} | "
            f"{tokens / seconds:,.0f} | {statistics.median(ratios):.2f} |"
        )


if __name__ == "__main__":
    main()
