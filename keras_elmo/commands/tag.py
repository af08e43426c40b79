"""Tags a corpus, for example with parts of speech or named entities.

INPUT is tokenised text in its original case, one sentence per line, with
spaces or tabs between the tokens; or CoNLL-U; or, with --raw, text as people
write it; or a labelled file, with a word in each line (--format conll, or a
name that ends in .conll, .iob2, .bio or .tsv). It may be plain or .gz; "-" is
standard input.

OUTPUT has a word and its tag in each line, separated by a tab, and an empty
line after each sentence. It is written atomically; "-" is standard output, and
the reports are then on standard error.

If OUTPUT ends in .jsonl, or with --output-format jsonl, it has a JSON object
for each sentence: its "text", "words" and "tags", and if these mark entities,
"entities", such as {"type": "PER", "start_word": 0, "end_word": 2,
"start_char": 0, "end_char": 11, "probability": 0.98}. The words from start_word
to before end_word, counted from 0, are an entity. They are the text from
start_char to before end_char, counted in Unicode code points. The probability
is that exactly these words are an entity of this type. keras-elmo train-tagger
and evaluate read the words and tags of such a file, and not its entities.

The text is the line of INPUT or, for CoNLL-U and labelled files, the words
joined by spaces. With --raw, the texts include the white space between
sentences and the ends of lines, and a line without words has an object, too.
Joined, all texts are therefore INPUT, except for a byte order mark.

With --raw and --output-format doccano, label-studio or prodigy, OUTPUT is a
file to import into this tool, with each line of INPUT as a text and its
entities as suggestions. In Label Studio, the project needs the template for
named entities. Lines without words are left out. keras-elmo train-tagger reads
what the tool exports.

If INPUT is a labelled file and OUTPUT is not .jsonl, OUTPUT has all columns,
separated by spaces. The label of the file is the last but one, and the tag is
the last, as conlleval reads them. If there is a space in a word or a label,
tabs separate the columns (conlleval -d '\\t').

[options]

examples:
  keras-elmo tag english_pos corpus.txt tagged.conll
  keras-elmo tag english_names letter.txt names.jsonl --raw
  keras-elmo tag english_names letter.txt names.jsonl --raw --threshold 0.1
  keras-elmo tag ner.keras texts.txt doccano.jsonl --raw --output-format doccano
  keras-elmo tag ner.keras test.conll - | conlleval
  zcat text.gz | keras-elmo tag ner.keras - - | grep B-PER
"""

import argparse
import contextlib
import functools
import itertools
import json
import re
import warnings

from keras_elmo.choices import ANNOTATION_TOOLS
from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import LABELLED
from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.commands.arguments import add_corpus_arguments
from keras_elmo.commands.arguments import add_tagger_argument
from keras_elmo.commands.arguments import open_text
from keras_elmo.commands.arguments import read_counted
from keras_elmo.commands.labelled_files import add_column_arguments
from keras_elmo.commands.output import write_output
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.commands.suggestions import write_suggestions

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
    add(
        "--quantize",
        choices=[name for name in QUANTIZATIONS if name],
        help="int8 runs ELMo's LSTMs with 8-bit weights in onnxruntime, which "
        "is faster on processors with AVX-512 VNNI or similar; less than one "
        "of a thousand labels differs",
    )
    add(
        "--output-format",
        choices=(LABELLED, "jsonl", *ANNOTATION_TOOLS),
        help="conll, a word and its tag in each line; jsonl, a JSON object for "
        "each sentence; or, with --raw, a file to import into an annotation "
        "tool, as above. Default: as the name of OUTPUT says; else conll",
    )


def _probability(text):
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise argparse.ArgumentTypeError(
        f"must be a number above 0 and up to 1, such as 0.1. Received: {text!r}"
    )


def run(arguments):
    """Runs `keras-elmo tag`."""
    to, columns = arguments.output, arguments.column or arguments.word_column
    is_raw = arguments.format == "raw" and not columns
    if arguments.output_format in ANNOTATION_TOOLS and not is_raw:
        raise ValueError(
            f"--output-format {arguments.output_format} needs --raw and has no "
            "--column, because it marks entities in text as people write it."
        )
    if arguments.output_format is None:
        if _OTHER_OUTPUT.search(to):
            raise ValueError(
                "OUTPUT is text without compression, and JSON Lines if its "
                "name ends in .jsonl or with --output-format jsonl. "
                f"Received: '{to}'"
            )
        is_json = to.endswith(".jsonl")
        arguments.output_format = "jsonl" if is_json else LABELLED
    with ProgressDisplay(arguments.quiet) as progress:
        write_output(arguments, functools.partial(_tag, arguments, progress))


