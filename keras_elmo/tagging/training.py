"""Training of a tagger: a BiLSTM and a CRF on the layers of a frozen ELMo."""

import collections
import itertools
import os
import warnings

import keras
import numpy as np
from keras import ops

from keras_elmo.checks import argument_name
from keras_elmo.crf import linear_chain
from keras_elmo.crf.crf import CRF
from keras_elmo.crf.crf_decoder import CRFDecoder
from keras_elmo.crf.loss_and_accuracy import CRFLoss
from keras_elmo.embedding.elmo_embedder import ElmoEmbedder
from keras_elmo.layers.word_vectors import WordVectors
from keras_elmo.ops.compiled import Compiled
from keras_elmo.ops.compiled import call_with_arrays
from keras_elmo.stop_request import StopRequest
from keras_elmo.tagging.calibration import calibrate
from keras_elmo.tagging.scores import score_tags
from keras_elmo.tagging.training_data import training_data
from keras_elmo.text.word_lists import padded_batch

# Training ends after so many epochs without a better score, or so many updates
# if these are more. The learning rate is halved after a third of that.
_PATIENCE, _PATIENT_UPDATES = 6, 200
# Batches are padded to a multiple of it, because each shape is compiled once.
_TIME = 8
# So many words are looked up at a time.
_WORDS = 4096


def train_head(
    train,
    dev,
    elmo,
    *,
    word_vectors,
    units,
    dropout,
    learning_rate,
    batch_size,
    epochs,
    max_labels,
    verbose,
):
    """Trains the layers of a tagger that come after ELMo.

    Args:
        train: The sentences, and their tags.
        dev: The same for validation, or `None` to hold out a tenth of `train`.
        elmo: The `ElmoLayer`.
        word_vectors: A `WordVectors`, or `None`.
        units: As for `Tagger.train`, like all that follow.

    Returns:
        A Keras model, from the vectors of words and their mask to tags; and the
        temperature by which `calibrate` has divided its scores.
    """
    *parts, labels, scheme = training_data(train, dev, batch_size, max_labels)
    vectors = word_features(parts, elmo, word_vectors, verbose)
    train, dev = (
        TaggedBatches(part, labels, vectors, batch_size) for part in parts
    )
    head = build_head(train.width, labels, scheme, units, dropout)
    best = fit_head(
        head,
        train,
        dev,
        labels,
        scheme,
        learning_rate=learning_rate,
        epochs=epochs,
        verbose=verbose,
    )
    if best.is_interrupted:
        warnings.warn(
            "The training was interrupted. The tagger is the best so far, of "
            f"epoch {best.best_epoch + 1}.",
            stacklevel=3,
        )
    temperature = calibrate(head, dev, labels, scheme)
    if verbose:
        print(f"The scores are divided by {temperature:.2f}, to calibrate them")
    return _with_entities(head, labels, scheme), temperature


def fit_head(
    head,
    train,
    dev,
    labels,
    scheme,
    *,
    learning_rate,
    epochs,
    verbose,
    on_epoch=None,
):
    """Trains a head, and sets the weights of its best epoch.

    Args:
        head: What `build_head` returns.
        train: The `TaggedBatches` to train on.
        dev: Those to validate on.
        labels: List of strings, the labels in order.
        scheme: Their scheme, or `None`.
        learning_rate: As for `Tagger.train`, like `epochs` and `verbose`.
        on_epoch: Function that is called after each epoch, with its number from
            0 and its scores; or `None`.

    Returns:
        What `fit` returns.
    """
    sizes = [(16, _TIME)] * 2
    decode = Compiled(lambda *x: linear_chain.best_tags(head(x)), head, sizes)
    measure = "f1" if scheme else "accuracy"

    def validate(epoch, logs):
        found = [[labels[i] for i in ids] for ids in dev.predict(decode)]
        logs[f"val_{measure}"] = score_tags(dev.tags, found, scheme)[measure]
        if on_epoch:
            on_epoch(epoch, logs)

    head.compile(
        keras.optimizers.Adam(learning_rate, global_clipnorm=5.0), CRFLoss()
    )
    score = f"val_{measure}"
    counts = collections.Counter(itertools.chain.from_iterable(dev.tags))
    if {*counts} == {"O"}:
        score = "loss"
        warnings.warn(
            "The label of all words to validate on is O, so that they cannot "
            "show how good the tagger is. The epoch with the lowest training "
            "loss is kept. Add sentences with other labels.",
            stacklevel=4,
        )
    best = fit(head, train, validate, score, epochs, verbose)
    if verbose:
        print(
            f"The best epoch is {best.best_epoch + 1}: {score} {best.best:.4f}"
        )
    # Of no entity, and of the most frequent label for each word.
    trivial = 0 if scheme else max(counts.values()) / counts.total()
    if score != "loss" and best.best <= trivial:
        warnings.warn(
            f"The best {score} is {best.best:.4f}. That is not more than a "
            "tagger has that gives the same label to each word, so this one "
            "may be of no use. Are the columns, the labels and the language of "
            "ELMo right? Otherwise, more labelled sentences are needed.",
            stacklevel=4,
        )
    return best


