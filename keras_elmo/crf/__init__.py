"""A conditional random field over tag sequences: layers, loss, accuracy."""
