"""Lazy imports of a package's names, when first used (PEP 562)."""

import importlib
import importlib.util
import sys


def lazy_names(package, modules):
    """Returns the functions `__getattr__` and `__dir__` of a package.

    The package's modules are attributes too, as if it had imported them.

    Args:
        package: The package's `__name__`.
        modules: Dictionary from each module to the names that it defines.
    """
    homes = {name: home for home, names in modules.items() for name in names}

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

    return get_attribute, list_names
