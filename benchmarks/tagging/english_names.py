"""Trains `english_names`, the tagger of names in the package.

    python benchmarks/tagging/english_names.py names \\
        keras_elmo/presets/english_names docs/results/english_names.json

The first folder has the data sets that names_data.py lists. The training is
that of `keras-elmo train-tagger`, and only the layers after ELMo are written,
as by english_pos.py. Run it with the oldest supported Keras. probabilities.py
scores the tagger.
"""

import pathlib
import sys

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras

import keras_elmo
from keras_elmo.models.find_model import find_model
from keras_elmo.models.keras_file import KerasFile
from keras_elmo.tagging.training import train_head

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from english_pos import write
from names_data import read_training
from program import begin_results
from program import make_parser
from program import write_results

ELMO, SEED = "english_mini", 1


def main(argv=None):
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("data", type=pathlib.Path, help="folder of the data sets")
    add("output", type=pathlib.Path, help="folder to write the head to")
    add("results", help="JSON file to write")
    add("--epochs", type=int, default=50, help="the most epochs")
    options = parser.parse_args(argv)
    train, dev = read_training(options.data)
    settings = {
        **keras_elmo.Tagger.train.__kwdefaults__,
        "epochs": options.epochs,
        "verbose": 2,
    }
    keras.utils.set_random_seed(SEED)
    elmo = keras_elmo.ElmoLayer.from_preset(ELMO)
    head, temperature = train_head(train, dev, elmo, **settings)
    path = options.output / "head.keras"
    write(head, path)
    found = KerasFile(path, elmo=find_model(ELMO))
    tagger = keras_elmo.Tagger(found.load_for_export(keras_elmo.ElmoLayer))
    scores = tagger.evaluate(*dev)
    results = begin_results(
        settings={"keras": keras.__version__, "seed": SEED, **settings},
        training_sentences=len(train[0]),
        training_words=sum(map(len, train[0])),
        dev={"sentences": len(dev[0]), "f1": scores["f1"]},
        temperature=temperature,
    )
    write_results(options.results, results)
    print(f"F1 on dev: {scores['f1']:.1%}; temperature {temperature:.2f}")


if __name__ == "__main__":
    main()
