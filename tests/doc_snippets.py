"""The Python of a page of documentation, as a reader would run it."""

import re

from conftest import ROOT

_BLOCK = re.compile(r"^```([^\n]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read_blocks(page, mark="python"):
    """Returns the blocks of code that are marked so, and with nothing more.

    Those that cannot be run as they stand are marked `python notest`.

    Args:
        page: Path of the page, from the root of the repository.
        mark: What stands after the backquotes.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    return [code for found, code in _BLOCK.findall(text) if found == mark]


def run_blocks(blocks, names=None):
    """Runs blocks one after the other; returns their variables."""
    names = {} if names is None else names
    for block in blocks:
        exec(block, names)
    return names
