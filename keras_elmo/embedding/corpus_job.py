"""Embeds a corpus into a file, and resumes after interruptions."""

import itertools
import os
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any
from typing import NamedTuple

from keras_elmo.choices import LAYOUTS
from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.embedding.embedded_shards import InputRecord
from keras_elmo.embedding.embedded_shards import read_record
from keras_elmo.embedding.embedded_shards import read_shard
from keras_elmo.embedding.embedded_shards import write_shard
from keras_elmo.embedding.embedding_files import write_embeddings
from keras_elmo.embedding.job_folder import JobFolder
from keras_elmo.embedding.pairing import pair
from keras_elmo.ops.arguments import check_choice
from keras_elmo.text.corpora import Sentence


class CorpusCounts(NamedTuple):
    """The size of a corpus, and how much of it was already embedded."""

    sentences: int
    tokens: int
    kept_sentences: int
    """The sentences that an earlier run embedded."""
    kept_tokens: int


def embed_corpus(
    sentences: Iterable[Sentence],
    embed: Callable,
    output: str | os.PathLike,
    *,
    layout: str = "allennlp",
    settings: dict[str, Any],
    dtype: str = "float32",
    shard_tokens: int = 16384,
    on_progress: Callable | None = None,
    on_merge: Callable | None = None,
    restart: bool = False,
    overwrite: bool = False,
) -> CorpusCounts:
    """Embeds a corpus into a file.

    The vectors are written to shards in the folder `OUTPUT.parts`. When all
    shards are finished, they are merged into OUTPUT, which is written
    atomically. After an error, a kill or a crash, the same call resumes:
    finished shards are kept. The sentences are read from the start, to check
    that they are still the same. The folder and the file together take twice
    the space of OUTPUT.

    Args:
        sentences: Iterable of `Sentence`, as `read_corpus` returns.
        embed: Function that takes an iterator of token lists and returns an
            iterator of one array `(..., tokens, width)` for each, in the same
            order, such as `ElmoEmbedder.embed_sentences`. It may read ahead.
        output: Path of the file.
        layout: As for `write_embeddings`.
        settings: Dictionary, which JSON can represent, of everything that
            affects the arrays: the model, its layers, and so on. An unfinished
            job resumes only with the same settings.
        dtype: `"float32"` or `"float16"`, the dtype in the file.
        shard_tokens: Integer, the number of tokens after which a shard is full.
            At most one shard is lost in an interruption, and what `embed` has
            read ahead.
        on_progress: Function called regularly with the numbers of sentences and
            tokens done, and whether an earlier run did the last ones.
        on_merge: Function called while OUTPUT is written, with the number of
            sentences in it.
        restart: Boolean, whether to discard the results of an unfinished job.
        overwrite: Boolean, whether to replace a file at `output`.

    Returns:
        A `CorpusCounts`.

    Raises:
        FileExistsError: If there is a file at `output` and `overwrite` is not
            set. If the file is from this job, which was killed before it
            removed the folder, the folder is removed and there is no error.
        BlockingIOError: If another process is writing `output`.
        ValueError: If an unfinished job had other settings or other sentences,
            or an argument is not as described.
        OSError: If the disk is full; finished shards are kept.
    """
    check_choice("layout", layout, LAYOUTS)
    check_choice("dtype", dtype, VECTOR_DTYPES)
    folder = JobFolder(output, layout)
    progress = _Progress(on_progress)
    with folder.locked():
        finished = folder.begin(
            {**settings, "dtype": dtype}, restart, overwrite
        )
        record = InputRecord()
        source = record.watch(sentences)
        if finished:
            progress.keep(_read_again(source, finished, folder))
        else:
            num_shards = _keep_shards(folder, source, progress)
            folder.remove_shards(num_shards)
            embedded = pair(source, embed, dtype)
            for shard in _split(embedded, shard_tokens, progress):
                write_shard(folder.shard(num_shards), shard)
                num_shards += 1
            merged = _read_shards(folder, num_shards, on_merge)
            write_embeddings(folder.merged, merged, layout)
            folder.finish(record.as_dict())
        folder.remove()
    return progress.counts()


class _Progress:
    def __init__(self, report):
        self.sentences = self.tokens = 0
        self.kept_sentences = self.kept_tokens = 0
        self._report = report or (lambda *counts: None)

    def keep(self, record):
        self.kept_sentences += record["sentences"]
        self.kept_tokens += record["tokens"]
        self._add(record["sentences"], record["tokens"], True)

    def add(self, sentence):
        self._add(1, len(sentence.tokens), False)

    def _add(self, sentences, tokens, resumed):
        self.sentences += sentences
        self.tokens += tokens
        self._report(self.sentences, self.tokens, resumed)

    def counts(self):
        return CorpusCounts(
            self.sentences, self.tokens, self.kept_sentences, self.kept_tokens
        )


def _keep_shards(folder, source, progress):
    """Skips the sentences of finished shards; returns how many there are."""
    for index in itertools.count():
        record = read_record(folder.shard(index))
        if record is None:
            return index
        part = itertools.islice(source, record["sentences"])
        progress.keep(_read_again(part, record, folder, progress.sentences))


def _read_again(sentences, expected, folder, first=0):
    """Checks that the sentences are those of a record, and returns it."""
    record = InputRecord(sentences)
    if record.as_dict() != expected:
        raise ValueError(
            "The sentences must be those that the unfinished job in "
            f"'{folder.path}' started with. Sentences {first} to "
            f"{first + expected['sentences'] - 1}, counted from 0, are not; "
            f"they had {expected['tokens']} tokens. {folder.how_to_restart} "
            f"Received: {record.sentences} sentences with {record.tokens} "
            "tokens"
        )
    return expected


def _split(embedded, shard_tokens, progress):
    """Yields iterators, each over the pairs of one shard."""
    for first in embedded:
        yield _until_full(
            itertools.chain([first], embedded), shard_tokens, progress
        )


def _until_full(embedded, shard_tokens, progress):
    size = 0
    for sentence, vectors in embedded:
        yield sentence, vectors
        progress.add(sentence)
        # Add one, so that empty lines also fill a shard.
        size += len(sentence.tokens) + 1
        if size >= shard_tokens:
            return


def _read_shards(folder, num_shards, on_merge):
    done = 0
    for index in range(num_shards):
        for embedding in read_shard(folder.shard(index)):
            yield embedding
            done += 1
            if on_merge:
                on_merge(done)
