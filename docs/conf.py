"""Sphinx: `make docs` builds the site into docs/_build/html."""

import inspect
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import keras_elmo
import keras_elmo.quiet_start

project = "keras-elmo"
author = copyright = "The keras-elmo authors"
version = release = keras_elmo.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
default_role = "py:obj"  # `ElmoLayer` in a docstring links to its page.

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"  # TensorFlow says there what it was built with.

# What the layers use among themselves, and what every Keras object has.
_NOT_SHOWN = [
    "check_state",
    "compute_loss",
    "encode",
    "encode_rows",
    "forget_bias",
    "from_config",
    "get_config",
    "has_projection",
    "input_dtype",
    "layers_and_mixes",
    "losses_of",
    "predict_hidden",
    "read_ids",
    "read_weights",
    "run_directions",
    "sampled_losses_of",
    "scan_in_training",
    "scores_dtype",
    "state_dtypes",
    "state_spec",
    "step",
    "update_state",
]
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "exclude-members": ", ".join(_NOT_SHOWN),
}
autodoc_typehints = "none"
napoleon_custom_sections = [
    ("Call arguments", "params_style"),
    "Input shape",
    "Output shape",
    "Masking",
]

html_theme = "furo"
html_math_renderer = "mathml"  # As browsers show it, without a script.
html_title = f"keras-elmo {version}"
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    app.connect("source-read", _download_markdown)

    # Before napoleon, which reads sections such as `Args:`.
    app.connect("autodoc-process-docstring", _from_markdown, priority=100)

    app.connect("autodoc-process-signature", _own_signature)
    app.add_html_math_renderer("mathml", (_add_math, None), (_add_math, None))


def _download_markdown(app, docname, source):
    """Links to Markdown files outside `docs` are downloads, not pages."""
    source[0] = re.sub(
        r"\]\(((?:\.\./)+(?:benchmarks|keras_elmo)/[^)#]*\.md)(?:#[^)]*)?\)",
        r"](path:\1)",
        source[0],
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
    text = re.sub(r"\[([^\]\n]+)\]\((https?://[^)\s]+)\)", r"`\1 <\2>`__", text)
    lines[:] = text.split("\n")


def _as_block(match):
    indent, language, body = match.groups()
    body = "".join(
        f"    {line}\n" if line.strip() else "\n" for line in body.splitlines()
    )
    return f"{indent}.. code-block:: {language or 'text'}\n\n{body}"
