"""What `make` and CI run."""

import re

from conftest import ROOT
from tiers import QUICK

MAKEFILE = (ROOT / "Makefile").read_text()


def test_the_quick_tests_are_known_as_such():
    """Otherwise they would pass, but take twice as long."""
    assert f'\nQUICK := -m "{QUICK}"\n' in MAKEFILE
    assert MAKEFILE.count("not exhaustive") == 1


def test_ci_runs_targets_that_exist():
    script = (ROOT / ".ci/run").read_text()
    commands = re.findall(r"\bmake (.*?)(?: &|; fi)?$", script, re.MULTILINE)
    targets = " ".join(commands).split()
    names = {"VENV": ".venv", "BACKENDS_VENV": ".venv-backends"}
    text = re.sub(r"\$\((\w+)\)", lambda x: names.get(x[1], x[0]), MAKEFILE)
    assert set(targets) <= set(re.findall(r"^([\w./-]+):", text, re.MULTILINE))
    assert len(targets) == len(set(targets)) > 5