def _with_entities(head, labels, scheme):
    """Returns a head with the outputs of a tagger, for all exports."""
    decoder = CRFDecoder(
        return_entities=scheme is not None, tag_names=labels, name="tags"
    )
    outputs = decoder(head.output)
    if scheme:
        names = "tags", "entity_probabilities", "entity_lengths"
        outputs = dict(zip(names, outputs))
    return keras.Model(head.inputs, outputs)


def word_features(parts, elmo, word_vectors, verbose):
    """Computes what a head is given for each word, once for all trainings.

    These are ELMo's layers side by side, and perhaps a word vector after them.

    Args:
        parts: List of lists of pairs: the words of a sentence, and their tags.
            The first list is the one to train on.
        elmo: The `ElmoLayer`.
        word_vectors: A `WordVectors`, or `None`.
        verbose: As for `keras.utils.Progbar`.

    Returns:
        A dictionary from the words of each sentence, a tuple, to a float16
        array `(words, width)`.
    """
    table = {}
    if word_vectors is not None:
        check_same_ids(elmo, word_vectors)
        table = look_up(word_vectors, parts)
        check_coverage(table, parts[0], verbose)
    pairs = itertools.chain.from_iterable(parts)
    sentences = dict.fromkeys(tuple(words) for words, _ in pairs)
    sentences = sorted(sentences, key=len)
    bar = keras.utils.Progbar(
        len(sentences), verbose=verbose, unit_name="sentence"
    )
    embedder = ElmoEmbedder(elmo, layers="all")
    features = {}
    for words, layers in zip(sentences, embedder.embed_sentences(sentences)):
        columns = [*layers.astype("float16")]
        if table:
            columns.append([table[word] for word in words])
        features[words] = np.concatenate(columns, axis=1)
        bar.add(1)
    return features


