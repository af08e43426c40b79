"""Sphinx: `make docs` builds the site into docs/_build/html."""

import inspect
import re
import shutil
import sys
from functools import partialmethod
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import build_browser
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from nbclient import NotebookClient

import keras_elmo
import keras_elmo.quiet_start
from keras_elmo.layers.elmo_files import ElmoFiles

project = "keras-elmo"
author = copyright = "The keras-elmo authors"
version = release = keras_elmo.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "tutorials/ner_data"]
# `_write_cards` writes this list of the names to make pages of.
autosummary_generate = ["reference/names.rst"]
exclude_patterns += autosummary_generate
default_role = "py:obj"  # `ElmoLayer` in a docstring links to its page.

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_output_stderr = "remove"  # TensorFlow says there what it was built with.
# IPython hands a command's output over in pieces of 100 bytes. This joins them
# as they are; nb_merge_streams would put a line break after each.
NotebookClient.__init__ = partialmethod(
    NotebookClient.__init__, coalesce_streams=True
)

# What every Keras object has.
_NOT_SHOWN = [
    "compute_loss",
    "from_config",
    "get_config",
    "input_dtype",
    "update_state",
]
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "exclude-members": ", ".join(_NOT_SHOWN),
}
autodoc_typehints = "none"
templates_path = ["_templates"]
# Methods of base classes, which autodoc shows only if they are named.
autosummary_context = {
    "inherited_methods": {
        "ElmoLayer": [
            name
            for name in vars(ElmoFiles)
            if name[0] != "_" and inspect.isroutine(getattr(ElmoFiles, name))
        ],
        "CharCNNEmbedding": ["make_vectorization"],
    }
}
napoleon_custom_sections = [
    ("Call arguments", "params_style"),
    "Input shape",
    "Output shape",
    "Masking",
]

# Files at the top level of the repository that are pages of the site.
TOP_LEVEL = "CHANGELOG", "CONTRIBUTING", "SECURITY"

# A table of names, and its rows, on the page of the reference.
TABLE = r"\| name \|.*\n.*\n((?:\| \[`.*\n)+)"

