"""Suggested entities of texts, as files to import into annotation tools."""

import itertools

from keras_elmo.commands.arguments import open_text

# Texts that are read at once.
_CHUNK = 256


def write_suggestions(arguments, tagger, file, progress):
    """Writes each line of INPUT that has words as a text with its entities.

    Args:
        arguments: Those of `keras-elmo tag`, with a tool as `output_format`.
        tagger: The `Tagger`.
        file: The file to write.
        progress: A `ProgressDisplay`.

    Returns:
        A string that says how many texts these are.
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
    return f"{done:,} texts"
