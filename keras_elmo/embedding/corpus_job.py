"""Embeds a corpus into a file, and resumes after interruptions."""

import hashlib
import itertools
import json
import os
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from keras_elmo.checks import check_choice
from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.embedding.embedding_files import embeddings_writer
from keras_elmo.embedding.job_folder import Finished
from keras_elmo.embedding.job_folder import JobFolder
from keras_elmo.embedding.job_folder import write_record
from keras_elmo.embedding.sentence_vectors import with_vectors
from keras_elmo.text.sentences import Sentence


def embed_corpus(
    sentences: Iterable[Sentence],
    embed: Callable,
    output: str | os.PathLike,
    *,
    settings: dict[str, Any],
    output_dtype: str = "float32",
    save_tokens: int = 16384,
    on_progress: Callable = lambda *_: None,
    on_merge: Callable = lambda *_: None,
    restart: bool = False,
    overwrite: bool = False,
) -> tuple[Finished, Finished]:
    """Embeds a corpus into a file.

    The vectors are appended to a file in the folder `OUTPUT.parts`, which
    survives a kill as HDF5 and zip do not. At the end, OUTPUT is written from
    it, atomically. After an error, a kill or a crash, the same call resumes:
    the sentences are read from the start, to check that they are still the
    same, but not embedded again. The folder and the file together take twice
    the space of OUTPUT.

    Args:
        sentences: Iterable of `Sentence`, as `read_corpus` returns.
        embed: Function that takes an iterator of token lists and returns an
            iterator of one array `(..., tokens, width)` for each, in the same
            order, such as `ElmoEmbedder.embed_sentences`. It may read ahead.
        output: Path of the file, whose name ends as for `embeddings_writer`.
        settings: Dictionary, which JSON can represent, of everything that
            affects the arrays: the model, its layers, and so on. An unfinished
            job resumes only with the same settings and output_dtype.
        output_dtype: `"float32"` or `"float16"`, the dtype in the file.
        save_tokens: Integer, the number of tokens after which what is finished
            is saved. An interruption loses no more, and what `embed` has read
            ahead.
        on_progress: Function called regularly with the numbers of sentences and
            tokens done, and whether an earlier run did the last ones.
        on_merge: Function called while OUTPUT is written, with the number of
            sentences in it.
        restart: Boolean, whether to discard the results of an unfinished job.
        overwrite: Boolean, whether to replace a file at `output`.

    Returns:
        What is finished: all, and what an earlier run had finished.

    Raises:
        FileExistsError: If there is a file at `output` and `overwrite` is not
            set. If the file is from this job, which was killed before it
            removed the folder, the folder is removed and there is no error.
        BlockingIOError: If another process is writing `output`.
        ValueError: If an unfinished job had other settings or other sentences,
            or an argument is not as described.
        OSError: If the disk is full; what is finished is kept.
    """
    write = embeddings_writer(output)
    check_choice("output_dtype", output_dtype, VECTOR_DTYPES)
    folder = JobFolder(output)
    with folder.locked():
        suffix = os.path.splitext(output)[1]
        settings = {**settings, "output_dtype": output_dtype, "suffix": suffix}
        folder.begin(settings, restart, overwrite)
        kept = folder.finished
        digest = hashlib.sha256()
        source = iter(sentences)
        for sentence in itertools.islice(source, kept.sentences):
            digest.update(_digestible(sentence))
        is_longer = folder.is_complete and next(source, None) is not None
        if is_longer or digest.hexdigest() != kept.sha256:
            raise folder.refusal(
                "The sentences must be those that the unfinished job started "
                f"with. Received: others among the first {kept.sentences}, or "
                "further ones."
            )
        if kept.sentences:
            on_progress(kept.sentences, kept.tokens, True)
        if not folder.is_complete:
            embedded = with_vectors(source, embed, output_dtype)
            _append(folder, embedded, digest, save_tokens, on_progress)
            write(folder.output, _counted(folder.read_vectors(), on_merge))
        folder.finish()
    return folder.finished, kept


def _append(folder, embedded, digest, save_tokens, on_progress):
    """Adds sentences to what is finished, and saves it regularly."""
    done, tokens, *_ = folder.finished
    unsaved = 0
    with folder.open_vectors() as file:
        for sentence, vectors in embedded:
            write_record(file, sentence.text, vectors)
            digest.update(_digestible(sentence))
            done += 1
            tokens += len(sentence.tokens)
            on_progress(done, tokens, False)
            unsaved += len(sentence.tokens) + 1  # Empty lines count as well.
            if unsaved >= save_tokens:
                folder.save(file, done, tokens, digest.hexdigest())
                unsaved = 0
        folder.save(file, done, tokens, digest.hexdigest())


def _digestible(sentence):
    return f"{json.dumps([sentence.text, sentence.tokens])}\n".encode()


def _counted(embeddings, on_merge):
    for number, embedding in enumerate(embeddings, start=1):
        yield embedding
        on_merge(number)