# The address of the repository, for "Edit this page"; none while it is empty.
repository_url = ""
html_theme = "furo"
html_theme_options = (
    {
        "source_repository": repository_url,
        "source_branch": "main",
        "source_directory": "docs/",
    }
    if repository_url
    else {}
)
html_favicon = "_static/icon.svg"
myst_html_meta = {
    "description": "ELMo word embeddings for Keras 3: layers, taggers with a "
    "CRF, and language models for TensorFlow, JAX and PyTorch."
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"  # As browsers show it, without a script.
html_title = f"keras-elmo {version}"
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    app.connect("builder-inited", _write_cards, priority=100)
    app.connect("builder-inited", _copy_data)
    app.connect("source-read", _link_pages)
    app.connect("source-read", _download_markdown)
    app.connect("source-read", _add_reference)
    app.connect("source-read", _add_tool)
    app.connect("source-read", _link_notebook)

    # Before napoleon, which reads sections such as `Args:`.
    app.connect("autodoc-process-docstring", _from_markdown, priority=100)

    app.connect("autodoc-process-signature", _own_signature)
    app.add_html_math_renderer("mathml", (_add_math, None), (_add_math, None))


def _write_cards(app):
    """Pages of the cards of the models, and of what is at the top level."""
    root = Path(app.confdir).parent
    folder = root / "docs/reference/generated"
    folder.mkdir(exist_ok=True)
    pages = {
        card.parent.name: card
        for card in (root / "keras_elmo/presets").glob("*/README.md")
    }
    pages |= {name: root / f"{name}.md" for name in TOP_LEVEL}
    for name, path in pages.items():
        base = Path("../../..", path.parent.relative_to(root)).as_posix()
        text = path.read_text("utf-8")
        text = re.sub(r"\]\((?!http|#)", f"]({base}/", text)
        (folder / f"{name}.md").write_text(text, "utf-8")
    tables = re.findall(TABLE, (folder / "../index.md").read_text("utf-8"))
    names = "".join(map(_autosummary, tables))
    (folder / "../names.rst").write_text(names, "utf-8")


def _link_pages(app, docname, source):
    """Links to what `_write_cards` wrote, and to classes, lead to pages."""
    generated = "](/reference/generated"
    source[0] = re.sub(
        rf"\]\([./]*/({'|'.join(TOP_LEVEL)})\.md",
        rf"{generated}/\1.md",
        source[0],
    )
    source[0] = re.sub(
        r"\]\((?![^)]*/tests/)[./\w]*/(english_\w+)/README\.md",
        rf"{generated}/\1.md",
        source[0],
    )
    source[0] = re.sub(
        r"(\[`(\w+)`)\]\([./]*reference/index\.md#[\w-]+\)",
        rf"\1{generated}/keras_elmo.\2.rst)",
        source[0],
    )


def _download_markdown(app, docname, source):
    """Links to Markdown files outside `docs` are downloads, not pages."""
    source[0] = re.sub(
        r"\]\(((?:\.\./)+(?:benchmarks|examples|keras_elmo|tests)/[^)#]*\.md)(?:#[^)]*)?\)",
        r"](path:\1)",
        source[0],
    )


def _add_reference(app, docname, source):
    """On the site, names lead to pages that are made of the docstrings."""
    if docname == "reference/index":
        source[0] = re.sub(
            TABLE,
            lambda table: f"```{{eval-rst}}\n{_autosummary(table[1])}```\n",
            source[0],
        )


def _autosummary(rows):
    names = re.findall(r"^\| \[`(.*?)`", rows, re.MULTILINE)
    options = ".. currentmodule:: keras_elmo", "", ".. autosummary::"
    options += "   :toctree: generated", "   :nosignatures:", ""
    return "\n".join((*options, *(f"   {name}" for name in names), "\n"))


def _add_tool(app, docname, source):
    """The page that runs ELMo, and the files that it loads."""
    if docname != "gallery" or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static/browser"
    missing = build_browser.build(folder, Path(app.confdir) / "_build")
    size = sum(path.stat().st_size for path in folder.glob("*"))
    values = {"missing": missing, "megabytes": round(size / 1e6)}
    tool = app.builder.templates.render("browser.html", values)
    demo = f"```{{raw}} html\n{tool}\n```"
    source[0] = re.sub(
        '<div id="elmo-demo">.*</div>', lambda _: demo, source[0]
    )


def _copy_data(app):
    """The sentences of the tutorials, beside them and in a zip file."""
    examples = Path(app.confdir).parent / "examples"
    data = Path(app.confdir) / "tutorials/ner_data"
    shutil.copytree(examples / "ner_data", data, dirs_exist_ok=True)
    shutil.make_archive(str(data), "zip", examples, "ner_data")


def _link_notebook(app, docname, source):
    """Each tutorial, with its outputs, can be downloaded as a notebook."""
    if docname.startswith("tutorials/"):
        name = docname.removeprefix("tutorials/")
        link = f"{{nb-download}}`Download as a notebook <{name}.ipynb>`"
        if '"ner_data"' in source[0]:
            link += ", and unpack beside it {download}`the data <ner_data.zip>`"
        source[0] = re.sub(
            r"(?m)^(# .*)$", rf"\1\n\n{link}", source[0], count=1
        )


def _add_math(self, node):
    is_block = isinstance(node, nodes.math_block)
    self.body.append(tex2mathml(node.astext(), as_block=is_block))
    raise nodes.SkipNode


def _own_signature(app, what, name, obj, options, signature, returned):
    """That of `__init__`, where Keras puts a `__new__` before it."""
    if what != "class":
        return signature, returned
    parameters = list(inspect.signature(obj.__init__).parameters.values())[1:]
    plain = [p.replace(annotation=p.empty) for p in parameters]
    return str(inspect.Signature(plain)), returned


def _from_markdown(app, what, name, obj, options, lines):
    """Docstrings are Google's style, with Markdown in them."""
    text = "\n".join(lines)
    text = re.sub(
        r"^( *)```(\w*)\n(.*?)^\1```$", _as_block, text, flags=re.S | re.M
    )
    # Sphinx would take the dot of `.zip` for a prefix, and hide it.
    text = re.sub(r"(?<=[\s(])`(\.\w[^`\s]*)`", r"``\1``", text)
    text = re.sub(r"\[([^\]\n]+)\]\((https?://[^)\s]+)\)", r"`\1 <\2>`__", text)
    lines[:] = text.split("\n")


def _as_block(match):
    indent, language, body = match.groups()
    body = "".join(
        f"    {line}\n" if line.strip() else "\n" for line in body.splitlines()
    )
    return f"{indent}.. code-block:: {language or 'text'}\n\n{body}"
