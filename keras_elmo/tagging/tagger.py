import functools
import os
from collections.abc import Iterable
from typing import Any
from typing import Self

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import check_integer
from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import find_scheme
from keras_elmo.files.atomic import refuse_existing
from keras_elmo.files.atomic import replace_file
from keras_elmo.files.atomic import replaceable_file
from keras_elmo.files.atomic import temporary_path
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.layers.word_vectors import WordVectors
from keras_elmo.models.find_model import find_model
from keras_elmo.models.presets import TAGGERS
from keras_elmo.models.word_model import TagNames
from keras_elmo.models.word_model import WordModel
from keras_elmo.models.word_model import after_elmo
from keras_elmo.models.word_model import check_tagged_outputs
from keras_elmo.models.word_model import with_separate_layers
from keras_elmo.ops.private_keras import call_of
from keras_elmo.progress_bars import shows_bars
from keras_elmo.tagging.entities import Entity
from keras_elmo.tagging.entities import EntityModel
from keras_elmo.tagging.entities import check_threshold
from keras_elmo.tagging.scores import score_tags
from keras_elmo.tagging.scores import tagged_pairs
from keras_elmo.tagging.sentence_model import SentenceModel
from keras_elmo.tagging.text_spans import TextSpan
from keras_elmo.tagging.text_spans import spans_of_texts
from keras_elmo.text.word_lists import sentence_words


