"""Code of docs/tutorials that readers run on files of their own."""

import runpy

from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks


def test_files_of_ones_own_are_read(shared, monkeypatch):
    monkeypatch.chdir(ROOT / "docs/tutorials")  # As Sphinx does.
    path = "docs/tutorials/named-entities.md"
    blocks = read_blocks(path, "{code-cell} ipython3")
    (reader,) = [block for block in blocks if "def read_conll" in block]
    read_conll = run_blocks([reader])["read_conll"]
    ner = runpy.run_path(str(ROOT / "examples/ner.py"))
    for name in ("train", "dev"):
        # Some lines between sentences have a tab.
        file = shared / "data" / "wnut17" / f"{name}.conll"
        assert read_conll(file) == ner["read_conll"](file)
