"""Tags a corpus, such as with parts of speech or named entities.

INPUT is tokenised text in its original case, one sentence per line, with
spaces or tabs between the tokens; or CoNLL-U; or, with --raw, text as people
write it; or a labelled file, with a word in each line (--format conll, or a
name that ends in .conll, .iob2, .bio or .tsv). It may be plain or .gz; "-" is
standard input.

OUTPUT has a word and its tag in each line, separated by a tab, and an empty
line after each sentence. If it ends in .jsonl, it has a JSON object in each
line: {"words": [...], "tags": [...], "entities": [[START, END, TYPE], ...]},
where the words from START to before END, counted from 0, are an entity.
"entities" is there if the tags mark entities. OUTPUT is written atomically; "-"
is standard output, and the reports are then on standard error.

Of a labelled file, OUTPUT has all columns, separated by spaces: the label of
the file is the last but one, and the tag is the last, as conlleval reads them.
If there is a space in a word, tabs separate the columns (conlleval -d '\\t').

[options]

examples:
  keras-elmo tag english_pos corpus.txt tagged.conll
  keras-elmo tag english_pos letter.txt tagged.conll --raw
  keras-elmo tag ner.keras test.conll - | conlleval
  zcat text.gz | keras-elmo tag ner.keras - - | grep B-PER
"""

import functools
import itertools
import json
import os
import sys

from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import LABELLED
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.commands.arguments import add_corpus_arguments
from keras_elmo.commands.arguments import add_tagger_argument
from keras_elmo.commands.arguments import read_counted
from keras_elmo.commands.labelled_files import add_column_arguments
from keras_elmo.commands.progress import ProgressDisplay

SUMMARY = "tag a corpus with a trained tagger"

# Sentences that are read at once.
CHUNK = 1024


def add_arguments(parser):
    """Adds the arguments of `keras-elmo tag`."""
    add = parser.add_argument
    add_tagger_argument(add)
    add_corpus_arguments(add, (*CORPUS_FORMATS, LABELLED))
    add_column_arguments(add)


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
    sentences, done, tokens = _read(arguments, progress), 0, 0
    is_file = arguments.output != STANDARD_STREAM
    with open(to, "w", encoding="utf-8", newline="\n", closefd=is_file) as file:
        while chunk := list(itertools.islice(sentences, CHUNK)):
            texts = [words for words, _ in chunk]
            found = tagger.predict(texts, verbose=0)
            for (words, columns), tags in zip(chunk, found):
                row = {"words": words, "tags": tags}
                if tagger.scheme:
                    row["entities"] = tagger.entities(tags)
                lines = "".join(f"{x}{tag}\n" for x, tag in zip(columns, tags))
                text = json.dumps(row, ensure_ascii=False)
                print(text if is_json else lines, file=file)
            done += len(texts)
            tokens += sum(map(len, texts))
            progress.update(done, tokens)
    if not arguments.quiet:
        where = f" in '{arguments.output}'" if is_file else ""
        print(
            f"{done:,} sentences, {tokens:,} tokens{where}",
            file=sys.stdout if is_file else sys.stderr,
        )


def _read(arguments, progress):
    """Yields the words of a sentence, and what is before each tag in OUTPUT."""
    from keras_elmo.text import text_kinds
    from keras_elmo.text.corpora import beginning
    from keras_elmo.text.corpora import check_file
    from keras_elmo.text.tagged_text import read_columns

    path, format = arguments.input, arguments.format
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
        for sentence in read_counted(arguments, progress):
            yield sentence.tokens, [f"{word}\t" for word in sentence.tokens]
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
        yield words, [gap.join((*row, "")) for row in rows]
