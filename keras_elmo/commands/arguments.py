"""Arguments that several subcommands share."""

import argparse
import collections
import contextlib
import os
import re
import warnings

from keras_elmo.choices import COMPUTE_DTYPES
from keras_elmo.choices import CORPUS_FORMATS
from keras_elmo.choices import LABELLED
from keras_elmo.choices import STANDARD_STREAM
from keras_elmo.models.presets import PRESETS
from keras_elmo.models.presets import TAGGERS

# A word that ends in punctuation, and the share of such words in a text above
# which it is not tokenised: 0.1% in treebanks, 10% in their raw text.
_ATTACHED = re.compile(r"[^\W\d_]{3}[.,;:!?]$|\w[,;!?]$")
_MOST_ATTACHED = 0.02


def positive_integer(text):
    """Parses an argument as an integer of at least 1."""
    with contextlib.suppress(ValueError):
        if int(text) >= 1:
            return int(text)
    raise argparse.ArgumentTypeError(
        f"must be an integer of at least 1. Received: {text!r}"
    )


def add_model_arguments(add, nargs=None):
    """Adds MODEL, and the argument for the second of the two files of a biLM.

    Args:
        add: The parser's method `add_argument`.
        nargs: `"?"` if MODEL may be left out.
    """
    add(
        "model",
        nargs=nargs,
        metavar="MODEL",
        help="a folder, a .zip or the URL of a .zip, with options.json and "
        "one .hdf5 file or with an ELMoForManyLangs model; an options file, "
        "with --weights; a preset folder; hf://user/repository; or the name of "
        "a preset, which is in the package or is downloaded once: "
        f"{', '.join(PRESETS)}",
    )
    add(
        "--weights",
        metavar="FILE",
        help="the weight file (.hdf5), if MODEL is an options file",
    )


def add_dtype_argument(add):
    """Adds the argument for the dtype of the computation."""
    add(
        "--dtype",
        choices=COMPUTE_DTYPES,
        default="float32",
        help="dtype to compute in. mixed_bfloat16 is faster on processors that "
        "support it, and accurate to two or three digits. Default: float32",
    )


def add_tagger_argument(add):
    """Adds MODEL, which is a tagger."""
    add(
        "model",
        metavar="MODEL",
        help="a .keras file of a tagger with an ElmoLayer and, at its end, a "
        "CRFDecoder with tag_names; a folder or hf://user/repository with one "
        f"such file; or a tagger in the package: {', '.join(TAGGERS)}",
    )


def add_corpus_arguments(add, formats=CORPUS_FORMATS):
    """Adds INPUT and OUTPUT, and how they are read and written."""
    add("input", metavar="INPUT", help='the corpus; "-" for standard input')
    add("output", metavar="OUTPUT", help="the file to write, as above")
    add("--overwrite", action="store_true", help="replace OUTPUT if it exists")
    add("--quiet", action="store_true", help="show no progress or summary")
    add(
        "--format",
        choices=formats,
        help="format of INPUT. Default: as its name or its first lines say; "
        "else text",
    )
    add(
        "--raw",
        action="store_const",
        dest="format",
        const="raw",
        help="INPUT is text as people write it: divide it into sentences and "
        "words with the package spaCy. A sentence ends with its line",
    )
    add(
        "--language",
        metavar="CODE",
        help="the language of --raw, such as de. Default: en, English",
    )


def open_input(arguments):
    """Returns the `TextFile` of INPUT."""
    from keras_elmo.text.text_files import TextFile
    from keras_elmo.text.text_files import check_file

    if arguments.language and arguments.format != "raw":
        raise ValueError("--language is for --raw.")
    if arguments.input != STANDARD_STREAM:
        is_labelled = arguments.format == LABELLED
        check_file(
            arguments.input, "labelled text" if is_labelled else "corpus"
        )
    return TextFile(arguments.input)


def open_text(arguments):
    """Opens INPUT, which must not be JSON Lines unless its format is given."""
    file = open_input(arguments)
    is_json = file.kind.format == "jsonl"
    if is_json and arguments.format in (None, "raw"):
        raise ValueError(
            "INPUT must be text, and not JSON. Write its texts to a file, with "
            "jq -r .text if each line has an object, or with jq -r "
            "'.[].data.text' for tasks of Label Studio. "
            f"Received: '{file.path}'"
        )
    return file


def read_counted(file, arguments, progress):
    """Yields the `Sentence`s of INPUT; tells `progress` their number if known.

    Args:
        file: The `TextFile` of INPUT.
        arguments: Those of the command.
        progress: A `ProgressDisplay`.
    """
    from keras_elmo.text.corpora import corpus_format
    from keras_elmo.text.corpora import read_sentences
    from keras_elmo.text.text_files import TextFile

    format, total = arguments.format, None
    is_raw = format == "raw"
    if file.path != STANDARD_STREAM and os.path.isfile(file.path):
        # It finds any errors before the work starts. spaCy is slow, so raw text
        # is read as lines, and the number of its sentences remains unknown.
        sentences = read_sentences(file, "text" if is_raw else format)
        number = sum(1 for _ in _warn_if_attached(sentences, is_raw))
        total = None if is_raw else number
        # What had to be said of the file has been said.
        format = format or corpus_format(file)
        file = TextFile(file.path)
    sentences = read_sentences(file, format, arguments.language or "en")
    progress.start("sentences", total)
    yield from _warn_if_attached(sentences, is_raw or total is not None)


def _warn_if_attached(sentences, is_said=False):
    """Yields sentences; warns of punctuation that is not a token of its own.

    Args:
        sentences: Iterable of `Sentence`s.
        is_said: Boolean, whether not to warn. spaCy leaves punctuation at words
            such as "Inc.", and what has been said is not said again.
    """
    if is_said:
        yield from sentences
        return
    words, attached = 0, collections.Counter()
    for sentence in sentences:
        words += len(sentence.tokens)
        attached.update(filter(_ATTACHED.search, sentence.tokens))
        yield sentence
    if attached.total() > _MOST_ATTACHED * words:
        common = ", ".join(repr(word) for word, _ in attached.most_common(3))
        warnings.warn(
            "punctuation is attached to words, which models take for other "
            f"words: {common}. Split it off, or pass --raw.",
            stacklevel=2,
        )


def set_threads():
    """Lets TensorFlow run the two directions of a biLM in parallel.

    Each uses half of the processors that this process may use. It has no effect
    with a GPU, with another backend, and once TensorFlow has computed anything.
    """
    from keras_elmo.ops.backends import backend

    if backend().name != "tensorflow":
        return
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return
    number = _usable_processors()
    backend().set_threads(min(2, number), max(1, number // 2))


def _usable_processors():
    if hasattr(os, "sched_getaffinity"):  # Not on macOS or Windows.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
