"""Trained models: connects the layers with the files."""
