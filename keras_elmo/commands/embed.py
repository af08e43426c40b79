"""Embeds a corpus: writes one file with an array of vectors for each sentence.

INPUT is tokenised text in its original case, one sentence per line, with
spaces or tabs between the tokens; or CoNLL-U. It may be plain or .gz; "-" is
standard input. An empty line is a sentence without tokens and keeps its number,
except with --raw.

OUTPUT holds the arrays under the keys "0", "1", ..., the numbers of the
sentences, and also the text. If its name ends in .hdf5 or .h5, it is HDF5 as
AllenNLP writes it; if it ends in .npz, it is for numpy.load. It is written at
the end; until then, the folder OUTPUT.parts holds the finished part. After an
interruption, run the same command again to resume. At the end, both together
take twice the space.

[options]

examples:
  keras-elmo embed english_mini corpus.txt corpus.hdf5
  keras-elmo embed model_folder dev.conllu.gz dev.hdf5 --layers top
  zcat text.gz | keras-elmo embed options.json --weights weights.hdf5 - \\
      out.npz --layers 0,2 --output-dtype float16

To read the result:
  with h5py.File("corpus.hdf5") as file:
      vectors = file["0"][()]   # (layers, tokens, width)
      numbers = json.loads(file["sentence_to_index"][0])
"""

import argparse
import collections
import functools
import itertools
import os

from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.commands.arguments import add_corpus_arguments
from keras_elmo.commands.arguments import add_dtype_argument
from keras_elmo.commands.arguments import add_model_arguments
from keras_elmo.commands.arguments import open_input
from keras_elmo.commands.arguments import read_counted
from keras_elmo.commands.progress import ProgressDisplay

SUMMARY = "embed a corpus into a file"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo embed`."""
    add = parser.add_argument
    add_model_arguments(add)
    add_corpus_arguments(add)
    add(
        "--layers",
        type=_layers,
        default="all",
        help="all, top, average, sum, mix (the learned one of a preset "
        "folder), or numbers from 0, such as 0,2. all and several numbers give "
        "arrays of shape (layers, tokens, width), the others (tokens, width). "
        "Default: all",
    )
    add(
        "--output-dtype",
        choices=VECTOR_DTYPES,
        default="float32",
        help="dtype of the vectors in OUTPUT; float16 halves the size. "
        "Default: float32",
    )
    add(
        "--restart",
        action="store_true",
        help="discard the results of an unfinished run and start over",
    )
    add_dtype_argument(add)
    add(
        "--quantize",
        choices=[name for name in QUANTIZATIONS if name],
        help="int8 runs the LSTMs with 8-bit weights in onnxruntime, which is "
        "faster on processors with AVX-512 VNNI or similar; the vectors differ "
        "by 1 to 3%%",
    )


def run(arguments):
    """Runs `keras-elmo embed`."""
    from keras_elmo.embedding.corpus_job import embed_corpus
    from keras_elmo.models.find_model import find_model
    from keras_elmo.text.corpora import corpus_format
    from keras_elmo.text.corpora import joined_words

    model = find_model(arguments.model, arguments.weights)
    file = open_input(arguments)
    settings = {
        "model": model.fingerprint(),
        "layers": arguments.layers,
        "dtype": arguments.dtype,
        "quantize": arguments.quantize,
        "format": arguments.format or corpus_format(file),
        "language": arguments.language,
    }
    counts: collections.Counter[str] = collections.Counter()
    with ProgressDisplay(arguments.quiet) as progress:
        sentences = read_counted(file, arguments, progress)
        if arguments.format == "raw":
            sentences = joined_words(sentences)
        done, kept = embed_corpus(
            sentences,
            functools.partial(_embed, arguments, model, progress, counts),
            arguments.output,
            settings=settings,
            output_dtype=arguments.output_dtype,
            on_progress=progress.update,
            on_merge=lambda done: progress.show(f"{done:,} sentences written"),
            restart=arguments.restart,
            overwrite=arguments.overwrite,
        )
    if not arguments.quiet:
        _print_summary(arguments.output, done, kept, progress.seconds)
        if number := counts["cropped"]:
            print(f"{number:,} tokens are too long and were cropped.")


def _embed(arguments, model, progress, counts, sentences):
    """Yields the arrays of sentences, and counts their cropped words."""
    from keras_elmo.embedding.elmo_embedder import ElmoEmbedder
    from keras_elmo.layers.elmo_layer import ElmoLayer
    from keras_elmo.layers.word_vectorization import vectorization_of
    from keras_elmo.text.word_lists import sentence_words

    first = next(sentences, None)
    if first is None:  # Nothing is left to do: do not load the model.
        return
    with progress.waiting("loading the model"):
        elmo = model.load(ElmoLayer, dtype=arguments.dtype)
        embedder = ElmoEmbedder(
            elmo, arguments.layers, quantize=arguments.quantize
        )
    indexer = vectorization_of(embedder.elmo.token_encoder).indexer

    def counted():
        for i, sentence in enumerate(itertools.chain([first], sentences)):
            words = sentence_words(sentence, i)
            counts["cropped"] += sum(map(indexer.is_cropped, words))
            yield words

    yield from embedder.embed_sentences(counted())


def _print_summary(output, done, kept, seconds):
    size = os.path.getsize(output) / 1e6
    new = done.tokens - kept.tokens
    text = (
        f"{done.sentences:,} sentences, {done.tokens:,} tokens in "
        f"'{output}' ({size:,.1f} MB)"
    )
    if new:
        text += f", {new / max(seconds, 1e-3):,.0f} tokens/s"
    print(text)
    if kept.sentences:
        print(f"{kept.sentences:,} sentences were already embedded.")


def _layers(text):
    if text in ("all", "top", "average", "sum", "mix"):
        return text
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            "must be all, top, average, sum, mix, or numbers such as 0,2. "
            f"Received: {text!r}"
        ) from None
    return numbers if len(numbers) > 1 else numbers[0]