def _tag(arguments, progress, file):
    from keras_elmo.tagging.tagger import Tagger
    from keras_elmo.tagging.text_spans import tag_sentences

    with progress.waiting("loading the model"):
        tagger = Tagger.load(arguments.model, quantize=arguments.quantize)
    threshold = arguments.threshold
    if threshold is not None:  # Also if INPUT is empty.
        tagger.predict_entities([], threshold=threshold)
    if arguments.output_format in ANNOTATION_TOOLS:
        return write_suggestions(arguments, tagger, file, progress)
    sentences, gap = _read(arguments, tagger.tag_names, progress)
    is_json = arguments.output_format == "jsonl"
    done = tokens = 0
    while chunk := list(itertools.islice(sentences, CHUNK)):
        words = [sentence.tokens for sentence in chunk]
        if is_json or threshold is not None:
            tags, spans = tag_sentences(tagger, words, threshold, verbose=0)
        else:
            tags, spans = tagger.predict(words, verbose=0), None
        for i, (sentence, row) in enumerate(zip(chunk, tags)):
            if is_json:
                text = _as_json(sentence, row, spans and spans[i])
            else:
                text = _as_columns(sentence, row, gap)
            print(text, file=file)
            tokens += len(row)
            done += bool(row) or arguments.format != "raw"
        progress.update(done, tokens)
    return f"{done:,} sentences, {tokens:,} tokens"


def _as_columns(sentence, tags, gap):
    columns = sentence.columns or ([word] for word in sentence.tokens)
    rows = (gap.join([*row, tag]) for row, tag in zip(columns, tags))
    return "".join(f"{row}\n" for row in rows)


def _as_json(sentence, tags, entities):
    found = {"text": sentence.text, "words": sentence.tokens, "tags": tags}
    if entities is not None:
        found["entities"] = []
    places = sentence.char_spans() if entities else []
    for start, end, entity_type, probability in entities or ():
        entity = {"type": entity_type, "start_word": start, "end_word": end}
        entity["start_char"] = places[start][0]
        entity["end_char"] = places[end - 1][1]
        if probability is not None:
            entity["probability"] = float(f"{probability:.6g}")
        found["entities"].append(entity)
    return json.dumps(found, ensure_ascii=False)


def _read(arguments, tag_names, progress):
    """Returns an iterator of `Sentence`s, and what separates columns."""
    from keras_elmo.text.columns import read_columns
    from keras_elmo.text.corpora import joined_words
    from keras_elmo.text.text_kinds import LABELS
    from keras_elmo.text.text_kinds import TABS
    from keras_elmo.text.text_kinds import find_kind

    file = open_text(arguments)
    path, format, kind = file.path, arguments.format, file.kind
    if format is None and kind.format == LABELLED:
        format = LABELLED
        if find_kind(path).format != LABELLED:
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
        if format is None and kind.looks_like in (LABELS, TABS):
            arguments.format = "text"
            warnings.warn(
                f"'{path}' looks like {kind.looks_like}, and each of its lines "
                "is read as a sentence. If each line has a word and its label, "
                "pass --format conll.",
                stacklevel=2,
            )
        sentences = read_counted(file, arguments, progress)
        if format == "raw" and arguments.output_format == LABELLED:
            sentences = joined_words(sentences)
        return sentences, "\t"
    columns = arguments.column, arguments.word_column
    try:
        sentences, reading = read_columns(file, *columns, keep_columns=True)
    except ValueError as error:
        if arguments.format == LABELLED:
            raise
        advice = "If each line of INPUT is a sentence, pass --format text."
        message = str(error).removesuffix(".")
        raise ValueError(f"{message}. {advice}") from error
    progress.say(f"{path}: {', '.join(reading)}")
    progress.start("sentences", len(sentences))
    rows = itertools.chain.from_iterable(x.columns for x in sentences)
    cells = itertools.chain(tag_names, itertools.chain.from_iterable(rows))
    return iter(sentences), "\t" if any(" " in x for x in cells) else " "
