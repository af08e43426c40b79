"""Tensor functions that the layers share, without variables."""
