"""Tags a corpus, such as with parts of speech or named entities.

INPUT is tokenised text in its original case, one sentence per line, with
spaces or tabs between the tokens; or CoNLL-U; or, with --raw, text as people
write it; or a labelled file, with a word in each line (--format conll, or a
name that ends in .conll, .iob2, .bio or .tsv). It may be plain or .gz; "-" is
standard input.

OUTPUT has a word and its tag in each line, separated by a tab, and an empty
line after each sentence. It is written atomically; "-" is standard output, and
the reports are then on standard error.

If OUTPUT ends in .jsonl, it has a JSON object for each sentence: its "text",
"words" and "tags", and if these mark entities, "entities", such as {"type":
"PER", "start": 0, "end": 2, "probability": 0.98}. The words from start to
before end, counted from 0, are an entity, and the probability is that exactly
these words are one of this type. keras-elmo train-tagger and evaluate read the
words and tags of such a file, and not its entities.

With --raw, an entity also has its position in the text: it is the text from
start_char to before end_char, counted in Unicode code points. The texts include
the white space between sentences and the ends of lines, and a line without
words has an object, too. So all texts, joined, are INPUT (but for a byte order
mark).

Of a labelled file, OUTPUT has all columns, separated by spaces, unless it is
.jsonl: the label of the file is the last but one, and the tag is the last, as
conlleval reads them. If there is a space in a word, tabs separate the columns
(conlleval -d '\\t').

[options]

examples:
  keras-elmo tag english_pos corpus.txt tagged.conll
  keras-elmo tag english_names letter.txt names.jsonl --raw
  keras-elmo tag english_names letter.txt names.jsonl --raw --threshold 0.1
  keras-elmo tag ner.keras test.conll - | conlleval
  zcat text.gz | keras-elmo tag ner.keras - - | grep B-PER
"""

import argparse
import contextlib
import functools
import itertools
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import LABELLED
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.commands.arguments import add_corpus_arguments
from keras_elmo.commands.arguments import add_tagger_argument
from keras_elmo.commands.arguments import read_counted
from keras_elmo.commands.labelled_files import add_column_arguments
from keras_elmo.commands.progress import ProgressDisplay

SUMMARY = "tag a corpus with a trained tagger"

# Names of files for which OUTPUT would be something else.
_OTHER_OUTPUT = re.compile(r"\.(gz|json|ndjson|(?!jsonl$)(?i:jsonl))$")
# Sentences that are read at once.
CHUNK = 1024


def add_arguments(parser):
    """Adds the arguments of `keras-elmo tag`."""
    add = parser.add_argument
    add_tagger_argument(add)
    add_corpus_arguments(add, (*CORPUS_FORMATS, LABELLED))
    add(
        "--threshold",
        type=_probability,
        metavar="P",
        help="mark the entities of at least this probability, above 0 and up "
        "to 1; of those that overlap, the most probable one. 0.1 finds more "
        "entities than the default, the entities of the most probable tags; "
        "0.5 and more find fewer, and make fewer errors",
    )
    add_column_arguments(add)


def _probability(text):
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise argparse.ArgumentTypeError(
        f"must be a number above 0 and up to 1, such as 0.1. Received: {text!r}"
    )


def run(arguments):
    """Runs `keras-elmo tag`."""
    from keras_elmo.files.atomic import write_atomically

    to = arguments.output
    if _OTHER_OUTPUT.search(to):
        raise ValueError(
            "OUTPUT is text without compression, and JSON Lines if its name "
            f"ends in .jsonl. Received: '{to}'"
        )
    with ProgressDisplay(arguments.quiet) as progress:
        if to == STANDARD_STREAM:
            return _tag(arguments, sys.stdout.fileno(), progress)
        write = functools.partial(_tag, arguments, progress=progress)
        write_atomically(to, write, arguments.overwrite)