class Tagger:
    """Tags sentences, lists of words, with a Keras model that has ELMo in it.

    Args:
        model: A Keras model with one input, character ids of shape `(batch,
            time, chars)` or the ids of another token encoder; and an output
            with a tag for each word: a `CRFDecoder` with `tag_names`, or
            integers `(batch, time)`, or scores with one more axis, such as of a
            softmax.
        tag_names: List of strings, the labels in order; for a model with
            several outputs, a dictionary from the name of the output that has
            the tags to such a list. Not needed for a `CRFDecoder` with
            `tag_names`.
        quantize: `None`, the default, for the model's own precision, or
            `"int8"` to run ELMo's LSTMs in 8 bits, as in `ElmoEmbedder`: with
            the packages `onnx` and `onnxruntime`, and the layer's weights of
            now. It is not stored in the file that `save` writes.

    Attributes:
        tag_names: List of the labels, in order.
        scheme: `"BIO"`, `"BIOES"` or `"BIOUL"` if these mark entities, else
            `None`.

    Raises:
        ValueError: If the model is not as described, or `quantize` is set and
            the vectors of its ELMo cannot be computed apart: it must call one
            `ElmoLayer`, once, on its input, with nothing else.
        ImportError: If `quantize` needs a package that is not installed.

    Example:

    >>> tagger = Tagger.load("english_pos")
    >>> tagger.predict([["They", "can", "fish", "."], ["Yes", "!"]])
    [['PRON', 'AUX', 'VERB', 'PUNCT'], ['INTJ', 'PUNCT']]
    >>> Tagger.entities(["B-PER", "I-PER", "O", "B-LOC"])
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    """

    def __init__(
        self,
        model: keras.Model,
        tag_names: TagNames | None = None,
        *,
        quantize: str | None = None,
    ) -> None:
        if not isinstance(model, keras.Model):
            raise ValueError(
                "`model` must be a Keras model that returns tags; for a name "
                f"or path, use `Tagger.load`. Received: {model!r}"
            )
        takes = WordModel(model, tag_names)
        check_tagged_outputs(takes.tag_names, takes.outputs)
        name = next(iter(takes.tag_names), None)
        x = takes.outputs.get(name)
        rank = 0 if x is None else len(x.shape) - ("float" in x.dtype)
        # With boundaries that ELMo adds and keeps, there are more tags than
        # words; with others that it removes, there are fewer.
        is_per_word = rank == 2 and len(set(takes.boundaries)) != 1
        if len(takes.tag_names) != 1 or not is_per_word:
            raise ValueError(
                "The model must return one tag for each word: from a CRFDecoder"
                " with `tag_names`, or from one output (batch, time) or "
                "(batch, time, tags) for which you pass `tag_names`. Received: "
                f"model '{model.name}', with `tag_names` for the outputs "
                f"{sorted(takes.tag_names)} of {sorted(takes.outputs)}"
            )
        self.model = model
        self.tag_names = list(map(os.fsdecode, takes.tag_names[name]))
        self.quantize = quantize
        self._arguments = model, {name: self.tag_names}
        self.scheme = find_scheme(self.tag_names)
        self._tags = x
        self._sentence_model = SentenceModel(
            model,
            x,
            takes.vectorization.batch_to_ids,
            len(self.tag_names),
            quantize,
        )

    def __reduce__(self):
        # Without graphs: a copy makes its own.
        make = functools.partial(type(self), quantize=self.quantize)
        return make, self._arguments

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        tag_names: TagNames | None = None,
        *,
        quantize: str | None = None,
    ) -> Self:
        """Loads a tagger.

        Args:
            path: `"english_pos"`, English parts of speech, or
                `"english_names"`, English names of persons, places and
                organisations, which are in the package; or the path or http(s)
                URL of a `.keras` file, as `model.save("ner.keras")` writes it;
                or a folder or `hf://user/repository` with one such file.
            tag_names: As for `Tagger`.
            quantize: As for `Tagger`.

        Raises:
            ValueError: If there is no such tagger, or it cannot be loaded.
            OSError: If a download fails.
            ImportError: If `quantize` needs a package that is not installed.
        """
        found = find_model(path, names=TAGGERS)
        model = found.load_for_export(ElmoLayer)
        if not isinstance(model, keras.Model):
            raise ValueError(
                f"A tagger is one of {[*TAGGERS]}, or a .keras file of a Keras"
                " model that returns tags. To make one from labelled sentences,"
                " use `Tagger.train` or `keras-elmo train-tagger`. Received: "
                f"'{found.name}', {found.what}"
            )
        return cls(model, tag_names, quantize=quantize)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Iterable[str]],
        tags: Iterable[Iterable[str]],
        validation_data: tuple[Iterable, Iterable] | None = None,
        elmo: str | os.PathLike = "english_mini",
        *,
        word_vectors: str | os.PathLike | WordVectors | None = None,
        units: int = 100,
        dropout: float = 0.5,
        learning_rate: float = 0.003,
        batch_size: int = 16,
        epochs: int = 50,
        max_labels: int = 300,
        verbose: int = 1,
    ) -> Self:
        """Trains a tagger on tagged sentences, with a frozen ELMo.

        A BiLSTM and a `CRF` are trained on all layers of ELMo, side by side.
        They are computed once and take two bytes per number: 3.1 GB per million
        words with `english_mini`, which has three layers, 512 wide. Word
        vectors of 100 numbers beside them take 0.2 GB more. Batches have
        sentences of similar length.

        If the tags mark entities, in BIO, IOB1, BIOES or BIOUL, the CRF allows
        only tags of that scheme; IOB1 becomes BIO. `"B"` and `"I"` may be
        without a type. After each epoch,
        the validation sentences are scored: entity F1, or accuracy for other
        tags. Training ends early when the score has not risen for six epochs,
        or for 200 updates if these are more, and the weights
        are those of the best epoch (of equal ones, the last), also if you
        interrupt the training. If the label of all these words is `"O"`, the
        training loss takes the place of the score, with a warning.

        For the same result in each run, first call
        `keras.utils.set_random_seed`.

        Args:
            sentences: Iterable of sentences, each a list of words.
            tags: Iterable of lists of strings, a tag for each word.
            validation_data: Tuple of such sentences and tags. By default, a
                tenth of the sentences is held out, chosen at random. As far as
                possible, it has entities, and only labels that the other
                sentences have, too.
            elmo: What `ElmoLayer.from_preset` takes.
            word_vectors: A file, as for `WordVectors.from_file`, or the layer.
                The BiLSTM reads the vector of each word, too, which is not
                trained. The tagger contains all of the layer's vectors.
            units: Integer, the units of the LSTM in each direction.
            dropout: Float, the dropout rate before and after the BiLSTM.
            learning_rate: Float, the initial learning rate of Adam. It is
                halved when the score stops rising.
            batch_size: Integer, the number of sentences per update.
            epochs: Integer, the most passes over the sentences.
            max_labels: Integer, the most different labels. The memory grows
                with the square of their number, and more than 300 are often
                something else, such as words.
            verbose: 1 for progress bars, 2 for a line per epoch, or 0. If the
                output is neither a terminal nor a notebook, 1 is as 2.

        Returns:
            A `Tagger`.

        Raises:
            ValueError: If there is not one tag for each word, if some tags
                mark entities and others do not, or if there are fewer than two
                or more than `max_labels` different tags, or no sentences to
                train or validate on.

        Example:

        >>> keras.utils.set_random_seed(1)
        >>> sentences = [["Ann", "sings"], ["Bo", "reads"], ["I", "sing"]] * 40
        >>> tags = [["NOUN", "VERB"], ["NOUN", "VERB"], ["PRON", "VERB"]] * 40
        >>> tagger = Tagger.train(sentences, tags, epochs=3, verbose=0)
        >>> tagger.predict([["Tom", "reads"]])
        [['NOUN', 'VERB']]
        >>> tagger.save("pos.keras")

        Reference:
            Lample et al. 2016, [Neural Architectures for Named Entity
            Recognition](https://aclanthology.org/N16-1030)
        """
        # Inference does not need it.
        from keras_elmo.tagging.training import find_word_vectors
        from keras_elmo.tagging.training import train_head

        check_integer("units", units, 1)
        check_integer("batch_size", batch_size, 1)
        check_integer("epochs", epochs, 1)
        verbose = 2 if verbose == 1 and not shows_bars() else verbose
        layer = with_separate_layers(ElmoLayer.from_preset(elmo))
        word_vectors = find_word_vectors(word_vectors, layer, verbose)
        head, _ = train_head(
            (sentences, tags),
            validation_data,
            layer,
            word_vectors=word_vectors,
            units=units,
            dropout=dropout,
            learning_rate=learning_rate,
            batch_size=batch_size,
            epochs=epochs,
            max_labels=max_labels,
            verbose=verbose,
        )
        return cls(after_elmo(head, layer, word_vectors))

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Writes the whole tagger, with ELMo, to a file.

        The labels are in the file if the model ends in a `CRFDecoder` with
        `tag_names`, as after `train`. Otherwise, pass `tag_names` to `load`. It
        is written atomically: an existing file is replaced at once or not at
        all.

        Args:
            path: Path of the file, which ends in `.keras`.
            overwrite: Boolean, whether to replace a file at `path`.

        Raises:
            FileExistsError: If there is a file, and `overwrite` is not set.
            ValueError: If the path does not end in `.keras`.
            OSError: If the file cannot be written.
        """
        writable_path(path, overwrite)
        write_tagger(self, path, overwrite)

    def evaluate(
        self,
        sentences: Iterable[Iterable[str]],
        tags: Iterable[Iterable[str]],
        *,
        batch_size: int | None = None,
        verbose: int | None = None,
    ) -> dict[str, Any]:
        """Scores the tagger on tagged sentences.

        Args:
            sentences: Iterable of sentences, each a list of words.
            tags: Iterable of lists of strings, the right tag of each word. If
                the tagger has a `scheme`, they may be in any scheme.
            batch_size: As for `predict`.
            verbose: As for `predict`.

        Returns:
            A dictionary: `"accuracy"`, the share of the words with the right
            tag; and `"types"`, a dictionary for each type of entity (without a
            scheme: for each tag) with `"precision"`, `"recall"` and `"f1"`,
            from 0 to 1, and `"count"`, their number in `tags`. With a scheme,
            it has these four for all entities, too. An entity is right if its
            start, its end and its type are.

        Raises:
            ValueError: If there is not one tag for each word.

        Example:

        >>> tagger = Tagger.load("english_pos")
        >>> scores = tagger.evaluate([["Hi", "!"]], [["INTJ", "PUNCT"]])
        >>> scores["accuracy"], scores["types"]["INTJ"]["f1"]
        (1.0, 1.0)
        """
        pairs = tagged_pairs(sentences, tags, self.scheme)
        sentences, tags = zip(*pairs) if pairs else ((), ())
        found = self.predict(sentences, batch_size=batch_size, verbose=verbose)
        return score_tags(tags, found, self.scheme)

    def predict(
        self,
        sentences: Iterable[Iterable[str | bytes]],
        *,
        batch_size: int | None = None,
        return_marginals: bool = False,
        verbose: int | None = None,
    ) -> list | tuple[list, list]:
        """Predicts the tags of any number of sentences.

        ELMo's vectors are computed as by `ElmoEmbedder`, if the model allows:
        if it calls one `ElmoLayer`, once, on its input, with nothing else, as
        the models of `train` do. Otherwise, it is slower.

        Args:
            sentences: Iterable of sentences, each a list of words.
            batch_size: Integer, the most sentences that the layers after ELMo
                are given at once. By default, as many as have 4,096 words with
                padding, or fewer if there are many labels. ELMo itself is given
                8,192 words at once. If its vectors cannot be computed apart, or
                there are up to 1,024 words in all, the whole model is given at
                most `batch_size` sentences, by default 32. Sentences of similar
                length are batched together.
            return_marginals: Boolean, whether to return the tags' scores, too:
                the probabilities that a CRF gives to each word's tags, or what
                the output returns, such as a softmax; for integers, 1 and 0.
            verbose: 1 for a progress bar, 0 for none. By default, there is one
                for 1,600 sentences or more. There is none if the output is
                neither a terminal nor a notebook.

        Returns:
            For each sentence, a list of the names of its words' tags. With
            `return_marginals`, a tuple of this and a list of arrays `(words,
            num_tags)`, in the order of `tag_names`.

        Raises:
            ValueError: If a sentence is not a list of words.
        """
        words = checked_words(sentences, batch_size)
        tags: list[list[str]] = [[] for _ in words]
        scores = [np.zeros((0, len(self.tag_names)), "float32") for _ in words]
        function = (
            self._score_function if return_marginals else self._tag_function
        )
        options = {"batch_size": batch_size, "verbose": verbose}
        for batch, results in self._sentence_model.run(
            function, words, **options
        ):
            for i, ids, *marginals in zip(batch, *results):
                length = len(words[i])
                tags[i] = [self.tag_names[x] for x in ids[:length]]
                if marginals:
                    scores[i] = marginals[0][:length]
        return (tags, scores) if return_marginals else tags

    def predict_entities(
        self,
        sentences: Iterable[Iterable[str | bytes]],
        *,
        threshold: float | None = None,
        batch_size: int | None = None,
        return_tags: bool = False,
        verbose: int | None = None,
    ) -> list | tuple[list, list]:
        """Finds entities, each with its probability.

        ```
        P(span is an entity of a type | x) = sum_y p(y | x)
        ```

        where `y` are all tag sequences of the tagger's `scheme` that mark
        exactly this span as an entity of this type. The `CRF` gives these sums
        exactly. `Tagger.train` scales
        its scores so that, of the entities with a probability of about 0.8 in
        text like the validation sentences, about 80% are right.

        Without a threshold, the entities are those that the tags of `predict`
        mark. A low threshold finds more of the entities, and a high one fewer
        wrong ones. Above 0.5, no two of the spans overlap.

        Args:
            sentences: Iterable of sentences, each a list of words.
            threshold: `None`, or a number above 0 and up to 1: all spans of at
                least this probability are returned, whether the best tags mark
                them or not. Of spans that overlap, the most probable one is.
            batch_size: As for `predict`.
            return_tags: Boolean, whether to return the tags that mark these
                entities, too.
            verbose: As for `predict`.

        Returns:
            For each sentence, a list of named tuples in the order of the text:
            `start` and `end`, the number of the first word and of the word
            after the last one, from 0; `type`; and `probability`. With
            `return_tags`, a tuple of this and the lists of tags.

        Raises:
            ValueError: If the model does not end in a `CRF` and a `CRFDecoder`,
                if its labels mark no entities, if a sentence is not a list of
                words, or if the threshold is out of range.

        Example:

        >>> tagger = Tagger.load("english_names")
        >>> words = ["Maria", "Lopez", "moved", "to", "Ohio", "."]
        >>> (entities,) = tagger.predict_entities([words])
        >>> [(" ".join(words[x.start : x.end]), x.type) for x in entities]
        [('Maria Lopez', 'PER'), ('Ohio', 'LOC')]
        """
        check_threshold(threshold)
        words = checked_words(sentences, batch_size)
        entities: list[list[Entity]] = [[] for _ in words]
        tags: list[list[str]] = [[] for _ in words]
        options = {"batch_size": batch_size, "verbose": verbose}
        found = self._entity_model.find(words, threshold, **options)
        for i, spans, row in found:
            entities[i], tags[i] = spans, row
        return (entities, tags) if return_tags else entities

    def predict_text(
        self,
        texts: Iterable[str],
        *,
        language: str = "en",
        threshold: float | None = None,
        batch_size: int | None = None,
        verbose: int | None = None,
    ) -> list[list[TextSpan]]:
        """Finds the entities of texts as people write them, with their places.

        Each text is divided into sentences and words by the rules of the
        package spaCy (`pip install spacy`), as by `keras_elmo.text.tokenize`
        and `keras-elmo tag --raw`. This is right for a tagger whose training
        sentences were divided in the same way, as `english_names` and
        `english_pos` were.

        Args:
            texts: Iterable of strings, each of any number of lines.
            language: String, the code of the language whose rules are applied,
                such as `"de"`. By default, English.
            threshold: As for `predict_entities`.
            batch_size: As for `predict`.
            verbose: As for `predict`.

        Returns:
            For each text, a list of named tuples in the order of the text:
            `start_char` and `end_char`, in Unicode code points from 0; `type`;
            `probability`; and `text`, which is the given text from `start_char`
            to before `end_char`. If the labels mark no entities, each word is
            one of them, its label is the `type`, and the probability is that
            of the label.

        Raises:
            ValueError: If a text is not a string, spaCy does not know the
                language, or a threshold is given and the tagger finds no
                entities with probabilities.
            ImportError: If spaCy is not installed, or a package that it needs
                for this language.

        Example:

        >>> tagger = Tagger.load("english_names")
        >>> text = "Maria Lopez didn't move to Ohio."
        >>> for x in tagger.predict_text([text])[0]:
        ...     print(x.start_char, x.end_char, x.type, x.text)
        0 11 PER Maria Lopez
        27 31 LOC Ohio
        """
        if isinstance(texts, (str, bytes)):
            raise ValueError(
                "`texts` must be a list of strings: write [text] for a single "
                f"one. Received: {texts[:50]!r}"
            )
        texts = list(texts)
        if wrong := [x for x in texts if not isinstance(x, str)]:
            raise ValueError(
                f"Each of `texts` must be a string. Received: {wrong[0]!r}"
            )
        check_threshold(threshold)
        options = {"batch_size": batch_size, "verbose": verbose}
        return spans_of_texts(self, texts, language, threshold, **options)

    @functools.cached_property
    def _tag_function(self):
        return self._sentence_model.compile(self._results()[:1])

    @functools.cached_property
    def _score_function(self):
        return self._sentence_model.compile(
            self._results(return_marginals=True)
        )

    def _results(self, return_marginals=False):
        """Returns the symbolic tags and, if asked for, their scores."""
        x = self._tags
        layer, _, inputs, _ = call_of(x)
        if "float" in x.dtype:
            return [ops.argmax(x, axis=-1), x]
        if isinstance(layer, CRFDecoder):
            twin = CRFDecoder(
                return_marginals=return_marginals,
                tag_names=layer.tag_names or self.tag_names,
                scheme=layer.scheme,
            )
            return keras.tree.flatten(twin(*inputs))
        return [x, ops.one_hot(x, len(self.tag_names))]

    @functools.cached_property
    def _entity_model(self):
        return EntityModel(
            self._sentence_model, self._tags, self.tag_names, self.scheme
        )

    entities = staticmethod(entities)


def checked_words(sentences, batch_size):
    """Returns sentences as lists of words; `batch_size` is checked, too."""
    if batch_size is not None:
        check_integer("batch_size", batch_size, 1)
    return [sentence_words(x, i) for i, x in enumerate(sentences)]


def write_tagger(tagger, path, overwrite):
    """Writes the file of `Tagger.save`.

    If a file is there and must not be replaced, the tagger, whose training may
    have taken hours, is written to another path, which the error names.
    """
    path = writable_path(path)
    with temporary_path(path) as folder:
        os.mkdir(folder)
        file = os.path.join(folder, "tagger.keras")
        tagger.model.save(file)
        replace_file(file, path, overwrite)


def writable_path(path, overwrite=True):
    """Returns the path of the `.keras` file to write; else raises an error."""
    if not os.fspath(path).endswith(".keras"):
        raise ValueError(
            f"The file's name must end in .keras. Received: '{path}'"
        )
    path = replaceable_file(path)
    refuse_existing(path, overwrite)
    with temporary_path(path):  # It needs an existing folder.
        return path
