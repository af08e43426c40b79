import contextlib
import functools
import itertools
import os

from keras_elmo.commands.progress import CorpusProgress
from keras_elmo.embedding import ElmoEmbedder
from keras_elmo.embedding.corpus_job import embed_corpus
from keras_elmo.embedding.embedding_files import guess_layout
from keras_elmo.files.fetch import fetch
from keras_elmo.models.find_model import find_model
from keras_elmo.models.fingerprint import file_digest
from keras_elmo.text.corpora import guess_format
from keras_elmo.text.corpora import read_corpus
from keras_elmo.text.cropped_words import CroppedWords

SHOWN_CROPPED_WORDS = 20


def run(arguments):
    """Runs `keras-elmo embed`."""
    layout = arguments.layout or guess_layout(arguments.output)
    words = _words(arguments)
    model = _find_model(arguments)
    cropped = CroppedWords(model.make_vectorization(**words))
    settings = {
        "model": model.fingerprint(),
        "layers": arguments.layers,
        "compute_dtype": arguments.compute_dtype,
        "format": arguments.format or guess_format(arguments.input),
        **{name: file_digest(path) for name, path in words.items()},
    }
    dtype = arguments.compute_dtype
    load = functools.partial(model.load, **words, dtype=dtype, stateful=False)
    with CorpusProgress(arguments.quiet).shown() as progress:
        counts = embed_corpus(
            _sentences(arguments, progress, cropped),
            lambda sentences: _embed(arguments, load, sentences, progress),
            arguments.output,
            layout=layout,
            settings=settings,
            dtype=arguments.dtype,
            on_progress=progress.embedded,
            on_merge=progress.merged,
            restart=arguments.restart,
            overwrite=arguments.overwrite,
        )
    if not arguments.quiet:
        _print_summary(arguments.output, counts, progress.seconds)
        _print_cropped(cropped)


def _find_model(arguments):
    paths = arguments.model, arguments.options, arguments.weights
    given = tuple(map(bool, paths))
    if given not in ((True, False, False), (False, True, True)):
        raise ValueError("Pass --model, or --options and --weights together.")
    return find_model(arguments.model or arguments.options, arguments.weights)


def _words(arguments):
    """Returns what `from_bilm` is told of words that are looked up."""
    words = {
        "token_embeddings": arguments.token_embeddings,
        "vocabulary": arguments.vocabulary,
    }
    words = {name: path for name, path in words.items() if path}
    if "token_embeddings" in words:  # They may be a URL.
        words["token_embeddings"] = fetch(
            words["token_embeddings"], "token_embeddings"
        )
    return words


def _sentences(arguments, progress, cropped):
    """Yields the corpus; lists its cropped words in passing."""

    def corpus():
        return read_corpus(
            arguments.input, arguments.format, arguments.encoding_errors
        )

    # Once through it, to know its length, and of errors before the work.
    if os.path.isfile(arguments.input):
        progress.total = sum(1 for _ in corpus())
    with contextlib.ExitStack() as stack:
        if arguments.cropped:
            listing = stack.enter_context(
                open(arguments.cropped, "w", encoding="utf-8", newline="\n")
            )
            listing.write("sentence\ttoken\tword\n")
        for index, sentence in enumerate(corpus()):
            for token, word in cropped.add(index, sentence.tokens):
                if arguments.cropped:
                    listing.write(f"{index + 1}\t{token}\t{word}\n")
            yield sentence


def _embed(arguments, load, sentences, progress):
    first = next(sentences, None)
    if first is None:  # Nothing is left to do: spare loading the model.
        return
    embedder = ElmoEmbedder(
        load(),
        layers=arguments.layers,
        batch_tokens=arguments.batch_tokens,
        cache_words=arguments.cache_words,
    )
    progress.start_clock()
    yield from embedder.embed_sentences(itertools.chain([first], sentences))


def _print_summary(output, counts, seconds):
    size = os.path.getsize(output) / 1e6
    new = counts.tokens - counts.kept_tokens
    text = (
        f"{counts.sentences:,} sentences, {counts.tokens:,} tokens in "
        f"'{output}' ({size:,.1f} MB)"
    )
    if new:
        text += f", {new / seconds:,.0f} tokens/s"
    print(text)
    if counts.kept_sentences:
        print(f"{counts.kept_sentences:,} sentences were there before.")


def _print_cropped(cropped):
    if not cropped.total:
        return
    print(f"Too long for the model, and cropped: {cropped.total:,} tokens.")
    print("times  first in sentence  word")
    for word, count, first in cropped.most_frequent(SHOWN_CROPPED_WORDS):
        print(f"{count:5,}  {first + 1:17,}  {word!r}")
