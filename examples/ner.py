"""Named entity recognition: a BiLSTM-CRF on ELMo, written by hand in Keras.

    python examples/ner.py
    python examples/ner.py --train train.conll --dev dev.conll --test test.conll

Without arguments it uses examples/ner_data. Copy this program if you want a
network of your own. If not, `keras-elmo train-tagger` trains this one, and
faster, because it computes ELMo's vectors once instead of in every epoch.
"""

import argparse
import pathlib

import keras

import keras_elmo
from keras_elmo.text import read_conll

DATA = pathlib.Path(__file__).parent / "ner_data"


def main(argv=None):
    options = parse_arguments(argv)
    keras.utils.set_random_seed(1)

    # 1. Words and their labels, from files with a word in each line.
    sentences, tags = read_conll(options.train)
    dev_sentences, dev_tags = read_conll(options.dev)
    test_sentences, test_tags = read_conll(options.test)
    labels = ["O", *sorted({x for row in tags for x in row} - {"O"})]

    # 2. The network, from character ids to the scores of a CRF.
    model = build(options.elmo, labels)
    model.compile(
        keras.optimizers.Adam(0.003),
        loss=keras_elmo.CRFLoss(),
        metrics=[keras_elmo.CRFAccuracy()],
    )
    model.summary()

    # 3. Training. The weights of the best epoch are kept.
    best = keras.callbacks.EarlyStopping(
        "val_crf_accuracy", mode="max", patience=6, restore_best_weights=True
    )
    model.fit(
        Batches(sentences, tags, labels),
        validation_data=Batches(dev_sentences, dev_tags, labels),
        epochs=options.epochs,
        callbacks=[best],
    )

    # 4. The tagger: the same layers, and the best labels for their scores.
    decoder = keras_elmo.CRFDecoder(tag_names=labels, name="tags")
    tagger = keras_elmo.Tagger(keras.Model(model.input, decoder(model.output)))
    scores = tagger.evaluate(test_sentences, test_tags)
    print(f"{options.test}: entity F1 {scores['f1']:.3f}")
    (found,) = tagger.predict(test_sentences[:1])
    print(*map("/".join, zip(test_sentences[0], found)))

    # 5. Files: one for `Tagger.load`, and one for TensorFlow Serving.
    options.output.mkdir(parents=True, exist_ok=True)
    file, served = options.output / "ner.keras", options.output / "served/1"
    tagger.save(file, overwrite=True)
    keras_elmo.export_saved_model(tagger.model, served, overwrite=True)
    print(f"written: {file} and {served}")


def build(elmo, labels):
    """Returns a model from character ids to the scores of a CRF."""
    elmo = keras_elmo.ElmoLayer.from_preset(elmo, name="elmo")  # Frozen.
    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    mask = elmo.compute_mask(ids)  # (batch, time), False at padding.
    x = elmo(ids)  # (batch, time, width), the weighted mean of ELMo's layers.
    x = keras.layers.Dropout(0.5)(x)
    lstm = keras.layers.LSTM(100, return_sequences=True)
    x = keras.layers.Bidirectional(lstm)(x, mask=mask)  # (batch, time, 200)
    x = keras.layers.Dropout(0.5)(x)
    x = keras.layers.Dense(len(labels))(x)  # (batch, time, labels)
    crf = keras_elmo.CRF(len(labels), tag_names=labels, scheme="BIO")
    return keras.Model(ids, crf(x, mask=mask))


class Batches(keras.utils.PyDataset):
    """Batches of sentences of similar length, which need little padding."""

    def __init__(self, sentences, tags, labels, size=16):
        super().__init__()
        pairs = sorted(zip(sentences, tags), key=lambda pair: len(pair[1]))
        self.batches = [pairs[i : i + size] for i in range(0, len(pairs), size)]
        self.labels = labels

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, i):
        # Keras infers from the first two, the shortest and the longest, that
        # the length varies.
        sentences, tags = zip(*self.batches[-i])
        x = keras_elmo.batch_to_ids(sentences)  # (batch, time, 50)
        y = [[self.labels.index(tag) for tag in row] for row in tags]
        y = keras.utils.pad_sequences(y, padding="post", value=-1)
        return x, y  # y is (batch, time).


def parse_arguments(argv):
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    add = parser.add_argument
    add("--train", default=DATA / "train.conll", help="labelled sentences, BIO")
    add("--dev", default=DATA / "dev.conll", help="when to stop")
    add("--test", default=DATA / "test.conll", help="to score at the end")
    add("--elmo", default="english_mini", help="name or folder of a preset")
    add("--epochs", type=int, default=20, help="at most; default: 20")
    add("--output", default="ner", type=pathlib.Path, help="default: ner")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
