"""Computation without gradients. PyTorch only."""

import contextlib

import keras


def inference():
    """Context manager in which PyTorch stores nothing for gradients.

    It does nothing on TensorFlow and JAX, which record gradients only on
    request.
    """
    if keras.backend.backend() != "torch":
        return contextlib.nullcontext()
    import torch

    return torch.inference_mode()
