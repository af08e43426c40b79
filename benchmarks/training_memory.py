"""Measures the memory of training steps, by default of the paper's recipe.

    python benchmarks/training_memory.py --output memory.json

Makes two steps with `keras-elmo pretrain` on random words, and reads the peak
memory of the process, before it writes anything.
"""

import pathlib
import random
import tempfile

from pretraining_runs import PausedTraining
from program import begin_results
from program import make_parser
from program import write_results

WORDS = 20_000


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--recipe", default="paper")
    parser.add_argument("--vocabulary", type=int, default=793_471)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    special = ("<S>", "</S>", "<UNK>")
    words = [f"word{i}" for i in range(arguments.vocabulary - len(special))]
    drawn = random.Random(0).choices(words, k=WORDS)
    lines = [" ".join(drawn[i : i + 20]) for i in range(0, WORDS, 20)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        vocabulary, corpus = folder / "vocab.txt", folder / "corpus.txt"
        vocabulary.write_text("\n".join([*special, *words]))
        corpus.write_text("\n".join(lines))
        flags = {
            "vocabulary": vocabulary,
            "recipe": arguments.recipe,
            "batch-size": arguments.batch_size,
            "dtype": arguments.dtype,
        }
        training = PausedTraining(folder / "out", 1, corpus, flags)
        training.run()
        results = begin_results(
            recipe=arguments.recipe,
            vocabulary=arguments.vocabulary,
            batch_size=arguments.batch_size,
            dtype=arguments.dtype,
            peak_gib=training.peak_gib,
        )
        training.close()
    write_results(arguments.output, results)


if __name__ == "__main__":
    main()
