"""Trains `english_pos`, the tagger of parts of speech in the package.

    python benchmarks/tagging/english_pos.py ud_english_ewt \\
        keras_elmo/presets/english_pos docs/results/english_pos.json

Reads train.conllu, dev.conllu and test.conllu in the first folder, and trains
what `keras-elmo train-tagger` trains by default. It writes only the layers
after ELMo, in float16, because `TAGGERS` in keras_elmo/models/presets.py names
the ELMo that goes in front of them; and scores the tagger as it is loaded from
there. Run it with the oldest supported Keras: an older one cannot load what a
newer one saved.
"""

import pathlib
import sys
import tempfile
import zipfile

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import h5py
import keras

import keras_elmo
from keras_elmo.models.find_model import find_model
from keras_elmo.models.keras_file import KerasFile
from keras_elmo.tagging.training import train_head
from keras_elmo.text import read_conll

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from program import begin_results
from program import make_parser
from program import write_results

ELMO, SEED = "english_mini", 1


def main(argv=None):
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("data", type=pathlib.Path, help="folder of the three data files")
    add("output", type=pathlib.Path, help="folder to write the head to")
    add("results", help="JSON file to write the scores to")
    options = parser.parse_args(argv)
    train, dev, test = (
        read_conll(options.data / f"{name}.conllu")
        for name in ("train", "dev", "test")
    )
    settings = {**keras_elmo.Tagger.train.__kwdefaults__, "verbose": 2}
    keras.utils.set_random_seed(SEED)
    elmo = keras_elmo.ElmoLayer.from_preset(ELMO)
    path = options.output / "head.keras"
    head, _ = train_head(train, dev, elmo, **settings)
    write(head, path)
    found = KerasFile(path, elmo=find_model(ELMO))
    tagger = keras_elmo.Tagger(found.load_for_export(keras_elmo.ElmoLayer))
    results = begin_results(
        settings={"keras": keras.__version__, "seed": SEED, **settings},
        training_sentences=len(train[0]),
    )
    for name, data in (("dev", dev), ("test", test)):
        accuracy = tagger.evaluate(*data)["accuracy"]
        results[name] = {
            "accuracy": accuracy,
            "words": sum(map(len, data[0])),
        }
        print(f"{name}: {100 * accuracy:.2f}")
    write_results(options.results, results)


def write(head, path):
    """Writes a Keras model, with weights in float16."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        full = pathlib.Path(folder, "head.keras")
        head.save(full)
        with (
            zipfile.ZipFile(full) as saved,
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as halved,
        ):
            saved.extractall(folder)
            for name in saved.namelist():
                file = pathlib.Path(folder, name)
                if name.endswith(".h5"):
                    halve(file, file.with_suffix(".half"))
                    file = file.with_suffix(".half")
                halved.write(file, name)


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
