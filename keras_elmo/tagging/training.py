"""Training of a tagger: a BiLSTM and a CRF on the layers of a frozen ELMo."""

import collections
import itertools
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
    *pairs, labels, scheme = training_data(train, dev, batch_size, max_labels)
    table = {}
    if word_vectors is not None:
        check_same_ids(elmo, word_vectors)
        table = look_up(word_vectors, pairs)
        check_coverage(table, pairs[0], verbose)
    train, dev = (
        TaggedBatches(part, labels, elmo, batch_size, verbose, table)
        for part in pairs
    )
    head = build_head(train.width, labels, scheme, units, dropout)
    sizes = [(16, _TIME)] * 2
    decode = Compiled(lambda *x: linear_chain.best_tags(head(x)), head, sizes)
    measure = "f1" if scheme else "accuracy"

    def validate(_, logs):
        found = [[labels[i] for i in ids] for ids in dev.predict(decode)]
        logs[f"val_{measure}"] = score_tags(dev.tags, found, scheme)[measure]

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
            stacklevel=3,
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
            stacklevel=3,
        )
    temperature = calibrate(head, dev, labels, scheme)
    if verbose:
        print(f"The scores are divided by {temperature:.2f}, to calibrate them")
    return _with_entities(head, labels, scheme), temperature


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


class TaggedBatches(keras.utils.PyDataset):
    """Batches of `((vectors, mask), tags)`, of sentences of similar length.

    Their shapes are `(batch, time, width)`, `(batch, time)`, `(batch, time)`.
    The vectors are ELMo's layers side by side, and perhaps a word vector after
    them. They are computed once, and stored in float16.

    Args:
        pairs: List of pairs: the words of a sentence, and their tags.
        labels: List of strings: a tag becomes its index in it.
        elmo: The `ElmoLayer`.
        batch_size: Integer, sentences per batch.
        verbose: As for `keras.utils.Progbar`.
        word_vectors: Dictionary from each word to its vector; or empty.
    """

    def __init__(
        self, pairs, labels, elmo, batch_size, verbose, word_vectors=()
    ):
        super().__init__()
        pairs = sorted(pairs, key=lambda pair: len(pair[1]))
        self.tags = [tags for _, tags in pairs]
        self._batch_size = batch_size
        ids = {label: i for i, label in enumerate(labels)}
        # Validation may have tags that training has not.
        self._ids = [[ids.get(tag, 0) for tag in row] for row in self.tags]
        self._vectors = []
        bar = keras.utils.Progbar(
            len(pairs), verbose=verbose, unit_name="sentence"
        )
        embedder = ElmoEmbedder(elmo, layers="all")
        sentences = [words for words, _ in pairs]
        embedded = embedder.embed_sentences(sentences)
        for words, layers in zip(sentences, embedded):
            parts = [*layers.astype("float16")]
            if word_vectors:
                parts.append([word_vectors[word] for word in words])
            self._vectors.append(np.concatenate(parts, axis=1))
            bar.add(1)
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

    def predict(self, decode):
        """Returns the ids that a function returns for each of `tags`."""
        rows = []
        for i in range(len(self)):
            ids = call_with_arrays(decode, *self._batch(i)[0])
            rows += [*ids][: self._batch_size]
        return [row[: len(tags)] for row, tags in zip(rows, self.tags)]


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
            stacklevel=4,
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
        A callback with `best`, the score of that epoch, and `best_epoch`.
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
    if stop.is_made:
        warnings.warn(
            "The training was interrupted. The tagger is the best so far, of "
            f"epoch {best.best_epoch + 1}.",
            stacklevel=4,
        )
    return best
