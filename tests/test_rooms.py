"""Checks which rooms (folders) of the package import which others."""

import ast
import graphlib
import pathlib
import re

from conftest import ROOT

import keras_elmo

PACKAGE = pathlib.Path(keras_elmo.__file__).parent

ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
# Each room and the rooms that it imports, from the page's table. The modules in
# the root of the package may be used by all.
KNOWS = {
    room: set(re.findall(r"`(\w+)`", imports))
    for room, imports in re.findall(
        r"^\| `(\w+)` \|.*\|(.*)\|$",
        ARCHITECTURE,
        re.MULTILINE,
    )
}

# The rooms in each row of the drawing, from the top.
DRAWING = [
    re.findall(r"[a-z]+", row)
    for row in ARCHITECTURE.partition("```text\n")[2]
    .partition("```")[0]
    .splitlines()
]

# Methods of a layer that read or write files. They belong to the class of the
# layer, and import what they need when they are called.
METHODS = {
    "layers/elmo_files.py": {"models"},
    "layers/word_vectors.py": {"formats"},
    "pretraining/bidirectional_language_model.py": set(),
}


def imports(path):
    """Yields the modules of the package that a file imports, and whether at
    module level."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        names = []
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{x}" for x in names)]
        for name in names:
            if name.startswith("keras_elmo."):
                yield name.removeprefix("keras_elmo."), node in tree.body


def test_rooms_import_exactly_these_from_below():
    found = {}
    for room in KNOWS:
        found[room] = set()
        for path in sorted((PACKAGE / room).rglob("*.py")):
            methods = METHODS.get(path.relative_to(PACKAGE).as_posix(), set())
            for module, at_once in imports(path):
                other = module.split(".")[0]
                if other in KNOWS and (at_once or other not in methods):
                    found[room].add(other)
        found[room].discard(room)
    assert found == KNOWS
    assert {x.parent.name for x in PACKAGE.glob("*/__init__.py")} == {*KNOWS}
    below = {*KNOWS}
    for row in DRAWING:
        below -= {*row}
        for room in row:
            assert KNOWS[room] <= below, f"{room} imports from above"
    assert not below  # All are drawn.


def test_inference_does_not_import_training():
    """The training of a tagger; the table above is about `pretraining`."""
    parts = "training", "training_data", "calibration", "label_checks"
    training = {f"tagging.{part}" for part in parts}
    for room in set(KNOWS) - {"commands"}:
        for path in (PACKAGE / room).rglob("*.py"):
            if f"{room}.{path.stem}" not in training:
                at_once = {x for x, is_at_once in imports(path) if is_at_once}
                assert not at_once & training, path


def test_no_circles():
    """Imports inside functions count, too, and so do packages: a module's own
    and those of what it imports."""
    paths = {
        path.relative_to(PACKAGE)
        .as_posix()
        .removesuffix(".py")
        .removesuffix("/__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    graph = {}
    for name, path in paths.items():
        found = {name, *(x.replace(".", "/") for x, _ in imports(path))}
        found |= {x.partition("/")[0] for x in found}
        graph[name] = found & paths.keys() - {name}
    graphlib.TopologicalSorter(graph).prepare()  # Or it names the circle.


def test_rooms_of_layers_import_keras_first():
    """Importing Keras imports all layers, and so what they need must not be
    half imported then."""
    needed = [*PACKAGE.glob("layers/*.py"), *PACKAGE.glob("crf/*.py")]
    for path in needed:  # Grows in the loop.
        for module, at_once in imports(path):
            other = PACKAGE / f"{module.replace('.', '/')}.py"
            if at_once and other.exists() and other not in needed:
                needed.append(other)
    takes_keras = re.compile(r"^(import keras\b|from keras import)", re.M)
    rooms = {x.parent for x in needed if takes_keras.search(x.read_text())}
    assert {room.name for room in rooms} == {"layers", "crf", "ops"}
    for room in rooms:
        assert takes_keras.search((room / "__init__.py").read_text()), room


def test_one_file_asks_keras_for_its_backend():
    question = re.compile(r"keras\.(backend|config)\.backend\b")
    asking = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if question.search(path.read_text())
    }
    assert asking == {"ops/backends.py"}
