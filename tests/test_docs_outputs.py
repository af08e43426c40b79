"""The site shows the tutorials' output as it was printed."""

import html
import json
import re

import pytest
from conftest import ROOT

BUILD = ROOT / "docs/_build"


def printed(notebook):
    """Returns what each cell of an executed notebook printed."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    for cell in cells:
        texts = [
            "".join(output["text"])
            for output in cell.get("outputs", ())
            if output.get("name") == "stdout"
        ]
        if texts:
            yield "".join(texts).strip()


def test_whole_sentences():
    if not (BUILD / "html/tutorials").exists():
        pytest.skip("needs the site, built by `make docs`")
    count = 0
    for notebook in (BUILD / "jupyter_execute/tutorials").glob("*.ipynb"):
        page = BUILD / f"html/tutorials/{notebook.stem}.html"
        if not page.exists():  # a page that was renamed
            continue
        text = re.sub(r"<[^>]*>", "", page.read_text("utf-8"))
        for output in printed(notebook):
            assert output in html.unescape(text), notebook.stem
            count += 1
    assert count > 5
