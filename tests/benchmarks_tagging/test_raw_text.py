"""`benchmarks/tagging/raw_text.py`, on a few sentences."""

import json

import pytest

TREEBANK = """\
# newdoc id = 1
# newpar id = 1-1
# text = They can't.
1\tThey\t_\tPRON
2-3\tcan't\t_\t_
2\tca\t_\tAUX
3\tn't\t_\tPART
4\t.\t_\tPUNCT

# text = Yes!
1\tYes\t_\tINTJ
2\t!\t_\tPUNCT

# newpar id = 1-2
# text = Fish swim.
1\tFish\t_\tNOUN
2\tswim\t_\tVERB
3\t.\t_\tPUNCT
"""


@pytest.mark.exhaustive
def test_raw_text(program, tmp_path):
    pytest.importorskip("spacy", reason="spaCy is not installed.")
    path, results = tmp_path / "test.conllu", tmp_path / "results.json"
    path.write_text(TREEBANK)
    program("raw_text").main([str(path), str(results)])
    found = json.loads(results.read_text())["tokens_by"]
    assert found["the treebank"]["tokens"] == 1
    assert found["the treebank"]["tags"] > 0.5
    assert found["spaCy's rules"] == found["the treebank"]
    # Of the tokens at spaces, two are tokens of the treebank: They, Fish.
    assert found["spaces"]["tokens"] == pytest.approx(2 * 2 / (9 + 5))
    assert found["spaces"]["sentences"] == pytest.approx(2 * 1 / (3 + 2))
