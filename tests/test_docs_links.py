"""Links between the repository's Markdown files lead to files and headings."""

import re

from conftest import ROOT

from keras_elmo.commands.main import make_parser

FOLDERS = ("docs", "benchmarks", "examples", "keras_elmo/presets", "tests")


def read_pages():
    """Returns the text of each page, without code, by its path."""
    paths = [*ROOT.glob("*.md")]
    for folder in FOLDERS:
        paths += (ROOT / folder).rglob("*.md")
    return {
        path: re.sub(
            r"^```.*?^```$",
            "",
            path.read_text("utf-8"),
            flags=re.MULTILINE | re.DOTALL,
        )
        for path in paths
        if "_build" not in path.parts
    }


def anchors(text):
    """Returns the anchors of headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", t) for t in titles]
    return {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}


def test_links():
    pages = read_pages()
    known = {path: anchors(text) for path, text in pages.items()}
    built = ROOT / "docs/reference/command-line.md"
    known[built] |= set(make_parser()[1].choices)
    links = [
        (path, link)
        for path, text in pages.items()
        for link in re.findall(r"\]\(([^)\s]+)\)", text)
        if "://" not in link
    ]
    assert len(links) > 200
    for path, link in links:
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), (path, link)
        assert not anchor or anchor in known[target], (path, link)
