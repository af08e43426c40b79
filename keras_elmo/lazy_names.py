"""Lazy imports of a package's names, when first used (PEP 562)."""

import ast
import importlib
import importlib.util
import pathlib
import sys


def lazy_names(package):
    """Returns `__all__`, `__getattr__` and `__dir__` of a package.

    The public names are those that its type stub `__init__.pyi` imports. The
    package's modules are attributes too, as if it had imported them.

    Args:
        package: The package's `__name__`.
    """
    homes = read_homes(package)

    def get_attribute(name):
        module = f"{package}.{name}"
        if name in homes:
            value = getattr(importlib.import_module(homes[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        if not name.startswith("_") and importlib.util.find_spec(module):
            return importlib.import_module(module)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def list_names():
        return sorted({*vars(sys.modules[package]), *homes})

    return sorted(homes), get_attribute, list_names


def read_homes(package):
    """Returns the modules that define a package's public names, by name."""
    stub = pathlib.Path(sys.modules[package].__file__).with_suffix(".pyi")
    return {
        alias.name: node.module
        for node in ast.parse(stub.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
