"""What a model's files are: names, shapes and numbers, and no layers."""
