"""Suggested entities of texts, as files to import into annotation tools."""

import itertools
import sys

from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.commands.arguments import open_text

# Texts that are read at once.
_CHUNK = 256


def write_suggestions(arguments, tagger, to, progress):
    """Writes each line of INPUT that has words as a text with its entities.

    Args:
        arguments: Those of `keras-elmo tag`, with a tool as `output_format`.
        tagger: The `Tagger`.
        to: Path or file descriptor, where to write.
        progress: A `ProgressDisplay`.
    """
    from keras_elmo.tagging.text_spans import spans_of_texts
    from keras_elmo.text.annotation_tools import as_record
    from keras_elmo.text.corpora import warn_of_kind

    source = open_text(arguments)
    warn_of_kind(source, "raw")
    tool, language = arguments.output_format, arguments.language or "en"
    is_array = tool == "label-studio"
    between = ",\n" if is_array else "\n"
    texts = (line.rstrip("\r\n") for line in source.lines())
    texts, done = filter(str.strip, texts), 0
    is_file = arguments.output != STANDARD_STREAM
    with open(to, "w", encoding="utf-8", newline="\n", closefd=is_file) as file:
        file.write("[" * is_array)
        while chunk := list(itertools.islice(texts, _CHUNK)):
            found = spans_of_texts(
                tagger, chunk, language, arguments.threshold, verbose=0
            )
            for text, spans in zip(chunk, found):
                file.write(between * bool(done) + as_record(tool, text, spans))
                done += 1
            progress.show(f"{done:,} texts")
        file.write("]" * is_array + "\n" * (is_array or done > 0))
    if not arguments.quiet:
        where = f" in '{arguments.output}'" if is_file else ""
        print(
            f"{done:,} texts{where}", file=sys.stdout if is_file else sys.stderr
        )
