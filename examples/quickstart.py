"""Names, vectors, and a tagger that is trained and exported: `make demo`.

    python examples/quickstart.py
    python examples/quickstart.py --options options.json --weights weights.hdf5

With --options, the vectors and the trained tagger are on that biLM, and else on
`english_mini`, which is in the package.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import numpy as np

import keras_elmo
from keras_elmo.text import read_conll

DATA = pathlib.Path(__file__).parent / "ner_data"
SENTENCE = ["Maria", "Lopez", "moved", "to", "Ohio", "."]
BANKS = [
    ["They", "walked", "along", "the", "bank", "of", "the", "river", "."],
    ["She", "swam", "to", "the", "bank", "of", "the", "stream", "."],
    ["He", "opened", "an", "account", "at", "the", "bank", "."],
]
# Short sentences are trained on faster.
NUM_SENTENCES, MOST_WORDS, EPOCHS = 200, 20, 8


def main():
    elmo = load_elmo()
    find_names()
    compare_banks(elmo)
    tagger = train(elmo)
    sentences, tags = read_conll(DATA / "test.conll")
    f1 = tagger.evaluate(sentences, tags)["f1"]
    print(f"  F1 on {len(sentences)} other sentences: {f1:.2f}")
    (labels,) = tagger.predict([SENTENCE])
    print(" ", *map("/".join, zip(SENTENCE, labels)))
    found = tagger.predict(sentences)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        save_and_reload(tagger, sentences, found, folder / "names.keras")
        export(tagger, sentences, found, folder / "names" / "1")
    print_commands()


def load_elmo():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--options", help="options.json, a directory or a .zip")
    parser.add_argument("--weights", help="weights.hdf5")
    arguments = parser.parse_args()
    if arguments.options:
        files = arguments.options, arguments.weights
        return keras_elmo.ElmoLayer.from_bilm(*files, name="elmo")
    if arguments.weights:
        parser.error("--weights needs --options, the options.json of the model")
    return keras_elmo.ElmoLayer.from_preset("english_mini", name="elmo")


def find_names():
    tagger = keras_elmo.Tagger.load("english_names")
    (entities,) = tagger.predict_entities([SENTENCE])
    print(f'Names in "{" ".join(SENTENCE)}", with their probabilities:')
    for e in entities:
        words = " ".join(SENTENCE[e.start : e.end])
        print(f"  {e.probability:.2f}  {e.type}  {words}")


def compare_banks(elmo):
    embedder = keras_elmo.ElmoEmbedder(elmo, layers="top")
    vectors = embedder.embed_sentences(BANKS)
    banks = [v[words.index("bank")] for v, words in zip(vectors, BANKS)]
    banks = [bank / np.linalg.norm(bank) for bank in banks]
    print('\nVectors of "bank" in three sentences: cosine with the first one')
    for bank, words in zip(banks, BANKS):
        print(f"  {banks[0] @ bank:.2f}  {' '.join(words)}")


def train(elmo):
    """Trains a BiLSTM-CRF on a frozen ELMo; returns it as a `Tagger`."""
    keras.utils.set_random_seed(1)
    pairs = zip(*read_conll(DATA / "train.conll"))
    pairs = [pair for pair in pairs if len(pair[0]) <= MOST_WORDS]
    sentences, tags = zip(*pairs[:NUM_SENTENCES])
    labels = ["O", *sorted({tag for row in tags for tag in row} - {"O"})]

    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    mask = elmo.compute_mask(ids)  # (batch, time), False at padding
    x = keras.layers.Dropout(0.3)(elmo(ids))  # (batch, time, width)
    lstm = keras.layers.LSTM(64, return_sequences=True)
    x = keras.layers.Bidirectional(lstm)(x, mask=mask)
    x = keras.layers.Dense(len(labels))(keras.layers.Dropout(0.3)(x))
    crf = keras_elmo.CRF(len(labels), tag_names=labels, scheme="BIO")
    model = keras.Model(ids, crf(x, mask=mask))
    model.compile(keras.optimizers.Adam(0.01), keras_elmo.CRFLoss())

    print(f"\nA tagger of names, trained on {len(tags)} labelled sentences:")
    # The model defines how words become ids.
    x = elmo.token_encoder.make_vectorization().batch_to_ids(sentences)
    y = [[labels.index(tag) for tag in row] for row in tags]
    y = keras.utils.pad_sequences(y, padding="post", value=-1)
    shows = keras.callbacks.LambdaCallback(on_epoch_end=print_epoch)
    model.fit(x, y, 16, EPOCHS, verbose=0, callbacks=[shows])

    decoder = keras_elmo.CRFDecoder(tag_names=labels, name="tags")
    return keras_elmo.Tagger(keras.Model(ids, decoder(model.output)))


def print_epoch(epoch, logs):
    print(f"  epoch {epoch + 1} of {EPOCHS}: loss {logs['loss']:.2f}")


def save_and_reload(tagger, sentences, found, file):
    tagger.save(file)
    print(f"\nSaved: {file.name}, {megabytes(file)}. Loaded in a new process:")
    text, tagged = file.with_suffix(".txt"), file.with_suffix(".conll")
    text.write_text("".join(f"{' '.join(x)}\n" for x in sentences), "utf-8")
    command = [sys.executable, "-m", "keras_elmo", "tag", file, text, tagged]
    tag = subprocess.run(command, capture_output=True, text=True)
    if tag.returncode:
        sys.exit(tag.stderr)
    _, labels = read_conll(tagged)
    check_same(found, labels)


def export(tagger, sentences, found, folder):
    import tensorflow as tf

    keras_elmo.export_saved_model(tagger.model, folder)
    size = megabytes(*folder.rglob("*"))
    print(f"\nExported: a SavedModel, {size}, that takes strings:")
    served = tf.saved_model.load(str(folder)).signatures["default"]
    lines = tf.constant([" ".join(words) for words in sentences])
    rows = served(lines)["tags_labels"].numpy().astype(str)
    check_same(found, [row[row != ""].tolist() for row in rows])


def check_same(found, labels):
    if labels != found:
        sys.exit("The labels are not those of the trained tagger.")
    print(f"  the labels of all {len(found)} sentences are the same")


def megabytes(*files):
    size = sum(file.stat().st_size for file in files if file.is_file())
    return f"{size / 1e6:.1f} MB"


def print_commands():
    program = "keras-elmo"
    if not shutil.which(program):
        program = os.path.relpath(pathlib.Path(sys.executable).parent / program)
    data = os.path.relpath(DATA)
    print(f"""
To try next:
  echo "Maria Lopez moved to Ohio ." | {program} tag english_names - -
  {program} train-tagger {data}/train.conll ner.keras --dev {data}/dev.conll
  {program} evaluate ner.keras {data}/test.conll
  {program} export ner.keras served/ner/1
  make test""")


if __name__ == "__main__":
    main()
