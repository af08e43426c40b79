"""examples/onnx/tag.mjs labels words as the tagger itself does.

This needs Node.js, and onnxruntime-node in a folder `node_modules` of the
repository, of a folder around it, or in NODE_PATH.
"""

import json
import pathlib
import shutil
import subprocess

import keras
import numpy as np
import pytest
from conftest import ROOT
from small_models import make_shallow_elmo

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import SentencePooling
from keras_elmo import Tagger
from keras_elmo import batch_to_ids
from keras_elmo import export_onnx

L = keras.layers
CLASSES = {"class": ["x", "y", "z"]}
TAGS = ["O", "B-é", "I-é", "B-🎻", "I-🎻"]
WORDS = ["é", "e\u0301", "東京", "🎻", "👍🏽", "<S>", "</S>", "<s>", "a", "B"]
WORDS += ["constructor", "no\u00a0break", "line\u2028end", "\ufeff", "\x85"]
# 48 bytes fit; the others are cut, some within a character.
WORDS += ["x" * 48, "x" * 49, "x" * 60 + "y", "é" * 24, "aé" * 30, "🎻" * 20]
# More than a batch of 32, the last sentence of which is the longest.
SENTENCES = [[], *([word] for word in WORDS[:5]), [], *[WORDS[5:9]] * 23]
SENTENCES += [WORDS, WORDS * 2, WORDS[3:5], [], WORDS[::-1]]


@pytest.fixture
def tag(tmp_path):
    """A function that runs a copy of the program, and returns its result."""
    node = shutil.which("node") or pytest.skip("needs Node.js")
    find = [node, "-p", "require.resolve('onnxruntime-node/package.json')"]
    found = subprocess.run(find, cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        pytest.skip("needs onnxruntime-node, see above")
    modules = pathlib.Path(found.stdout.strip()).parents[1]
    (tmp_path / "node_modules").symlink_to(modules)
    shutil.copy(ROOT / "examples" / "onnx" / "tag.mjs", tmp_path)

    def run(*arguments, text=""):
        command = [node, "tag.mjs", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, input=text.encode(), capture_output=True
        )

    return run


def make_model(chars, has_crf):
    """Returns a tagger whose scores are zero on average over `WORDS`.

    It returns labels of whole sentences first.
    """
    ids = keras.Input((None, chars), dtype="int32")
    elmo = make_shallow_elmo({"max_characters_per_token": chars})
    name, activation = ("scores", None) if has_crf else ("tags", "softmax")
    dense = L.Dense(len(TAGS), activation, name=name)
    x = elmo(ids)
    tags = dense(x)
    vectors = keras.ops.convert_to_numpy(elmo(batch_to_ids([WORDS], chars)))
    kernel = np.random.default_rng(1).normal(0, 9, dense.kernel.shape)
    dense.set_weights([kernel, -vectors.mean(axis=(0, 1)) @ kernel])
    outputs = {"class": SentencePooling(name="class")(L.Dense(3)(x))}
    if has_crf:
        scores = CRF(len(TAGS))(tags, mask=elmo.compute_mask(ids))
        decoder = CRFDecoder(return_entities=True, tag_names=TAGS, name="tags")
        names = "tags", "entity_probabilities", "entity_lengths"
        return keras.Model(ids, outputs | dict(zip(names, decoder(scores))))
    return keras.Model(ids, outputs | {"tags": tags})


@pytest.mark.parametrize(("chars", "has_crf"), [(50, True), (12, False)])
def test_labels_and_entities(chars, has_crf, tag, tmp_path):
    model = make_model(chars, has_crf)
    tagger = Tagger(model, {"tags": TAGS})
    names = {**CLASSES, "tags": TAGS}
    export_onnx(model, tmp_path / "tagger.onnx", tag_names=names)
    text = "".join(" ".join(words) + "\n" for words in SENTENCES)
    found = tag("tagger.onnx", text=text)
    expected = tagger.predict(SENTENCES)
    assert found.stderr == b""
    assert found.stdout.decode() == "".join(
        "".join(f"{word}\t{name}\n" for word, name in zip(*pair)) + "\n"
        for pair in zip(SENTENCES, expected)
    )
    assert {name for names in expected for name in names} == set(TAGS)
    # White space as in other files, and no sentences.
    same = text.replace(" ", "\t \x0b").replace("\n", " \r\n").rstrip()
    assert tag("tagger.onnx", text=same).stdout == found.stdout
    assert tag("tagger.onnx").stdout == b""
    found = tag("tagger.onnx", "--json", text=text)
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert [row["text"] for row in rows] == text.split("\n")[:-1]
    assert [row["words"] for row in rows] == SENTENCES
    assert [row["tags"] for row in rows] == expected
    if has_crf:
        expected = tagger.predict_entities(SENTENCES)
        for row, entities in zip(rows, expected, strict=True):
            for x, entity in zip(row["entities"], entities, strict=True):
                share = pytest.approx(entity.probability, abs=1e-5)
                words = row["words"][: entity.end]
                i, j = (
                    len(" ".join(y)) for y in (words[: entity.start], words)
                )
                i += entity.start > 0  # The space after the words before.
                assert x == {
                    "type": entity.type,
                    "start_word": entity.start,
                    "end_word": entity.end,
                    "start_char": i,
                    "end_char": j,
                    "probability": share,
                }
        assert max(map(len, expected)) > 3
    else:
        assert not any("entities" in row for row in rows)


def test_usage(tag, tmp_path):
    model = make_model(12, False)
    export_onnx(model, tmp_path / "unnamed.onnx")
    export_onnx(model, tmp_path / "classes.onnx", tag_names=CLASSES)
    names = "none.onnx", "unnamed.onnx", "classes.onnx"
    for arguments in ((), *((name,) for name in names)):
        found = tag(*arguments)
        assert found.returncode == 2 and b"Usage: node tag.mjs" in found.stderr
