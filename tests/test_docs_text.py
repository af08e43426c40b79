"""The text of the documentation: links, words, and shown outputs."""

import html
import json
import re

import pytest
from conftest import ROOT

FOLDERS = ("docs", "benchmarks", "examples", "keras_elmo/presets", "tests")
BUILD = ROOT / "docs/_build"
PAGES = {
    path: path.read_text("utf-8")
    for path in [
        *ROOT.glob("*.md"),
        *(path for x in FOLDERS for path in (ROOT / x).rglob("*.md")),
    ]
    if not {"_build", "generated"} & set(path.parts)
}
# Phrases that are wrong wherever they occur, and what to write instead.
WRONG = {
    "names of (the )?tags|tags' names": "labels",
    "tag numbers": "label ids",
    "numbers of words": "vocabulary indices",
    "boundary marks?": "BOS and EOS tokens",
    "taken for real": "treated as real tokens",
    "likewise": "the words that it stands for",
}


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(text):
    """Returns the anchors of headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.*)$", without_code(text), re.MULTILINE)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", t) for t in titles]
    return {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}


def test_links_lead_to_files_and_headings():
    known = {path: anchors(text) for path, text in PAGES.items()}
    links = [
        (path, link)
        for path, text in PAGES.items()
        for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text))
        if "://" not in link
    ]
    assert len(links) > 200
    for path, link in links:
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), (path, link)
        assert not anchor or anchor in known[target], (path, link)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_phrases(wrong):
    pattern = re.compile(rf"\b({wrong})\b".replace(" ", r"\s+"), re.IGNORECASE)
    modules = (ROOT / "keras_elmo").rglob("*.py")
    texts = {**PAGES, **{path: path.read_text("utf-8") for path in modules}}
    found = [path for path, text in texts.items() if pattern.search(text)]
    assert not found, f"Write {WRONG[wrong]!r} instead."


def test_the_site_shows_the_output_of_tutorials_as_it_was_printed():
    if not (BUILD / "html/tutorials").exists():
        pytest.skip("needs the site, built by `make docs`")
    count = 0
    for notebook in (BUILD / "jupyter_execute/tutorials").glob("*.ipynb"):
        page = BUILD / f"html/tutorials/{notebook.stem}.html"
        text = html.unescape(re.sub(r"<[^>]*>", "", page.read_text("utf-8")))
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                if output.get("name") == "stdout":
                    assert "".join(output["text"]).strip() in text
                    count += 1
    assert count > 5
