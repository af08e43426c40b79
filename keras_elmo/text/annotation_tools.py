"""Texts with spans, in the formats of the tools in which people label them.

All three count Unicode code points from 0, and CR LF as two. Label Studio has
done so since October 2021: its editor shows each CR and LF as a `<br>`, which
it counts as one, and corrects JavaScript's offsets (`charsToCodePoints`).
doccano counts otherwise if a project counts grapheme clusters as one character.
"""

import json

# What they are called in Label Studio's template for named entities.
_NAMES = {"from_name": "label", "to_name": "text", "type": "labels"}


def as_record(tool, text, spans):
    """Returns a text and its spans as a line of a file to import into a tool.

    Only ASCII is written, because doccano guesses the encoding of a file.

    Args:
        tool: One of `ANNOTATION_TOOLS`.
        text: The text.
        spans: List of tuples that begin with start, end, type and probability,
            as `TextSpan`s do. The probability may be `None`.
    """
    if tool == "doccano":
        return json.dumps({"text": text, "label": [x[:3] for x in spans]})
    rows = []
    for i, (start, end, label, share, *_) in enumerate(spans):
        place = {"start": start, "end": end}
        row = {**place, "label": label}
        if tool == "label-studio":
            value = {**place, "text": text[start:end], "labels": [label]}
            row = {"id": str(i), **_NAMES, "value": value}
        if share is not None:
            row["score"] = float(f"{share:.6g}")
        rows.append(row)
    if tool == "prodigy":
        return json.dumps({"text": text, "spans": rows})
    prediction = {"model_version": "keras-elmo", "result": rows}
    return json.dumps({"data": {"text": text}, "predictions": [prediction]})


def read_task(task):
    """Returns a task of Label Studio as an example of Prodigy.

    Args:
        task: An object of its exports JSON or JSON-MIN. Of several annotations,
            the newest one counts. It may also be any other object, which is
            returned as it is.

    Raises:
        ValueError: If it has not one text, or a span has not one label.
    """
    if "annotations" in task or "predictions" in task:
        done = task.get("annotations", ())
        done = [x for x in done if not x.get("was_cancelled")]
        done.sort(key=lambda x: x.get("created_at") or "")
        values = (
            [x.get("value", {}) for x in done[-1]["result"]] if done else []
        )
        data, answer = task["data"], "accept" if done else "ignore"
    elif "annotation_id" in task:
        lists = (x for x in task.values() if isinstance(x, list))
        values = [x for row in lists for x in row if isinstance(x, dict)]
        data, answer = {"text": task["text"]}, "accept"
    else:
        return task
    texts = [x for x in data.values() if isinstance(x, str)]
    (text,) = [data["text"]] if "text" in data else texts
    spans = []
    for value in values:
        if "labels" in value:
            (label,) = value["labels"]
            spans.append({**value, "label": label})
    return {"text": text, "spans": spans, "answer": answer}
