"""Entities and words with their places in raw text."""

import itertools
import random

import keras
import pytest
from small_models import make_shallow_elmo
from tagging.small_taggers import BIO
from tagging.small_taggers import crf_tagger
from tagging.small_taggers import ids_input

from keras_elmo import Tagger
from keras_elmo.text import raw_text

L = keras.layers
pytest.importorskip("spacy", reason="It divides text into words.")

# Letters with marks, beyond 16 bits, ends of lines, and without width.
PIECES = [
    *(
        "Ann",
        "Ann ",
        "didn't",
        " ",
        ". ",
        "!",
        "Dr.",
        "42",
        "\u00e9",
        "e\u0301",
    ),
    *(
        "\U0001f600",
        "\U0001f468\u200d\U0001f469",
        "\u5f20\u4f1f",
        "\u0e01\u0e33",
    ),
    *("\r", "\n", "\r\n", "\u2028", "\u2029", "\x85", "\t", "\x0b", "\x0c"),
    *("\u200b", "\ufeff", "\u00ad", "\u00a0", "\u3000", "\u202e", "\x00"),
]


@pytest.fixture(scope="module")
def tagger():
    return Tagger(crf_tagger(scale=1.0))


def random_texts(number):
    draw = random.Random(1)
    yield from ("", " \n", "Ann")
    for _ in range(number):
        yield "".join(draw.choices(PIECES, k=draw.randrange(1, 30)))


def test_places_are_exact_in_any_text(tagger):
    texts = list(random_texts(200))
    found = tagger.predict_text(texts, threshold=0.1)
    assert len(found) == len(texts) and sum(map(len, found)) > 500
    for text, spans in zip(texts, found, strict=True):
        end = 0
        for x in spans:
            assert end <= x.start_char < x.end_char
            assert text[x.start_char : x.end_char] == x.text == x.text.strip()
            assert x.type in ("PER", "LOC") and 0.1 <= x.probability <= 1
            end = x.end_char


def test_entities_are_those_of_predict_entities(tagger):
    text = "Ann didn't meet Bo.\nDid she?"
    (sentences,) = raw_text.raw_sentences([text], "en")
    words = [x.tokens for x in sentences]
    for threshold in (None, 0.05):
        rows = tagger.predict_entities(words, threshold=threshold)
        (found,) = tagger.predict_text([text], threshold=threshold)
        assert len(found) > 0
        assert [(x.text.split(), *x[2:4]) for x in found] == [
            (text[places[start][0] : places[end - 1][1]].split(), *rest)
            for x, row in zip(sentences, rows)
            for places in [x.char_spans()]
            for start, end, *rest in row
        ]


def test_words_of_other_labels(tagger):
    """Without a scheme, each word is found; without a CRF, no probability."""
    names = {"tag_names": [*"VWXYZ"]}
    text = "They can't.  Yes!"
    (found,) = Tagger(crf_tagger(names)).predict_text([text])
    words = "They", "ca", "n't", ".", "Yes", "!"
    assert tuple(x.text for x in found) == words
    tags, shares = Tagger(crf_tagger(names)).predict(
        [words[:4], words[4:]], return_marginals=True
    )
    assert [x.type for x in found] == [*itertools.chain(*tags)]
    assert [len(x.type) for x in found] == [1] * 6
    best = [share.max() for row in shares for share in row]
    assert [x.probability for x in found] == pytest.approx(best)


def test_entities_without_a_crf_have_no_probability():
    ids, elmo = ids_input(), make_shallow_elmo()
    dense = L.Dense(5, kernel_initializer="random_normal")
    tagger = Tagger(keras.Model(ids, dense(elmo(ids))), BIO)
    texts = ["Ann met Bo. Cy met Di."]
    (sentences,) = raw_text.raw_sentences(texts, "en")
    (found,) = tagger.predict_text(texts)
    tags = tagger.predict([x.tokens for x in sentences])
    marked = [*itertools.chain(*map(tagger.entities, tags))]
    assert [(x.type, x.probability) for x in found] == [
        (kind, None) for *_, kind in marked
    ]
    assert len(found) > 0


def test_bad_texts(tagger):
    with pytest.raises(ValueError, match=r"write \[text\] .* Received: 'Ann'"):
        tagger.predict_text("Ann")
    with pytest.raises(ValueError, match=r"must be a string. Received: b'Ann'"):
        tagger.predict_text(["Ann", b"Ann"])
    with pytest.raises(ValueError, match="`language` must be one of"):
        tagger.predict_text(["Ann"], language="english")
    with pytest.raises(ValueError, match="`threshold` must be"):
        tagger.predict_text([], threshold=2)
    with pytest.raises(ValueError, match="mark entities"):
        names = {"tag_names": [*"VWXYZ"]}
        Tagger(crf_tagger(names)).predict_text(["Ann"], threshold=0.5)
    assert tagger.predict_text([]) == []
