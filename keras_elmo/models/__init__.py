"""Trained models: what puts layers and files together."""
