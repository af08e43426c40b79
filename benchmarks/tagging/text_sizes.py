"""Draws what a tagger gains when its biLM is trained on more text.

    python benchmarks/tagging/text_sizes.py picture.png --tokens 5 20 80 \\
        --names A/scores.json B/scores.json C/scores.json \\
        --parts-of-speech D/scores.json E/scores.json F/scores.json

`--tokens` says on how many million tokens each biLM was trained. The files are
those that `experiments.py wnut17` and `experiments.py ewt` write, one of each
for every biLM. They need `elmo-both`, and `elmo-1`, `elmo-10` or `elmo-100`; of
these, those that all files have are drawn. The trainings without ELMo are those
of the last file.
"""

import argparse
import json
import pathlib

# By label: the training with ELMo, and the one without.
NAMES = {"entities": ("elmo-both", "baseline")}
PARTS_OF_SPEECH = {
    "all sentences": ("elmo-100", "baseline-100"),
    "10%": ("elmo-10", "baseline-10"),
    "1%": ("elmo-1", "baseline-1"),
}


def main(argv=None):
    options = parse_arguments(argv)
    panels = {
        "parts of speech, UD English EWT": panel(
            options.parts_of_speech, PARTS_OF_SPEECH
        ),
        "named entities (F1), WNUT 2017": panel(options.names, NAMES),
    }
    import pictures

    pictures.draw_text_sizes(options.picture, options.tokens, panels)
    print(f"Wrote {options.picture}")


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("picture", help="PNG file to write")
    add("--tokens", type=float, nargs="+", required=True, metavar="MILLIONS",
        help="tokens that each biLM was trained on")  # fmt: skip
    files = {"type": pathlib.Path, "nargs": "+", "required": True,
             "metavar": "FILE"}  # fmt: skip
    add("--names", **files, help="scores.json of wnut17, one for each biLM")
    add("--parts-of-speech", **files, help="scores.json of ewt, in this order")
    options = parser.parse_args(argv)
    numbers = [
        len(x) for x in (options.tokens, options.names, options.parts_of_speech)
    ]
    if len(set(numbers)) > 1:
        parser.error(
            "--tokens, --names and --parts-of-speech must have one value for "
            f"each biLM. Received: {numbers[0]}, {numbers[1]} and {numbers[2]}"
        )
    return options


def panel(files, trainings):
    """Returns a panel of `pictures.draw_text_sizes`.

    Args:
        files: List of paths, one for each biLM.
        trainings: `NAMES` or `PARTS_OF_SPEECH`.
    """
    tests = [read_tests(path) for path in files]
    curves, baselines = {}, {}
    for label, (with_elmo, without) in trainings.items():
        if not all(with_elmo in test for test in tests):
            continue
        curves[label] = [test[with_elmo] for test in tests]
        baselines[label] = tests[-1][without]
    return curves, baselines


def read_tests(path):
    """Returns each training's test scores, one for each seed."""
    trainings = json.loads(path.read_text("utf-8"))["trainings"]
    return {
        name: [run["test"]["score"] for run in runs]
        for name, runs in trainings.items()
    }


if __name__ == "__main__":
    main()
