import os
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_elmo.checks import argument_name
from keras_elmo.checks import check_choice
from keras_elmo.checks import check_integer
from keras_elmo.choices import VECTOR_DTYPES
from keras_elmo.embedding.embedding_files import embeddings_writer
from keras_elmo.embedding.packed_elmo import PackedElmo
from keras_elmo.embedding.packed_elmo import mix_of
from keras_elmo.embedding.sentence_vectors import mean_over_tokens
from keras_elmo.embedding.sentence_vectors import with_vectors
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.word_vectorization import vectorization_of
from keras_elmo.text.corpora import read_corpus
from keras_elmo.text.corpora import text_sentences


class ElmoEmbedder:
    """Computes the vectors of sentences or of a corpus, as NumPy arrays.

    Use it if you want ELMo's vectors themselves, for example as features of
    another model. It is faster than calling `ElmoLayer`, because sentences are
    laid end to end in the rows of a batch, so that no padding is computed, and
    each distinct word in a batch is encoded once. The vectors are those that
    the layer returns for each sentence separately, up to rounding. The vectors
    of the BOS and EOS tokens, `<S>` and `</S>`, are left out.

    It can be pickled and copied, for use with joblib or `multiprocessing`.
    TensorFlow and JAX do not survive a fork: start processes with
    `multiprocessing.get_context("spawn")`. In a fork of a process that has used
    them, it raises an error.

    It is optimized for TensorFlow. On JAX, batches are padded to a few shapes,
    each of which is compiled once. On JAX and PyTorch, a batch takes more
    memory.

    Args:
        elmo: An `ElmoLayer` that takes words. It is not copied.
        layers: What to return for each token: by default `"all"` layers, from 0
            (the token encoder) to the top; `"top"`; `"average"` or `"sum"` of
            all layers; `"mix"` for the first learned mix of the layer; an
            integer for one layer; or a list of integers.
        batch_tokens: Integer, the number of tokens per batch, including `<S>`
            and `</S>`. Defaults to 16384. A single longer sentence is a batch
            by itself. More is faster up to a point, and takes more memory: at
            the original size with all layers, about 30 KB per token.
        quantize: `None`, the default, for the layer's own precision, or
            `"int8"` to run the LSTMs in 8 bits with the packages `onnx` and
            `onnxruntime`, with the layer's current weights. The vectors differ
            by 1 to 3%. It is faster on processors that multiply 8-bit integers
            (for example with AVX-512 VNNI), and slower on others.

    Raises:
        ValueError: If an argument is not as described, or a sentence is not a
            list of words.
        ImportError: If `quantize` needs a package that is not installed.

    Example:

    >>> embedder = ElmoEmbedder.from_preset("english_mini", layers="top")
    >>> sentences = [["First", "sentence", "."], [], ["Another", "."]]
    >>> for vectors in embedder.embed_sentences(sentences):
    ...     print(vectors.shape)  # (words, width)
    (3, 512)
    (0, 512)
    (2, 512)
    """

    def __init__(
        self,
        elmo: ElmoLayer,
        layers: str | int | Sequence[int] = "all",
        batch_tokens: int = 16384,
        quantize: str | None = None,
    ) -> None:
        check_integer("batch_tokens", batch_tokens, 1)
        self.elmo = _checked_elmo(elmo)
        self._choose(layers)
        self.batch_tokens = batch_tokens
        self.quantize = quantize
        self._packed = PackedElmo(self.elmo, quantize)

    def __reduce__(self):
        # Without graphs: a copy makes its own.
        arguments = self.elmo, self.layers, self.batch_tokens, self.quantize
        return type(self), arguments

    @classmethod
    def from_preset(
        cls, preset: str | os.PathLike, *, dtype: str | None = None, **kwargs
    ) -> "ElmoEmbedder":
        """Creates an embedder from a trained model, given its name or path.

        For a model of two files, pass `ElmoLayer.from_bilm(options, weights)`
        to the constructor.

        Args:
            preset: As for `ElmoLayer.from_preset`.
            dtype: The dtype policy to compute in, such as `"mixed_bfloat16"`.
                Defaults to that of a saved layer, otherwise to Keras' default.
            **kwargs: Arguments of `ElmoEmbedder`.
        """
        return cls(ElmoLayer.from_preset(preset, dtype=dtype), **kwargs)

    def embed_sentences(
        self, sentences: Iterable[Iterable[str | bytes]]
    ) -> Iterator[np.ndarray]:
        """Embeds any number of sentences, in order.

        Args:
            sentences: Iterable of sentences, each a list of words. It is read
                one batch ahead, so vectors arrive in bursts.

        Yields:
            For each sentence, a float32 array `(layers, tokens, width)`,
            without the first axis if `layers` is an integer, `"top"`,
            `"average"`, `"sum"` or `"mix"`.
        """
        batches = self._packed.batches(sentences, self.batch_tokens)
        for lengths, layers in batches:
            layers = [ops.convert_to_numpy(x) for x in self._select(layers)]
            ends = np.cumsum(lengths)
            for begin, end in zip(ends - lengths, ends):
                stacked = np.stack([layer[begin:end] for layer in layers])
                yield stacked if self._has_many else stacked[0]

    def embed_sentence(self, sentence: Iterable[str | bytes]) -> np.ndarray:
        """Embeds one sentence, a list of words; see `embed_sentences`."""
        return next(self.embed_sentences([sentence]))

    def embed_batch(
        self, batch: Iterable[Iterable[str | bytes]]
    ) -> list[np.ndarray]:
        """Embeds sentences into a list of arrays; see `embed_sentences`."""
        return list(self.embed_sentences(batch))

    def batch_to_embeddings(
        self, batch: Iterable[Iterable[str | bytes]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Embeds sentences into one padded array.

        Args:
            batch: List of sentences, each a list of words.

        Returns:
            A float32 array `(batch, layers, time, width)`, zero at padding, and
            the boolean mask `(batch, time)`. The array has an axis for layers
            only if those of `embed_sentences` do.
        """
        vectors = self.embed_batch(batch)
        lengths = np.array([v.shape[-2] for v in vectors], dtype="int64")
        time = max(lengths, default=0)
        mask = np.arange(time) < lengths[:, None]  # (batch, time)
        padded = [
            np.pad(v, [(0, 0)] * (v.ndim - 2) + [(0, time - n), (0, 0)])
            for v, n in zip(vectors, lengths)
        ]
        if not padded:
            shape = (0, *self.embed_sentence([]).shape)
            return np.empty(shape, "float32"), mask
        return np.stack(padded), mask

    def embed_sentence_vectors(
        self, sentences: Iterable[Iterable[str | bytes]]
    ) -> Iterator[np.ndarray]:
        """Embeds each sentence into the mean vector over its tokens.

        Args:
            sentences: As for `embed_sentences`.

        Yields:
            For each sentence, a float32 array `(layers, width)`, or `(width,)`
            if `layers` selects a single layer. Zeros for a sentence without
            tokens.
        """
        for vectors in self.embed_sentences(sentences):
            yield mean_over_tokens(vectors)

    def embed_file(
        self,
        input_file: str | os.PathLike | Iterable[str],
        output_file_path: str | os.PathLike,
        layers: str | int | Sequence[int] | None = None,
        *,
        output_dtype: str = "float32",
        overwrite: bool = False,
    ) -> None:
        """Embeds a corpus into a file, which is written atomically.

        For large corpora, the command `keras-elmo embed` shows progress and
        resumes where it was interrupted.

        Args:
            input_file: Path of a text file with one tokenised sentence per
                line, or of a CoNLL-U file (`.conllu`), plain or `.gz`; or an
                open text file, or any iterable of lines.
            output_file_path: Path of the file to write. It has an array for
                each line, with the keys `"0"`, `"1"`, ..., and the text. If its
                name ends in `.hdf5` or `.h5`, it is HDF5 as AllenNLP writes it,
                and if it ends in `.npz`, it is for `numpy.load`.
            layers: What to return for each token in this file, as for the
                constructor. By default, it is that of the embedder.
            output_dtype: `"float32"` or `"float16"`, the dtype in the file.
            overwrite: Boolean, whether to replace a file at
                `output_file_path`.

        Raises:
            FileExistsError: If there is a file at `output_file_path`, and
                `overwrite` is not set.
            ValueError: If an argument is not as described.
            OSError: If a file cannot be read or written.
        """
        write = embeddings_writer(output_file_path)
        check_choice("output_dtype", output_dtype, VECTOR_DTYPES)
        if isinstance(input_file, (str, os.PathLike)):
            sentences = read_corpus(input_file)
        else:
            sentences = text_sentences(input_file)
        embedder = self
        if layers is not None:
            # It shares the graphs, and the sessions of onnxruntime.
            embedder = object.__new__(type(self))
            vars(embedder).update(vars(self))
            embedder._choose(layers)
        pairs = with_vectors(sentences, embedder.embed_sentences, output_dtype)
        write(output_file_path, ((s.text, v) for s, v in pairs), overwrite)

    def _choose(self, layers):
        self.layers = layers
        self._select = _selection(layers, self.elmo)
        self._has_many = layers == "all" or isinstance(layers, (list, tuple))


def _checked_elmo(elmo):
    if not isinstance(elmo, ElmoLayer):
        raise ValueError(
            "`elmo` must be an `ElmoLayer`; for the name or path of a model, "
            "use `ElmoEmbedder.from_preset`, and for an options file and a "
            "weight file, `ElmoEmbedder(ElmoLayer.from_bilm(options, weights))`"
            f". Received: {elmo!r}"
        )
    if not elmo.add_sentence_boundaries:
        raise ValueError(
            "`elmo` must add the sentence boundaries. Received: a layer with "
            "`add_sentence_boundaries=False`"
        )
    if not elmo.built:
        indexer = vectorization_of(elmo.token_encoder).indexer
        elmo.build((None, None, *indexer.token_shape))
    return elmo


def _selection(layers, elmo):
    """Returns a function from a list of layers to those picked or mixed."""
    num_layers = elmo.encoder.num_layers + 1
    if layers == "all":
        return list
    if layers == "average":
        return lambda outputs: [sum(outputs) / num_layers]
    if layers == "sum":
        return lambda outputs: [sum(outputs)]
    if layers == "mix":
        return _learned_mix(elmo)
    indices = [num_layers - 1 if layers == "top" else layers]
    if isinstance(layers, (list, tuple)) and layers:
        indices = list(layers)
    for index in indices:
        if type(index) is not int or not 0 <= index < num_layers:
            raise ValueError(
                f"{argument_name('layers')} must be 'all', 'top', 'average', "
                f"'sum', 'mix', an integer from 0 to {num_layers - 1}, or a "
                f"list of such integers. Received: layers={layers!r}"
            )
    return lambda outputs: [outputs[index] for index in indices]


def _learned_mix(elmo):
    if elmo.return_all_layers:
        raise ValueError(
            'With `layers="mix"`, `elmo` must have a mix. Received: a layer '
            "with `return_all_layers=True`, which has none."
        )
    mix = elmo.scalar_mixes[0]
    if mix.layer_norm:
        raise ValueError(
            'With `layers="mix"`, the mix must not have `layer_norm`: the '
            "vectors would depend on the other sentences in the batch."
        )

    return lambda outputs: [mix_of(mix, outputs)]
