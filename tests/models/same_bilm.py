"""Compares the biLMs of two `ElmoLayer`s."""

import numpy as np


def check_same_bilm(found, expected):
    for part in ("token_encoder", "encoder"):
        both = [getattr(elmo, part).get_weights() for elmo in (found, expected)]
        np.testing.assert_equal(*both)
