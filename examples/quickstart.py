"""From a biLM's weights to a trained, saved and exported Keras model.

Loads ELMo, builds a small tagger on top of it, trains it briefly, saves it,
reloads it in a new process, and exports it for TensorFlow Serving.

    python examples/quickstart.py --options options.json --weights weights.hdf5

Without arguments it uses the small English model that ships with the package.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import numpy as np

import keras_elmo

# Is each word a noun (N), a verb (V) or something else (O)?
TAGS = ["O", "N", "V"]
TAGGED = [
    "The/O children/N play/V in/O the/O park/N ./O",
    "We/O saw/V a/O good/O play/N last/O night/N ./O",
    "The/O bank/N lends/V money/N to/O farmers/N ./O",
    "She/O sat/V on/O the/O bank/N of/O the/O river/N ./O",
    "They/O bank/V on/O better/O weather/N ./O",
    "Spring/N comes/V early/O this/O year/N ./O",
    "Cats/N spring/V at/O birds/N ./O",
    "He/O reads/V books/N every/O night/N ./O",
]
RELOAD = """
import sys
import keras, keras_elmo
model = keras.saving.load_model(sys.argv[1])
encoder = model.get_layer("elmo").token_encoder
words = [["Birds", "spring", "in", "spring", "."]]
ids = encoder.make_vectorization().batch_to_ids(words)
print(model.predict(ids, verbose=0)[0].argmax(-1).tolist())
"""


def load_elmo(options, weights):
    if options:
        print(f"Loading {options} and {weights or 'its weights'}")
        return keras_elmo.ElmoLayer.from_bilm(options, weights, name="elmo")
    print('Loading the preset "english_mini"')
    return keras_elmo.ElmoLayer.from_preset("english_mini", name="elmo")


def read(tagged):
    """Splits "word/TAG" sentences into words and padded tag indices."""
    pairs = [[p.rsplit("/", 1) for p in line.split()] for line in tagged]
    words = [[word for word, _ in sentence] for sentence in pairs]
    tags = np.zeros((len(pairs), max(map(len, pairs))), "int32")
    for i, sentence in enumerate(pairs):
        tags[i, : len(sentence)] = [TAGS.index(tag) for _, tag in sentence]
    return words, tags


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--options", help="options.json, a directory or a .zip")
    parser.add_argument("--weights", help="weights.hdf5")
    arguments = parser.parse_args()
    if arguments.weights and not arguments.options:
        parser.error("--weights needs --options, the options.json of the model")
    keras.utils.set_random_seed(1)

    print("\n== 1. ELMo vectors")
    elmo = load_elmo(arguments.options, arguments.weights)
    # The model defines how words become ids.
    to_ids = elmo.token_encoder.make_vectorization().batch_to_ids
    ids = to_ids([["First", "sentence", "."], ["Another", "."]])
    vectors = elmo(ids)
    print(f"ids {ids.shape} -> vectors {tuple(vectors.shape)}")
    print(f"padding is zero: {not np.any(np.asarray(vectors)[1, 2])}")
    layers = np.asarray(elmo.all_layers(to_ids([["play", "a", "play"]])))[0]
    for k, layer in enumerate(layers):
        a, b = layer[0], layer[2]
        cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        print(f'layer {k}: cosine of the two "play" {cosine:.3f}')

    print("\n== 2. A tagger with ELMo inside")
    words, tags = read(TAGGED)
    ids = to_ids(words)
    inputs = keras.Input((None, *ids.shape[2:]), dtype="int32")
    x = keras.layers.Bidirectional(
        keras.layers.LSTM(64, return_sequences=True)
    )(elmo(inputs))
    model = keras.Model(
        inputs, keras.layers.Dense(len(TAGS), activation="softmax")(x)
    )
    model.compile(
        keras.optimizers.Adam(0.01),
        "sparse_categorical_crossentropy",
        weighted_metrics=["accuracy"],
    )
    # Padding has no weight: not every layer passes ELMo's mask on to the loss.
    real = ids.any(axis=-1).astype("float32")
    model.fit(ids, tags, sample_weight=real, epochs=8, batch_size=4)
    weights, gamma = elmo.mix_weights
    print(f"learned layer weights {weights.round(3)}, gamma {gamma:.3f}")

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        test = [["Birds", "spring", "in", "spring", "."]]
        ids = to_ids(test)
        tagged = model.predict(ids, verbose=0)[0]

        print("\n== 3. Saved, and reloaded in a new process")
        model.save(folder / "tagger.keras")
        size = (folder / "tagger.keras").stat().st_size / 1e6
        output = subprocess.run(
            [sys.executable, "-c", RELOAD, folder / "tagger.keras"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        same = output.split("\n")[-2] == str(tagged.argmax(-1).tolist())
        print(f"tagger.keras, {size:.1f} MB; same tags after reload: {same}")
        names = [TAGS[tag] for tag in tagged.argmax(-1)]
        print(" ".join(f"{w}/{t}" for w, t in zip(test[0], names)))

        print("\n== 4. Exported as a SavedModel")
        import tensorflow as tf

        model.export(folder / "tagger", verbose=False)
        loaded = tf.saved_model.load(str(folder / "tagger"))
        served = loaded.serve(ids)
        difference = np.abs(served.numpy()[0] - tagged).max()
        print(f"largest difference from the Keras model: {difference:.1e}")
        if not same or difference > 1e-5:
            sys.exit("The saved model does not match the trained model.")


if __name__ == "__main__":
    main()