class TaggedBatches(keras.utils.PyDataset):
    """Batches of `((vectors, mask), tags)`, of sentences of similar length.

    Their shapes are `(batch, time, width)`, `(batch, time)`, `(batch, time)`.

    Args:
        pairs: List of pairs: the words of a sentence, and their tags.
        labels: List of strings: a tag becomes its index in it.
        vectors: What `word_features` returns.
        batch_size: Integer, sentences per batch.
    """

    def __init__(self, pairs, labels, vectors, batch_size):
        super().__init__()
        pairs = sorted(pairs, key=lambda pair: len(pair[1]))
        self.tags = [tags for _, tags in pairs]
        self._batch_size = batch_size
        ids = {label: i for i, label in enumerate(labels)}
        # Validation may have tags that training has not.
        self._ids = [[ids.get(tag, 0) for tag in row] for row in self.tags]
        self._vectors = [vectors[tuple(words)] for words, _ in pairs]
        self.width = self._vectors[0].shape[1]

    def __len__(self):
        return -(-len(self.tags) // self._batch_size)

    def __getitem__(self, i):
        # The shortest, then the longest: Keras infers from the first two which
        # axes vary.
        return self._batch(-i % len(self))

    def _batch(self, i):
        rows = slice(i * self._batch_size, (i + 1) * self._batch_size)
        lengths = np.array(list(map(len, self.tags[rows])))
        time = -(-lengths.max() // _TIME) * _TIME
        mask = np.arange(time) < lengths[:, None]  # (batch, time)
        vectors = np.zeros((*mask.shape, self.width), "float32")
        vectors[mask] = np.concatenate(self._vectors[rows])
        ids = np.zeros(mask.shape, "int32")
        ids[mask] = np.concatenate(self._ids[rows])
        return (vectors, mask), ids

    def in_order(self):
        """Yields the batches in the order of `tags`."""
        return map(self._batch, range(len(self)))

    def predict(self, decode):
        """Returns the ids that a function returns for each of `tags`."""
        rows = []
        for inputs, _ in self.in_order():
            ids = call_with_arrays(decode, *inputs)
            rows += [*ids][: self._batch_size]
        return [row[: len(tags)] for row, tags in zip(rows, self.tags)]


def find_word_vectors(word_vectors, elmo, verbose):
    """Returns a `WordVectors`, of a file if it is a path, or `None`.

    Args:
        word_vectors: As for `Tagger.train`.
        elmo: The `ElmoLayer`.
        verbose: As for `keras.utils.Progbar`.
    """
    if not isinstance(word_vectors, (str, os.PathLike)):
        return word_vectors
    return WordVectors.from_file(
        word_vectors,
        max_characters_per_token=elmo.token_encoder.token_shape[0],
        verbose=int(verbose == 1),
        name="word_vectors",
    )


def check_same_ids(elmo, word_vectors):
    """Raises `ValueError` unless two layers take the same ids.

    Args:
        elmo: The `ElmoLayer`.
        word_vectors: The `WordVectors`.
    """
    indexers = [
        getattr(layer, "indexer", None)
        for layer in (word_vectors, elmo.token_encoder)
    ]
    takes = [x and (type(x).__name__, *x.token_shape) for x in indexers]
    if takes[0] is None or takes[0] != takes[1]:
        raise ValueError(
            f"{argument_name('word_vectors')} must be a file or a `WordVectors`"
            f" that takes the same ids as ELMo, {takes[1]}. Received: "
            f"{takes[0] or type(word_vectors).__name__}"
        )


def look_up(word_vectors, parts):
    """Returns a dictionary from each word to its vector, in float16.

    Args:
        word_vectors: `WordVectors`.
        parts: List of lists of pairs: the words of a sentence, and their tags.
    """
    pairs = itertools.chain.from_iterable(parts)
    words = list(dict.fromkeys(word for row, _ in pairs for word in row))
    table = {}
    for i in range(0, len(words), _WORDS):
        some = words[i : i + _WORDS]
        ids = padded_batch([some], word_vectors.indexer.ids_of_words)
        vectors = ops.convert_to_numpy(word_vectors(ids)[0])
        table |= zip(some, vectors.astype("float16"))
    return table


def check_coverage(table, pairs, verbose):
    """Warns if few of the words have a vector, or raises `ValueError`."""
    found = [table[word].any() for words, _ in pairs for word in words]
    message = (
        f"{np.mean(found):.1%} of the words to train on have a word vector"
    )
    if not any(found):
        raise ValueError(f"{message}: they may be of another language.")
    if np.mean(found) < 0.5:
        warnings.warn(
            f"{message}. Are they of the same language and tokenization? Words "
            "without one get zeros.",
            stacklevel=5,
        )
    elif verbose:
        print(message)


def build_head(width, labels, scheme, units, dropout):
    """Returns a model from vectors and their mask to the scores of a `CRF`."""
    vectors = keras.Input((None, width), name="vectors")
    mask = keras.Input((None,), dtype="bool", name="mask")
    x = keras.layers.Dropout(dropout)(vectors)
    lstm = keras.layers.LSTM(units, return_sequences=True)
    x = keras.layers.Bidirectional(lstm)(x, mask=mask)
    x = keras.layers.Dropout(dropout)(x)
    x = keras.layers.Dense(len(labels))(x)
    crf = CRF(len(labels), tag_names=labels, scheme=scheme)
    return keras.Model([vectors, mask], crf(x, mask=mask))


class _BestEpoch(keras.callbacks.EarlyStopping):
    """Restores the last one of the best epochs, instead of the first one."""

    def on_epoch_end(self, epoch, logs=None):
        if self.best is not None and logs[self.monitor] == self.best:
            self.best_epoch = epoch
            self.best_weights = self.model.get_weights()
        super().on_epoch_end(epoch, logs)


def fit(head, batches, validate, score, epochs, verbose):
    """Trains a compiled head, and sets the weights of its best epoch.

    Returns:
        A callback with `best`, the score of that epoch; `best_epoch`; and
        `is_interrupted`.
    """
    patience = max(_PATIENCE, -(-_PATIENT_UPDATES // len(batches)))
    shared = {"monitor": score, "mode": "min" if score == "loss" else "max"}
    best = _BestEpoch(patience=patience, restore_best_weights=True, **shared)
    slower = keras.callbacks.ReduceLROnPlateau(
        factor=0.5, patience=patience // 3, **shared
    )
    scores = keras.callbacks.LambdaCallback(on_epoch_end=validate)
    with StopRequest(lambda: setattr(head, "stop_training", True)) as stop:
        head.fit(
            batches,
            epochs=epochs,
            callbacks=[scores, best, slower],
            verbose=verbose,
        )
    best.is_interrupted = stop.is_made
    return best
