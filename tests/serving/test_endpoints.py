"""Merged requests, and invalid requests.

Requests are merged as TensorFlow Serving does it in `batching_util.cc` with
`pad_variable_length_inputs` of `session_bundle_config.proto`: a request is
padded with its first value. In `tokens` that is a word, which `sequence_len`
does not count; in `character_ids` the mark that begins a word, and a row with
nothing but this mark counts as padding.
"""

import numpy as np
import pytest
from comparisons import check_answer
from serving.answers import hub_answer
from serving.answers import padded

from keras_elmo import batch_to_ids

REQUESTS = [
    [["One", "request", "of", "two", "."], ["a", "b"]],
    [["Another", ""]],
    [["c"], [], ["third", "é", "."]],
]


def merge(arrays, padding):
    """Merges arrays of unequal times into one batch, as a server does."""
    arrays = [np.array(x, object) for x in arrays]
    time = max(x.shape[1] for x in arrays)
    rows = []
    for x in arrays:
        value = x.flat[0] if padding == "first" else padding
        widths = [(0, 0)] * x.ndim
        widths[1] = (0, time - x.shape[1])
        rows.append(np.pad(x, widths, constant_values=value))
    return np.concatenate(rows)


@pytest.mark.exhaustive
def test_merged_requests_get_the_answers_they_got_alone(ask, elmo, exported):
    alone = [padded(sentences) for sentences in REQUESTS]
    lengths = np.concatenate([x["sequence_len"] for x in alone])
    tokens = [x["tokens"] for x in alone]
    ids = [batch_to_ids(sentences, 12) for sentences in REQUESTS]
    asked = []
    for padding in (None, "first"):
        merged = merge(tokens, padding or "")
        asked += [
            ("tokens", {"tokens": merged, "sequence_len": lengths}),
            (
                "character_ids",
                {"ids": merge(ids, padding or 0).astype("int32")},
            ),
        ]
    expected = hub_answer(elmo, [row for rows in REQUESTS for row in rows])
    for answer in ask(exported, *asked):
        check_answer(answer, expected)


def ids_of(value, shape=(1, 2, 12)):
    return {"ids": np.full(shape, value, "int32")}


def tokens_of(lengths, tokens=(("a", "b"),)):
    return {"tokens": tokens, "sequence_len": np.array(lengths, "int32")}


HOSTILE = [
    ("default", {"strings": [["a", "b"]]}, "expected shape"),
    ("tokens", tokens_of([3]), "must have one number per sentence"),
    ("tokens", tokens_of([-1]), "must have one number per sentence"),
    ("tokens", tokens_of([2, 2]), "must have one number per sentence"),
    ("tokens", tokens_of([[2]]), "expected shape"),
    ("tokens", tokens_of([2], ["a", "b"]), "expected shape"),
    ("character_ids", ids_of(262), "takes integer ids from 0 to 261"),
    ("character_ids", ids_of(-1), "takes integer ids from 0 to 261"),
    ("character_ids", ids_of(1, (1, 2, 11)), "expected shape"),
]


def test_a_wrong_request_gets_an_error_and_the_next_an_answer(
    ask, elmo, exported
):
    good = ("tokens", padded(REQUESTS[0]))
    asked = [
        request
        for name, inputs, _ in HOSTILE
        for request in ((name, inputs), good)
    ]
    answers = ask(exported, *asked)
    expected = hub_answer(elmo, REQUESTS[0])
    for (name, inputs, message), wrong, right in zip(
        HOSTILE, answers[::2], answers[1::2], strict=True
    ):
        assert isinstance(wrong, str), (name, inputs)
        assert message in wrong
        check_answer(right, expected)


def test_a_request_for_nothing_gets_nothing(ask, exported):
    asked, shapes = [], []
    for batch, time in ((0, 0), (0, 3), (2, 0)):
        empty = np.empty((batch, time), object)
        blank = np.array(["  "] * batch, object)
        lengths = np.zeros(batch, "int32")
        asked += [
            ("tokens", {"tokens": empty, "sequence_len": lengths}),
            ("character_ids", ids_of(0, (batch, time, 12))),
            ("default", {"strings": blank}),
        ]
        shapes += [(batch, time), (batch, time), (batch, 0)]
    answers = ask(exported, *asked)
    for answer, (batch, time) in zip(answers, shapes, strict=True):
        assert answer["elmo"].shape == (batch, time, 12)
        assert answer["word_emb"].shape == (batch, time, 6)
        np.testing.assert_array_equal(answer["default"], np.zeros((batch, 12)))


def test_words_of_any_bytes(ask, elmo, exported):
    words = [b"\0", b"a\0", b"\xff\xfe", b"\x80" * 60, b"x" * 100_000]
    words += [b"\x1c", b""]
    with_spaces = b"  " + b" \t".join(words[:-1]) + b"\n"
    tokens, default = ask(
        exported,
        ("tokens", padded([words])),
        ("default", {"strings": [with_spaces]}),
    )
    check_answer(tokens, hub_answer(elmo, [words]))
    assert tokens["elmo"][0, -1].any()  # An empty word is no padding.
    check_answer(default, hub_answer(elmo, [words[:-1]]))
