"""`benchmarks/gpu_pretraining.py`, on JAX, with a small model."""

import importlib
import itertools
import json
import types

import keras
import pytest
from conftest import ROOT
from pretraining.small_trainings import OPTIONS

from keras_elmo import ElmoLayer

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="It runs on JAX."
)


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    program = importlib.import_module("gpu_pretraining")
    monkeypatch.setattr(program, "LOG_EVERY", 25)
    # A step takes a second, on any machine.
    seconds = itertools.count(1).__next__
    clock = types.SimpleNamespace(perf_counter=seconds)
    monkeypatch.setattr(program, "time", clock)
    return program


@pytest.fixture
def arguments(tmp_path):
    text, vocabulary = tmp_path / "text.txt", tmp_path / "vocab.txt"
    text.write_text("a b a b c\nb a\n" * 100)
    vocabulary.write_text("<S>\n</S>\n<UNK>\na\nb\n")
    options = tmp_path / "options.json"
    options.write_text(json.dumps(OPTIONS))
    return [
        *(str(text), str(tmp_path / "out"), "--options", str(options)),
        *("--vocabulary", str(vocabulary), "--heldout", str(text)),
        *("--rows", "2", "--negatives", "2", "--warmup-steps", "1"),
        *("--learning-rate", "0.05", "--minutes", "4"),
    ]


def test_it_learns_a_text(program, arguments, tmp_path):
    program.main(arguments)
    found = json.loads((tmp_path / "out" / "training.json").read_text())
    assert found["steps"] == 240 and found["tokens"] == 40 * 240
    # Of 5 words; and after an "a", there is always a "b" or the end.
    assert found["perplexity"] < 2.5
    elmo = ElmoLayer.from_preset(tmp_path / "out")
    assert elmo.encoder.units == 8


def test_too_many_words(program, arguments):
    with pytest.raises(ValueError, match="more distinct words than 2"):
        program.main([*arguments, "--distinct", "2"])


def test_rows_continue_and_sentences_are_shuffled(program, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("a b\nc\nd e f\n" * 4)
    words, (tokens, lengths) = program.read_text([text])
    assert words[2:] == [b"a", b"b", b"c", b"d", b"e", b"f"]
    for direction in (0, 1):
        stream = program.Stream(tokens, lengths, direction, 1, 0)
        drawn = [stream.draw()[0].tolist() for _ in range(2)]
        assert drawn[0] != drawn[1]
        for row in drawn:
            inner = " ".join(words[i].decode() for i in row)
            mark = ("<S>", "</S>")[direction]
            found = sorted(x.strip() for x in inner.split(mark) if x.strip())
            whole = (["a b", "c", "d e f"], ["b a", "c", "f e d"])[direction]
            # The last one is cut off where a row has a full window.
            assert set(found) <= {*whole, *(x[:3] for x in whole)}
            assert len(found) == 12
