"""Fast embedding of corpora."""
