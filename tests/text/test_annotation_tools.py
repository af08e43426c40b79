"""Suggestions for annotation tools, and what these export."""

import json

import pytest

from keras_elmo.choices import ANNOTATION_TOOLS
from keras_elmo.crf.tags import entities
from keras_elmo.text.annotation_tools import as_record
from keras_elmo.text.labelled_text import read_labelled

pytest.importorskip("spacy", reason="It divides text into words.")

TEXTS = [
    (
        "\U0001f600 Ann Lee met \U0001f468\u200d\U0001f469 Bo.",
        [(2, 9), (18, 20)],
    ),
    ("No one.", []),
    ("Caf\u00e9\r\n\r\n\U0001f600 Oslo\rYes\n", [(0, 4), (10, 14)]),
]
TEXTS = [(text, [(*x, "X-Y", 0.75) for x in spans]) for text, spans in TEXTS]


def export_doccano(records):
    rows = [{"id": 9, **x, "Comments": []} for x in records]
    return "\n".join(json.dumps(x, ensure_ascii=False) for x in rows)


def export_prodigy(records):
    rows = [{**x, "_input_hash": 1, "answer": "accept"} for x in records]
    for row in rows:
        row["tokens"] = [{"text": "a", "start": 0, "end": 1, "id": 0}]
    return "\n".join(map(json.dumps, rows))


def label_studio_tasks(records):
    """Tasks whose last annotation but one is the newest that counts."""
    times = ("2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z", "2026-11-29T12")
    for i, record in enumerate(records, start=70):
        (prediction,) = record["predictions"]
        choice = {"value": {"choices": ["news"]}, "type": "choices"}
        results = [], [*prediction["result"], choice], []
        rows = [
            {"result": x, "created_at": time, "was_cancelled": False}
            for x, time in zip(results, times)
        ]
        rows[-1]["was_cancelled"] = True
        yield {"id": i, "annotations": rows, **record}


def export_label_studio(records):
    tasks = [*label_studio_tasks(records)]
    skipped = [{"was_cancelled": True, "result": []}]
    tasks.append({"id": 1, "data": {"text": "a"}, "annotations": skipped})
    return json.dumps(tasks)


def export_label_studio_min(records):
    rows = []
    for task in label_studio_tasks(records):
        values = [x["value"] for x in task["annotations"][1]["result"][:-1]]
        labels = {"label": values} if values else {}
        row = {**task["data"], "id": task["id"], **labels}
        rows.append({**row, "annotator": 1, "annotation_id": 2})
    return json.dumps(rows, indent=2, ensure_ascii=False)


@pytest.mark.parametrize(
    ("tool", "export", "name"),
    [
        ("doccano", export_doccano, "all.jsonl"),
        ("prodigy", export_prodigy, "dataset.jsonl"),
        ("label-studio", export_label_studio, "project.json"),
        ("label-studio", export_label_studio_min, "result.json"),
    ],
)
def test_there_and_back(tmp_path, tool, export, name):
    records = [json.loads(as_record(tool, *x)) for x in TEXTS]
    path = tmp_path / name
    path.write_bytes(export(records).encode())
    found = read_labelled(str(path))
    texts = {text: [] for text, _ in TEXTS}
    for sentence in found.sentences:
        places = sentence.char_spans()
        for start, end, kind in entities(sentence.tags):
            span = places[start][0], places[end - 1][1], kind
            texts[sentence.text].append(span)
    assert texts == {text: [x[:3] for x in spans] for text, spans in TEXTS}
    assert {x.text for x in found.sentences} == {*texts}
    is_array = tool == "label-studio"
    assert found.unit == ("task" if is_array else "line")
    first, *_, last = found.sentences
    numbers = [70, 72] if is_array else [1, 3]
    assert [first.lines[0], last.lines[0]] == numbers
    left_out = "left out, because not accepted: 1"
    assert (left_out in found.reading) == (name == "project.json")


def test_what_is_suggested():
    text, spans = TEXTS[0]
    rows = {x: json.loads(as_record(x, text, spans)) for x in ANNOTATION_TOOLS}
    assert rows["doccano"]["label"][0] == [2, 9, "X-Y"]
    span = {"start": 2, "end": 9, "label": "X-Y", "score": 0.75}
    assert rows["prodigy"]["spans"][0] == span
    (prediction,) = rows["label-studio"]["predictions"]
    first, second = prediction["result"]
    assert first["value"]["text"] == "Ann Lee" and first["score"] == 0.75
    assert first["id"] != second["id"]
    (bare,) = json.loads(as_record("prodigy", "Bo", [(0, 2, "X", None)]))[
        "spans"
    ]
    assert bare == {"start": 0, "end": 2, "label": "X"}
    assert as_record("doccano", *TEXTS[2]).isascii()


ONE = {"data": {"text": "a"}, "annotations": [{"result": []}]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[{", "expected an array of JSON objects, or an object in each line"),
        ('[3, {"text": ""}]', "task 1: expected a JSON object with a `text`"),
        ([{**ONE, "id": 5, "data": {"a": "x", "b": "y"}}], "task 5: expected"),
        (
            [{**ONE, "annotations": [{"result": [{"value": {"labels": []}}]}]}],
            "task 1: expected",
        ),
        (
            [{"data": {"text": "a"}, "predictions": []}],
            "contains no sentences. Left out, because not accepted: 1.",
        ),
    ],
)
def test_arrays_that_are_refused(tmp_path, text, told):
    path = tmp_path / "a.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.raises(ValueError, match=f"'{path}'.*{told}"):
        read_labelled(str(path))
