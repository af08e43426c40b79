"""Scores `english_pos` on text as people write it, instead of treebank tokens.

    python benchmarks/tagging/raw_text.py test.conllu raw_text.json

The text of each paragraph is made from the `# text` lines of a CoNLL-U file.
It is divided into sentences and words by spaCy's rules, as by `keras-elmo tag
--raw`, or only at spaces, and then tagged. A token is right if its characters
are those of a token of the treebank, and a tag is right if its token is right
and has that tag. The F1 of each is that of the CoNLL 2018 shared task.
"""

import pathlib
import sys
import tempfile

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras_elmo
from keras_elmo.text import read_conll
from keras_elmo.text import read_corpus

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from program import begin_results
from program import make_parser
from program import write_results

FORMATS = {"spaCy's rules": "raw", "spaces": "text"}


def main(argv=None):
    parser = make_parser(__doc__)
    parser.add_argument("treebank", help="CoNLL-U file")
    parser.add_argument("results", help="JSON file to write")
    parser.add_argument("--model", default="english_pos", help="a tagger")
    options = parser.parse_args(argv)
    tagger = keras_elmo.Tagger.load(options.model)
    words, tags = read_conll(options.treebank)
    gold = spans(words, tags)
    found = {"the treebank": spans(words, tagger.predict(words))}
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "text.txt")
        text.write_text("\n".join(paragraphs(options.treebank)), "utf-8")
        for name, kind in FORMATS.items():
            tokens = [x.tokens for x in read_corpus(text, kind)]
            found[name] = spans(tokens, tagger.predict(tokens))
    results = begin_results(
        tokens_by={
            name: {key: f1(gold[key], x[key]) for key in x}
            for name, x in found.items()
        }
    )
    write_results(options.results, results)


def paragraphs(path):
    """Yields the text of each paragraph, with a space between sentences."""
    lines = pathlib.Path(path).read_text("utf-8").splitlines()
    paragraph = []
    for line in lines:
        if line.startswith(("# newdoc", "# newpar")) and paragraph:
            yield " ".join(paragraph)
            paragraph = []
        paragraph += [line[9:]] if line.startswith("# text = ") else []
    yield " ".join(paragraph)


def spans(sentences, tags):
    """Returns sets of the spans of tokens, sentences, and tokens with tags.

    A span is where it starts and ends in all characters that are no spaces.
    """
    end, found = 0, {"tokens": set(), "sentences": set(), "tags": set()}
    for words, row in zip(sentences, tags, strict=True):
        first = end
        for word, tag in zip(words, row, strict=True):
            start, end = end, end + len("".join(word.split()))
            found["tokens"].add((start, end))
            found["tags"].add((start, end, tag))
        found["sentences"].add((first, end))
    return found


def f1(gold, found):
    return 2 * len(gold & found) / (len(gold) + len(found))


if __name__ == "__main__":
    main()
