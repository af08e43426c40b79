"""The files of models: names, shapes and values, without layers."""
