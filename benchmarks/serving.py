"""Measures an exported model: requests from many threads.

    python benchmarks/serving.py --text dev.conllu --output serving.json

The model runs in its own process; see README.md.
"""

import pathlib
import subprocess
import sys
import tempfile

from program import begin_results
from program import make_parser
from program import write_results
from worker import Worker
from workloads import read_sentences


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        served = str(folder / "served")
        command = ["-m", "keras_elmo", "export", arguments.model, served]
        subprocess.run(
            [sys.executable, *command], check=True, stdout=sys.stderr
        )
        log = folder / "serving.log"
        with Worker(sys.executable, "own_worker.py", log) as worker:
            found = worker.call(
                "serve",
                folder=served,
                sentences=read_sentences(arguments.text),
                requests=arguments.requests,
                threads=arguments.threads,
                largest=arguments.largest,
                round_size=arguments.round,
            )
    results = begin_results(
        model=pathlib.Path(arguments.model).name,
        threads=arguments.threads,
        largest=arguments.largest,
        **found,
    )
    write_results(arguments.output, results)


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--text", required=True, help="CoNLL-U, or one sentence per line")
    add("--output", required=True, help="JSON file to write")
    add("--model", default="english_mini", help="model for keras-elmo export")
    add("--requests", type=int, default=1000)
    add("--threads", type=int, default=8)
    add("--largest", type=int, default=64, help="most sentences in a request")
    add("--round", type=int, default=100, help="requests between two checks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
