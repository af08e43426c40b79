"""Phrases that are wrong wherever they occur in the documentation."""

import re

import pytest
from conftest import ROOT

WRONG = {
    "names of (the )?tags|tags' names": "labels",
    "tag numbers": "label ids",
    "numbers of words": "vocabulary indices",
    "boundary marks?": "BOS and EOS tokens",
    "taken for real": "treated as real tokens",
    "likewise": "the words that it stands for",
}
PAGES = [
    path
    for folder in ("", "docs", "docs/*", "benchmarks", "benchmarks/*")
    for path in ROOT.glob(f"{folder}/*.md".strip("/"))
    if "generated" not in path.parts and "_build" not in path.parts
]
PAGES += [*ROOT.glob("keras_elmo/**/*.md"), *ROOT.glob("keras_elmo/**/*.py")]


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_phrases(wrong):
    pattern = re.compile(rf"\b({wrong})\b".replace(" ", r"\s+"), re.IGNORECASE)
    found = {
        str(path.relative_to(ROOT)): pattern.search(text)[0]
        for path in PAGES
        if pattern.search(text := path.read_text("utf-8"))
    }
    assert not found, f"Write {WRONG[wrong]!r} instead."


def test_pages_are_found():
    names = {path.name for path in PAGES}
    assert {"README.md", "crf.md", "vectors.md", "crf.py"} <= names
