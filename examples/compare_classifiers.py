"""Compares frozen ELMo with a bag of words, as input of a sentence classifier.

    python examples/compare_classifiers.py FILE --output FILE.json

Each line of the file is a label, a tab, and a tokenised sentence. Both
classifiers are a dense layer over the mean of the words' vectors: those of
ELMo, with learned weights of its layers, or embeddings learned from the
training sentences. Each seed draws other sentences to test on, and a tenth of
the rest to decide when to stop.

From packages/corpora of https://github.com/nltk/nltk_data, unpacked, in Bash:

    for name in neg pos; do
        iconv -f latin1 -t utf-8 sentence_polarity/rt-polarity.$name |
            sed "s/^/$name\\t/"
    done > film.txt
    cat qc/train.txt qc/test.txt | iconv -f latin1 -t utf-8 |
        sed -E 's/^([A-Z]+):[^ ]+ /\\1\\t/' > questions.txt

The reviews are under CC BY 4.0; the questions name no licence.
"""

import argparse
import datetime
import json

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import numpy as np
from text_classification import read_file

import keras_elmo

MODEL = "english_mini"
SEEDS = (1, 2, 3)
TEST_SENTENCES = 1500
EPOCHS = 200  # At most.


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", help="lines of label, tab, tokenised sentence")
    parser.add_argument("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args(argv)
    labels, sentences = zip(*read_file(arguments.file))
    _, y = np.unique(labels, return_inverse=True)
    embedder = keras_elmo.ElmoEmbedder.from_preset(MODEL)
    # (sentences, layers, width): the vectors are computed once.
    means = np.stack(list(embedder.embed_sentence_vectors(sentences)))
    scores = {MODEL: [], "bag of words": []}
    for seed in SEEDS:
        keras.utils.set_random_seed(seed)
        order = np.random.permutation(len(y))
        ends = np.array([0, (len(y) - TEST_SENTENCES) // 10]) + TEST_SENTENCES
        parts = np.split(order, ends)  # to test, stop and train on
        elmo = elmo_mean(means.shape[1:])
        bag = bag_mean(sentences, parts[-1])
        scores[MODEL].append(evaluate(*elmo, means, y, *parts))
        scores["bag of words"].append(evaluate(*bag, y, *parts))
    results = {"date": str(datetime.date.today()), "accuracy": scores}
    with open(arguments.output, "w") as file:
        json.dump(results, file, indent=1)


def elmo_mean(shape):
    """Returns inputs (layers, width), means over words, and their mix."""
    inputs = keras.Input(shape)
    return inputs, keras_elmo.ScalarMix()(keras.ops.unstack(inputs, axis=1))


def bag_mean(sentences, train):
    """Returns inputs of words, the mean of their vectors, and all words.

    Words that are not in the training sentences count as padding.
    """
    words = sorted({word for i in train for word in sentences[i]})
    numbers = {word: number for number, word in enumerate(words, start=1)}
    x = keras.utils.pad_sequences(
        [[numbers.get(word, 0) for word in s] for s in sentences]
    )
    inputs = keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(len(words) + 1, 128, mask_zero=True)
    mean = keras_elmo.SentencePooling()(embedding(inputs))
    return inputs, mean, x


def evaluate(inputs, mean, x, y, test, dev, train):
    """Trains until the loss on the dev part stops falling.

    Returns:
        The accuracy on the test part.
    """
    outputs = keras.layers.Dense(int(y.max()) + 1, activation="softmax")(mean)
    model = keras.Model(inputs, outputs)
    model.compile(
        keras.optimizers.Adam(0.003),
        "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    stop = keras.callbacks.EarlyStopping(patience=4, restore_best_weights=True)
    model.fit(x[train], y[train], validation_data=(x[dev], y[dev]),
              epochs=EPOCHS, callbacks=[stop], verbose=0)  # fmt: skip
    return model.evaluate(x[test], y[test], verbose=0)[1]


if __name__ == "__main__":
    main()
