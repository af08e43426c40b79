"""Writes a biLM of a published size with random weights.

python benchmarks/random_weights.py DIR --size original
"""

import argparse
import pathlib

import keras

import keras_elmo

SIZES = {
    # name: (units, projection_dim, num_highways)
    "original": (4096, 512, 2),
    "medium": (2048, 256, 1),
    "small": (1024, 128, 1),
}


def make_elmo(size):
    """Returns an `ElmoLayer` of a published size with random weights."""
    units, projection_dim, num_highways = SIZES[size]
    keras.utils.set_random_seed(0)
    elmo = keras_elmo.ElmoLayer(
        keras_elmo.CharCNNEmbedding(projection_dim, num_highways=num_highways),
        keras_elmo.BiLMEncoder(units, projection_dim),
    )
    elmo.build((None, None, 50))
    return elmo


def write_bilm(folder, size):
    """Writes `options.json` and `weights.hdf5`; returns the layer."""
    elmo = make_elmo(size)
    folder.mkdir(parents=True, exist_ok=True)
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return elmo


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--size", choices=SIZES, default="original")
    arguments = parser.parse_args()
    elmo = write_bilm(arguments.directory, arguments.size)
    print(f"{elmo.count_params():,} weights in {arguments.directory}")


if __name__ == "__main__":
    main()
