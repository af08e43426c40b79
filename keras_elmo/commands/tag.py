"""Tags a corpus, such as with parts of speech or named entities.

INPUT is tokenised text in its original case, one sentence per line, with
spaces or tabs between the tokens; or CoNLL-U; or, with --raw, text as people
write it. It may be plain or .gz; "-" is standard input.

OUTPUT has a word and its tag in each line, separated by a tab, and an empty
line after each sentence. If it ends in .jsonl, it has a JSON object in each
line: {"words": [...], "tags": [...], "entities": [[START, END, TYPE], ...]},
where the words from START to before END, counted from 0, are an entity.
"entities" is there if the tags mark entities. OUTPUT is written atomically; "-"
is standard output, and the reports are then on standard error.

[options]

examples:
  keras-elmo tag english_pos corpus.txt tagged.conll
  keras-elmo tag english_pos letter.txt tagged.conll --raw
  zcat text.gz | keras-elmo tag ner.keras - - | grep B-PER
"""

import functools
import itertools
import json
import sys

from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.commands.arguments import add_corpus_arguments
from keras_elmo.commands.arguments import read_counted
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.models.presets import TAGGERS

SUMMARY = "tag a corpus with a trained tagger"

# Sentences that are read at once.
CHUNK = 1024


def add_arguments(parser):
    """Adds the arguments of `keras-elmo tag`."""
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="a .keras file of a tagger with an ElmoLayer and, at its end, a "
        "CRFDecoder with tag_names; a folder or hf://user/repository with one "
        f"such file; or a tagger in the package: {', '.join(TAGGERS)}",
    )
    add_corpus_arguments(add)


def run(arguments):
    """Runs `keras-elmo tag`."""
    from keras_elmo.files.atomic import write_atomically

    to = arguments.output
    with ProgressDisplay(arguments.quiet) as progress:
        if to == STANDARD_STREAM:
            return _tag(arguments, sys.stdout.fileno(), progress)
        write = functools.partial(_tag, arguments, progress=progress)
        write_atomically(to, write, arguments.overwrite)


def _tag(arguments, to, progress):
    from keras_elmo.tagging.tagger import Tagger

    with progress.waiting("loading the model"):
        tagger = Tagger.load(arguments.model)
    is_json = arguments.output.endswith(".jsonl")
    sentences, done, tokens = read_counted(arguments, progress), 0, 0
    is_file = arguments.output != STANDARD_STREAM
    with open(to, "w", encoding="utf-8", newline="\n", closefd=is_file) as file:
        while chunk := list(itertools.islice(sentences, CHUNK)):
            texts = [sentence.tokens for sentence in chunk]
            for words, tags in zip(texts, tagger.predict(texts, verbose=0)):
                row = {"words": words, "tags": tags}
                if tagger.scheme:
                    row["entities"] = tagger.entities(tags)
                columns = "".join(f"{w}\t{t}\n" for w, t in zip(words, tags))
                text = json.dumps(row, ensure_ascii=False)
                print(text if is_json else columns, file=file)
            done += len(texts)
            tokens += sum(map(len, texts))
            progress.update(done, tokens)
    if not arguments.quiet:
        where = f" in '{arguments.output}'" if is_file else ""
        print(
            f"{done:,} sentences, {tokens:,} tokens{where}",
            file=sys.stdout if is_file else sys.stderr,
        )
