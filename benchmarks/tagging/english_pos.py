"""Trains `english_pos`, the tagger of parts of speech in the package.

    python benchmarks/tagging/english_pos.py ud_english_ewt \\
        keras_elmo/presets/english_pos docs/results/english_pos.json

Reads train.conllu, dev.conllu and test.conllu in the first folder. ELMo is
frozen, so its vectors are computed once; then each head is trained on them.
The one with the best dev accuracy is written, in float16, and scored as it is
loaded from the package, where `TAGGERS` in keras_elmo/models/presets.py names
the ELMo that goes in front of it. Run it with the oldest supported Keras: an
older one cannot load what a newer one saved.
"""

import pathlib
import sys
import tempfile
import zipfile

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import h5py
import keras
import numpy as np
from data import read_tagged

import keras_elmo
from keras_elmo.models.keras_file import KerasFile

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from program import begin_results
from program import make_parser
from program import write_results

ELMO = "english_mini"
# Units of the LSTMs in each direction; 0 for none.
HEADS = {"Dense, CRF": 0, "BiLSTM, Dense, CRF": 100}
BATCH, EPOCHS, RATE, DROPOUT = 32, 12, 0.002, 0.4
# Sentences are sorted by length within this many batches.
POOL = 50


def main(argv=None):
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("data", type=pathlib.Path, help="folder of the three data files")
    add("output", type=pathlib.Path, help="folder to write the head to")
    add("results", help="JSON file to write the scores to")
    add("--epochs", type=int, default=EPOCHS, help="default: %(default)s")
    options = parser.parse_args(argv)
    elmo = keras_elmo.ElmoLayer.from_preset(ELMO)
    embedder = keras_elmo.ElmoEmbedder(elmo, layers="mix")
    data = {
        name: read_tagged(options.data / f"{name}.conllu")
        for name in ("train", "dev", "test")
    }
    names = sorted({tag for s in data["train"] for tag in s.tags})
    batches = {
        name: Batches(embedder, data[name], names) for name in ("train", "dev")
    }
    trained = {
        kind: train(units, names, batches, options.epochs)
        for kind, units in HEADS.items()
    }
    best = max(trained, key=lambda kind: trained[kind][1])
    write(trained[best][0], options.output)
    path = options.output / "head.keras"
    tagger = keras_elmo.Tagger(KerasFile(path, elmo=ELMO).load_for_export())
    results = begin_results(
        settings={
            "keras": keras.__version__,
            "epochs": options.epochs,
            "batch_size": BATCH,
            "learning_rate": RATE,
            "dropout": DROPOUT,
        },
        training_sentences=len(data["train"]),
        dev_accuracy={kind: dev for kind, (_, dev) in trained.items()},
        chosen=best,
    )
    for name in ("dev", "test"):
        scores = tagger.evaluate(*zip(*data[name]))
        results[name] = {
            "accuracy": scores["accuracy"],
            "words": sum(len(s.words) for s in data[name]),
        }
        print(f"{name}: {100 * scores['accuracy']:.2f}")
    write_results(options.results, results)


class Batches(keras.utils.PyDataset):
    """Batches of `((vectors, mask), tags)`, of sentences of similar length."""

    def __init__(self, embedder, sentences, names):
        super().__init__()
        words = [sentence.words for sentence in sentences]
        self._vectors = embedder.embed_batch(words)
        numbers = {name: i for i, name in enumerate(names)}
        self._tags = [[numbers[x] for x in s.tags] for s in sentences]
        self._lengths = np.array([len(x) for x in words])
        self._generator = np.random.default_rng(1)
        self.on_epoch_end()

    def __len__(self):
        return -(-len(self._tags) // BATCH)

    def on_epoch_end(self):
        order = self._generator.permutation(len(self._tags))
        pools = np.split(order, range(POOL * BATCH, len(order), POOL * BATCH))
        # Longest first: Keras infers from two batches which axes vary.
        order = [x[np.argsort(-self._lengths[x], kind="stable")] for x in pools]
        self._order = np.concatenate(order)

    def __getitem__(self, i):
        chosen = self._order[i * BATCH : (i + 1) * BATCH]
        lengths = self._lengths[chosen]
        mask = np.arange(lengths.max()) < lengths[:, None]  # (batch, time)
        vectors = np.zeros((*mask.shape, self._vectors[0].shape[-1]), "float32")
        vectors[mask] = np.concatenate([self._vectors[i] for i in chosen])
        tags = np.zeros(mask.shape, "int32")
        tags[mask] = np.concatenate([self._tags[i] for i in chosen])
        return (vectors, mask), tags


def build(units, names, width=512):
    """Returns a model from vectors and a mask to the scores of a `CRF`."""
    vectors = keras.Input((None, width), name="vectors")
    mask = keras.Input((None,), dtype="bool", name="mask")
    x = keras.layers.Dropout(DROPOUT)(vectors)
    if units:
        lstm = keras.layers.LSTM(units, return_sequences=True)
        x = keras.layers.Bidirectional(lstm)(x, mask=mask)
        x = keras.layers.Dropout(DROPOUT)(x)
    x = keras.layers.Dense(len(names))(x)
    scores = keras_elmo.CRF(len(names), tag_names=names)(x, mask=mask)
    return keras.Model([vectors, mask], scores)


def train(units, names, batches, epochs):
    """Trains a head; returns it with its best weights, and its dev accuracy."""
    keras.utils.set_random_seed(1)
    head = build(units, names)
    steps = epochs * len(batches["train"])
    rate = keras.optimizers.schedules.CosineDecay(RATE, steps)
    head.compile(
        keras.optimizers.Adam(rate, global_clipnorm=5.0),
        loss=keras_elmo.CRFLoss(),
        metrics=[keras_elmo.CRFAccuracy()],
    )
    best = keras.callbacks.EarlyStopping(
        "val_crf_accuracy", patience=epochs, mode="max",
        restore_best_weights=True,
    )  # fmt: skip
    found = head.fit(
        batches["train"],
        validation_data=batches["dev"],
        epochs=epochs,
        callbacks=[best],
        verbose=2,
    )
    return head, max(found.history["val_crf_accuracy"])


def write(head, folder):
    """Writes a head, with weights in float16."""
    crf = head.layers[-1]
    decoder = keras_elmo.CRFDecoder(tag_names=crf.tag_names, name="tags")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary, "head.keras")
        keras.Model(head.inputs, decoder(head.output)).save(path)
        with zipfile.ZipFile(path) as saved:
            saved.extractall(temporary)
            names = saved.namelist()
        weights = pathlib.Path(temporary, "model.weights.h5")
        halve(weights, weights.with_suffix(".half"))
        weights.with_suffix(".half").rename(weights)
        target = folder / "head.keras"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as halved:
            for name in names:
                halved.write(pathlib.Path(temporary, name), name)


def halve(source, target):
    """Copies an HDF5 file, with floats in float16; Keras reads them as such."""
    with h5py.File(source) as old, h5py.File(target, "w") as new:
        new.attrs.update(old.attrs)

        def copy(name, item):
            if isinstance(item, h5py.Group):
                made = new.require_group(name)
            else:
                made = new.create_dataset(name, data=item[()].astype("float16"))
            made.attrs.update(item.attrs)

        old.visititems(copy)


if __name__ == "__main__":
    main()
