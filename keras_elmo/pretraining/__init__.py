"""Training a bidirectional language model."""
