"""Runs the programs of `benchmarks/`."""

import importlib
import json
import sys

import pytest
from conftest import ROOT


@pytest.fixture
def program(monkeypatch):
    """A function from the name of a program to its module."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


@pytest.fixture
def run(program, monkeypatch, tmp_path):
    """Runs a program in a folder of the test, and returns its JSON output."""
    monkeypatch.chdir(tmp_path)

    def run(name, *arguments, output="output.json"):
        arguments = [*map(str, arguments), "--output", output]
        monkeypatch.setattr(sys, "argv", ["program", *arguments])
        program(name).main()
        return json.loads((tmp_path / output).read_text())

    return run