def _tag(arguments, to, progress):
    from keras_elmo.tagging.tagger import Tagger

    with progress.waiting("loading the model"):
        tagger = Tagger.load(arguments.model)
    if arguments.threshold is not None:  # Also if INPUT is empty.
        tagger.predict_entities([], arguments.threshold)
    is_json = arguments.output.endswith(".jsonl")
    sentences, done, tokens = _read(arguments, progress), 0, 0
    is_file = arguments.output != STANDARD_STREAM
    with open(to, "w", encoding="utf-8", newline="\n", closefd=is_file) as file:
        while chunk := list(itertools.islice(sentences, CHUNK)):
            for row, tags, entities in _predict(
                tagger, chunk, arguments.threshold, is_json
            ):
                pairs = zip(row.columns, tags)
                lines = "".join(f"{x}{tag}\n" for x, tag in pairs)
                text = _as_json(row, tags, entities) if is_json else lines
                print(text, file=file)
                tokens += len(tags)
                done += bool(tags) or arguments.format != "raw"
            progress.update(done, tokens)
    if not arguments.quiet:
        where = f" in '{arguments.output}'" if is_file else ""
        print(
            f"{done:,} sentences, {tokens:,} tokens{where}",
            file=sys.stdout if is_file else sys.stderr,
        )


def _predict(tagger, rows, threshold, is_json):
    """Yields each row with its tags and its entities, or `None` for these."""
    from keras_elmo.crf.crf_decoder import CRFDecoder

    sentences, scheme = [row.words for row in rows], tagger.scheme
    has_crf = any(isinstance(x, CRFDecoder) for x in tagger.model.layers)
    if threshold is not None or (is_json and scheme and has_crf):
        found = tagger.predict_entities(
            sentences, threshold, tags=True, verbose=0
        )
        yield from zip(rows, *found)
        return
    for row, tags in zip(rows, tagger.predict(sentences, verbose=0)):
        yield row, tags, tagger.entities(tags) if scheme else None


def _as_json(row, tags, entities):
    found = {"text": row.text, "words": row.words, "tags": tags}
    if entities is not None:
        found["entities"] = []
    for start, end, entity_type, *probability in entities or ():
        entity = {"type": entity_type, "start": start, "end": end}
        if row.starts:
            last = end - 1
            entity["start_char"] = row.starts[start]
            entity["end_char"] = row.starts[last] + len(row.words[last])
        if probability:
            entity["probability"] = float(f"{probability[0]:.6g}")
        found["entities"].append(entity)
    return json.dumps(found, ensure_ascii=False)


class _Row(NamedTuple):
    """A sentence of INPUT."""

    words: list[str]
    columns: list[str]
    """What is before each tag in OUTPUT, unless this is .jsonl."""
    text: str
    starts: Sequence[int] = ()
    """Where each word begins in `text`, if it is known."""


def _read(arguments, progress):
    """Yields the `_Row` of each sentence."""
    from keras_elmo.text import text_kinds
    from keras_elmo.text.corpora import beginning
    from keras_elmo.text.corpora import check_file
    from keras_elmo.text.tagged_text import read_columns

    path, format = arguments.input, arguments.format
    if format is None and path.endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(
            "INPUT must be text, and not JSON Lines. Write its texts to a file,"
            f" such as with: jq -r .text. Received: '{path}'"
        )
    if format is None and os.path.isfile(path):
        start = beginning(path)
        if text_kinds.guess_format(path, start) == "conllu":
            format = "conllu"
        elif text_kinds.LABELLED.search(path):
            format = LABELLED
        elif text_kinds.looks_labelled(start):
            format = LABELLED
            progress.say(
                f"'{path}' is read as a labelled file. To read each of its "
                "lines as a sentence, pass --format text."
            )
    if format != LABELLED:
        if arguments.column or arguments.word_column:
            raise ValueError(
                "--column and --word-column are for labelled files. Pass "
                "--format conll if INPUT is one."
            )
        is_json = arguments.output.endswith(".jsonl")
        for text, words, *starts in read_counted(arguments, progress, is_json):
            yield _Row(words, [f"{word}\t" for word in words], text, *starts)
        return
    if path != STANDARD_STREAM:
        check_file(path, "labelled text")
    columns = arguments.column, arguments.word_column
    try:
        text = read_columns(path, *columns, keep_rows=True)
    except ValueError as error:
        if arguments.format == LABELLED:
            raise
        how = "If each line of INPUT is a sentence, pass --format text."
        raise ValueError(f"{error}. {how}") from error
    progress.say(f"{path}: {', '.join(text.how)}")
    progress.start("sentences", len(text.sentences))
    cells = itertools.chain.from_iterable(itertools.chain(*text.rows))
    gap = "\t" if any(" " in cell for cell in cells) else " "
    for words, rows in zip(text.sentences, text.rows):
        columns = [gap.join((*row, "")) for row in rows]
        yield _Row(words, columns, " ".join(words))
