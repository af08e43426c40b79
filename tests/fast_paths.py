"""Chooses between TensorFlow's fast paths and the portable code."""

import os


def use_fast_paths(enabled):
    os.environ["KERAS_ELMO_FAST_PATHS"] = str(int(enabled))
