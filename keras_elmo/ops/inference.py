"""What is left out when no gradient will be taken. PyTorch only."""

import contextlib

import keras


def inference():
    """Within, PyTorch keeps nothing for gradients; elsewhere nothing changes.

    TensorFlow and JAX keep nothing unless they are asked to.
    """
    if keras.backend.backend() != "torch":
        return contextlib.nullcontext()
    import torch

    return torch.inference_mode()
