"""Tags sentences with a tagger saved by `train.py`.

    python benchmarks/tagging/predict.py seed-1/tagger.keras \\
        --text "Ann Lee went to Paris ."
    python benchmarks/tagging/predict.py seed-1/tagger.keras corpus.txt

Text must be tokenised, with spaces between words. A corpus has one sentence per
line, or is CoNLL-U if named .conllu; `-` is standard input. Prints one word and
its tag per line, and a blank line after each sentence.
"""

import argparse
import pathlib
import sys

import keras_elmo.quiet_start  # noqa: F401

# isort: split

import keras
from batches import Batches
from batches import predict_tags
from model import vectorization_of

from keras_elmo.text import read_corpus


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "tagger", help="file that train.py wrote, or its folder"
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("corpus", nargs="?", help="file of sentences, or -")
    source.add_argument("--text", help="one sentence")
    options = parser.parse_args(argv)

    tagger = load(options.tagger)
    if options.text is not None:
        sentences = [options.text.split()]
    else:
        sentences = [s.tokens for s in read_corpus(options.corpus)]
    for words, tags in zip(sentences, tag(tagger, sentences)):
        for word, name in zip(words, tags):
            print(f"{word}\t{name}")
        print()


def load(path):
    """Loads a tagger.

    Args:
        path: Path of the file `tagger.keras`, or of its folder.

    Raises:
        ValueError: If the file does not exist or is not a tagger.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "tagger.keras"
    if not path.is_file():
        raise ValueError(f"'{path}' does not exist. Write it with train.py.")
    try:
        tagger = keras.saving.load_model(path)
        tagger.get_layer("tags").tag_names  # noqa: B018  Must exist.
    except Exception as error:
        raise ValueError(
            f"'{path}' is not a tagger saved by train.py: {error}"
        ) from error
    return tagger


def tag(tagger, sentences):
    """Returns the tags of each sentence, as names.

    Args:
        tagger: The model that `train.py` saved.
        sentences: List of lists of words.
    """
    names = tagger.get_layer("tags").tag_names
    parts = {layer.name: layer for layer in tagger.layers}
    vectorization = vectorization_of(parts.get("bilm"))
    # A sentence without words has no tags, so it is skipped.
    chosen = [i for i, words in enumerate(sentences) if words]
    batches = Batches([sentences[i] for i in chosen], vectorization)
    found = predict_tags(tagger, batches)
    tags = [[] for _ in sentences]
    for i, row in zip(chosen, found):
        tags[i] = [names[number] for number in row]
    return tags


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
