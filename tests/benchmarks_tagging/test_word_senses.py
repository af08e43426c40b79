"""`benchmarks/word_senses.py`, on a few sentences."""

import numpy as np
import pytest

SEMCOR = """\
<contextfile concordance=brown>
<s snum=1>
<wf cmd=ignore pos=DT>The</wf>
<wf cmd=done pos=NN lemma=bank wnsn=1 lexsn=1:17:01::>banks</wf>
<wf cmd=done pos=VB lemma=take_place wnsn=1 lexsn=2:30:00::>took_place</wf>
<punc>``</punc>
</s>
<s snum=2>
<wf pos=JJ lemma=next wnsn=2;0 lexsn=5:00:00:near(a):00;3:00:00::>next</wf>
<wf cmd=done pos=NN lemma=bank wnsn=2;3 lexsn=1:14:00::;1:06:00::>bank</wf>
<wf cmd=done pos=NN ot=notag>money</wf>
</s>
"""
TESTS = """\
<corpus><text><sentence>
<wf lemma="the" pos="DET">The</wf>
<instance id="a.s0" lemma="bank" pos="NOUN">banks</instance>
<instance id="a.s1" lemma="look_up" pos="VERB">looked up</instance>
</sentence><sentence>
<instance id="b.s0" lemma="bank" pos="NOUN">bank</instance>
<instance id="b.s1" lemma="bank" pos="VERB">bank</instance>
</sentence></text></corpus>
"""
GOLD = """\
a.s0 bank%1:17:01::
a.s1 look_up%2:32:00::
b.s0 bank%1:06:00:: bank%1:14:00::
b.s1 bank%2:40:00::
"""
INDEX = """\
bank%1:14:00:: 08420278 2 20
bank%1:17:01:: 09213565 1 25
bank%2:40:00:: 02343252 1 0
look_up%2:32:00:: 00877083 1 0
"""


class Embedder:
    """Layer 0 is the same for all words; layer 1 tells "banks" from "bank"."""

    @classmethod
    def from_preset(cls, name):
        return cls()

    def embed_sentences(self, sentences):
        for words in sentences:
            letters = [[len(w), w.count("s") * 9] for w in words]
            yield np.array([np.ones((len(words), 2)), letters], "float32")


@pytest.fixture
def arguments(tmp_path):
    for path, text in {
        "semcor/brown1/tagfiles/br-a01": SEMCOR,
        "tests/ALL/ALL.data.xml": TESTS,
        "tests/ALL/ALL.gold.key.txt": GOLD,
        "index.sense": INDEX,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return [f"{tmp_path}/{name}" for name in ("semcor", "tests", "index.sense")]


def test_sentences_are_read(program, arguments):
    first, second = program("word_senses").read_semcor(arguments[0])
    assert first.words == ["The", "banks", "took", "place", '"']
    assert first.spans[1] == (2, 4, ["take_place%2:30:00::"])
    bank = ["bank%1:14:00::", "bank%1:06:00::"]
    assert second.spans == [(0, 1, ["next%5:00:00:near:00"]), (1, 2, bank)]
    (sentence, _), gold = program("word_senses").read_tests(arguments[1])
    assert sentence.spans[1] == (2, 4, ("a.s1", ("look_up", "VERB")))
    assert gold["b.s0"] == ["bank%1:06:00::", "bank%1:14:00::"]


def test_the_nearest_sense_or_the_first(program, arguments, run, monkeypatch):
    senses = program("word_senses")
    monkeypatch.setattr(senses.keras_elmo, "ElmoEmbedder", Embedder)
    names = ("--semcor", "--tests", "--sense-index")
    flags = [part for pair in zip(names, arguments) for part in pair]
    results = run("word_senses", *flags, "--models", "model")
    assert results["tagged"] == 5 and results["senses"] == 5
    assert results["words_in_semcor"] == {"a": 1, "b": 1, "ALL": 2}
    first = {"a": 2, "b": 1, "ALL": 3}
    nearest = {"a": 2, "b": 2, "ALL": 4}
    assert results["right"] == {
        "first sense": first,
        "most frequent sense": first,
        "model, layer 0": first,
        "model, layer 1": nearest,
        "model, average": nearest,
    }
    assert results["only"]["model, layer 1"]["model, layer 0"] == 1
