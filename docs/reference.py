"""Writes the pages of the reference, from docstrings and from `--help`.

python docs/reference.py

It fills in the tables of reference/index.md, whose rows are the page's own; the
table of presets in models.md; and what follows the mark in
reference/command-line.md. A test says that the pages are what this program
writes.
"""

import inspect
import operator
import os
import pathlib
import re

import keras_elmo
import keras_elmo.pretraining
import keras_elmo.text
from keras_elmo.commands.main import make_parser

os.environ["COLUMNS"] = "80"  # For argparse.
ROOT = pathlib.Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs/reference"
MARK = "<!-- docs/reference.py writes what follows. -->\n"


def main():
    for path, text in make_pages():
        path.write_text(text, "utf-8")


def make_pages():
    """Yields the path and the text of each page."""
    page = REFERENCE / "index.md"
    names = page.read_text("utf-8")
    yield page, re.sub(r"^\| \[?`([\w.]+)`.*", row_of_name, names, flags=re.M)
    page = ROOT / "docs/models.md"
    rows = re.compile(r"(?<=\| ---: \| --- \| --- \|\n)(\|.*\n)*")
    presets = "".join(rows_of_presets())
    yield page, rows.sub(presets, page.read_text("utf-8"), count=1)
    page = REFERENCE / "command-line.md"
    own, mark, _ = page.read_text("utf-8").partition(MARK)
    yield page, own + mark + "".join(sections_of_commands())


def row_of_name(match):
    name = match[1]
    value = operator.attrgetter(name)(keras_elmo)
    path = pathlib.Path(inspect.getsourcefile(value)).relative_to(ROOT)
    about, *_ = inspect.getdoc(value).split("\n\n")
    about = " ".join(about.split())
    return f"| [`{name}`](../../{path.as_posix()}) | {about} |"


def rows_of_presets():
    for name, x in keras_elmo.PRESETS.items():
        cells = f"`{name}`", str(x.megabytes), x.description, x.license
        yield f"| {' | '.join(cells)} |\n"


def sections_of_commands():
    for name, command in make_parser()[1].choices.items():
        yield f"\n## {name}\n\n```text\n{command.format_help()}```\n"


if __name__ == "__main__":
    main()
