"""What `make` runs."""

from conftest import ROOT
from tiers import QUICK


def test_the_quick_tests_are_known_as_such():
    """Otherwise they would pass, but take twice as long."""
    makefile = (ROOT / "Makefile").read_text()
    assert f'\nQUICK := -m "{QUICK}"\n' in makefile
    assert makefile.count("not exhaustive") == 1
