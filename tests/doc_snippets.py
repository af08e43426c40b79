"""Runs the Python code of a documentation page, as a reader would."""

import re

from conftest import ROOT

_BLOCK = re.compile(r"^```([^\n]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read_blocks(page, mark="python"):
    """Returns the code blocks whose mark is exactly `mark`.

    Blocks that cannot run as they are have the mark `python notest`.

    Args:
        page: Path of the page, from the root of the repository.
        mark: The text after the backquotes.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    return [code for found, code in _BLOCK.findall(text) if found == mark]


def run_blocks(blocks, names=None):
    """Runs blocks in order; returns their variables."""
    names = {} if names is None else names
    for block in blocks:
        exec(block, names)
    return names
