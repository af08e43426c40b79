"""Functions of tensors that the layers share; no variables here."""
