"""The public names, their documentation, and its examples."""

import doctest
import inspect
import operator
import pathlib
import re
import sys

import keras
import numpy as np
import pytest
from conftest import ROOT
from small_models import make_elmo
from tiers import quick_first

import keras_elmo
import keras_elmo.crf
import keras_elmo.layers
import keras_elmo.pretraining
import keras_elmo.text

REFERENCE = (ROOT / "docs/reference/index.md").read_text()
# Classes and functions, by their names below `keras_elmo`.
DOCUMENTED = re.findall(r"^\| \[`([\w.]+)`", REFERENCE, re.MULTILINE)


def value_of(name):
    return operator.attrgetter(name)(keras_elmo)


def test_every_name_is_in_the_reference():
    names = {*DOCUMENTED, *re.findall(r"^`keras_elmo.(\w+)`", REFERENCE, re.M)}
    assert len(names) == len(DOCUMENTED) + 1
    assert {name for name in names if "." not in name} == {*keras_elmo.__all__}
    documented = {n for n in names if n.startswith("pretraining.")}
    public = {f"pretraining.{name}" for name in keras_elmo.pretraining.__all__}
    assert documented == public


def test_the_citation_names_the_version():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {keras_elmo.__version__}\n" in citation
    (date,) = re.findall(r"^date-released: (.*)$", citation, re.MULTILINE)
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {keras_elmo.__version__} - {date}\n" in changes


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstrings_are_complete_and_arguments_have_types(name):
    value = value_of(name)
    text = inspect.getdoc(value)
    assert text.splitlines()[0].endswith((".", ":"))
    function = value.__init__ if inspect.isclass(value) else value
    parameters = set(inspect.signature(function).parameters) - {"self"}
    assert parameters | {"return"} == set(inspect.get_annotations(function))
    wanted = {f"{parameter}:" for parameter in parameters - {"kwargs"}}
    wanted |= {"Example:", "Args:"} if parameters else {"Example:"}
    if inspect.isclass(value) and issubclass(value, keras.layers.Layer):
        wanted |= {"Call arguments:", "Masking:", "Reference:", "shape"}
    assert not [part for part in wanted if part not in text]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_few_options_can_be_passed_by_position(name):
    """Their order could never be changed."""
    by_position = [
        parameter
        for parameter in inspect.signature(value_of(name)).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        and parameter.default is not parameter.empty
    ]
    assert len(by_position) <= 3


OPTIONAL = {
    "ArrowEmbedder": ("pyarrow",),
    "export_onnx": ("onnx", "onnxruntime"),
}
SLOW = ["Tagger", "pretraining.LanguageModelTrainer"]


@pytest.mark.parametrize(
    "name",
    quick_first(
        sorted(DOCUMENTED, key=SLOW.__contains__), len(DOCUMENTED) - len(SLOW)
    ),
)
def test_examples_run(name, tmp_path, monkeypatch, portable_path):
    for package in OPTIONAL.get(name, ()):
        pytest.importorskip(package, reason=f"{package} is optional.")
    monkeypatch.chdir(tmp_path)
    make_elmo().save_to_bilm("options.json", "weights.hdf5")
    public = {name.split(".")[-1]: value_of(name) for name in DOCUMENTED}
    names = {**public, "np": np, "keras": keras}
    value = value_of(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    # A class, and its base classes in the package.
    parts = inspect.getmro(value) if inspect.isclass(value) else [value]
    for part in parts:
        if part.__module__.startswith("keras_elmo."):
            for test in doctest.DocTestFinder().find(part, name, globs=names):
                runner.run(test)
    result = runner.summarize(verbose=False)
    assert result.failed == 0
    assert result.attempted > 0


def test_names_are_imported_at_their_first_use():
    for name in keras_elmo.__all__:
        getattr(keras_elmo, name)
        vars(keras_elmo).pop(name)
    public = set(keras_elmo.__all__)
    assert public <= set(dir(keras_elmo))
    names = {name: getattr(keras_elmo, name) for name in public}
    assert {name: vars(keras_elmo)[name] for name in names} == names
    # A module with the same name would shadow a public name.
    folder = pathlib.Path(keras_elmo.__file__).parent
    assert not {path.stem for path in folder.iterdir()} & public
    with pytest.raises(AttributeError, match="has no attribute 'Elmo'"):
        keras_elmo.Elmo  # noqa: B018


def test_modules_are_attributes_without_an_import(monkeypatch):
    formats = sys.modules["keras_elmo.formats"]
    monkeypatch.delattr(keras_elmo, "formats")
    assert keras_elmo.formats is formats
