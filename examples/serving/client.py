"""Queries a model on TensorFlow Serving over REST; needs only Python.

    python client.py "First sentence ." "Another ."
    python client.py --model tagger --file tokenised.txt --save answers.jsonl

Prints the labels of each sentence, or a summary of its vectors if the model
returns no labels. Words are separated by white space; with --tokens by tabs
alone, so that a word may contain spaces or be empty.
"""

import argparse
import base64
import contextlib
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

_SHOWN_NUMBERS = 4


class ServerError(Exception):
    """The server's error message for a request that failed."""


def predict(url, inputs, signature=None, rows=False, timeout=60):
    """Queries a model for its outputs.

    Args:
        url: URL of the model, e.g. `"http://localhost:8501/v1/models/elmo"`.
        inputs: Dictionary from the name of an input to a (nested) list of
            numbers, strings or bytes, whose first axis is the batch.
        signature: Name of the signature, or `None` for the model's default.
        rows: Boolean, whether to send `instances`, one object per row, instead
            of `inputs`, which is shorter. The outputs are the same.
        timeout: Seconds to wait.

    Returns:
        Dictionary from the name of an output to a nested list.

    Raises:
        ServerError: If the server cannot be reached, or answers with an error.
    """
    request = {"signature_name": signature} if signature else {}
    if rows:
        columns = inputs.values()
        request["instances"] = [
            dict(zip(inputs, row)) for row in zip(*columns, strict=True)
        ]
    else:
        request["inputs"] = inputs
    answer = _post(f"{url}:predict", request, timeout)
    outputs = answer["predictions" if rows else "outputs"]
    if rows and isinstance(outputs[0], dict):
        return {name: [row[name] for row in outputs] for name in outputs[0]}
    # The server omits the name of an output if it is the only one.
    return outputs if isinstance(outputs, dict) else {"output": outputs}


def _post(url, request, timeout):
    data = json.dumps(request, default=_encode_bytes).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, data, headers), timeout=timeout
        ) as response:
            return json.loads(response.read().decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        body = error.read().decode("utf-8", "replace")
        # A proxy in front of the server may answer in another format.
        with contextlib.suppress(ValueError, KeyError, TypeError):
            body = json.loads(body)["error"]
        raise ServerError(f"{error.code} {error.reason}: {body}") from error
    except OSError as error:  # No connection, or a timeout.
        reason = getattr(error, "reason", error)
        raise ServerError(f"{url} cannot be reached: {reason}") from error


def _encode_bytes(value):
    return {"b64": base64.b64encode(value).decode()}


def of_sentences(sentences):
    """The inputs of the signature `default`: lists of words as bytes."""
    return {"strings": [_text(b" ".join(words)) for words in sentences]}


def of_tokens(sentences):
    """The inputs of the signature `tokens`: lists of words as bytes."""
    time = max(map(len, sentences))
    return {
        "tokens": [
            [_text(word) for word in words] + [""] * (time - len(words))
            for words in sentences
        ],
        "sequence_len": [len(words) for words in sentences],
    }


def _text(raw):
    """Returns a string if possible: JSON has no bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def answers_of_sentences(sentences, outputs, uncut=False):
    """Yields a dictionary for each sentence: its words and its outputs.

    Args:
        sentences: Lists of words as bytes.
        outputs: The outputs, as returned by `predict`.
        uncut: Boolean, whether to keep what follows the words. That is padding,
            unless the model keeps the sentence boundaries.
    """
    for i, words in enumerate(sentences):
        answer = {"words": [word.decode("utf-8", "replace") for word in words]}
        for name, values in sorted(outputs.items()):
            value = values[i]
            labels = outputs.get(f"{name}_labels", values)[i]
            if not uncut and _is_of_words(value, labels):
                value = value[: len(words)]
            if name != "tokens":
                answer[name] = value
        yield answer


def _is_of_words(value, labels):
    """Whether the first axis is time: for vectors, strings, or named tags."""
    if not isinstance(value, list) or not isinstance(labels, list):
        return False
    is_of_numbers = value and not isinstance(value[0], (list, str))
    return not is_of_numbers or labels is not value


def show(answer):
    """Prints the answer for a sentence in readable form."""
    words = answer["words"]
    print(" ".join(words))
    labels = [name for name in answer if name.endswith("_labels")]
    for name in labels or answer:
        value = answer[name]
        if isinstance(value, str):
            told = value
        elif name in labels:
            told = " ".join(f"{w}/{label}" for w, label in zip(words, value))
        elif name != "words":
            told = _describe(value)
        else:
            continue
        print(f"  {name}: {told}")


def _describe(value):
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value, row = (value[0] if value else None), value
    if value is None:
        return f"{shape}"
    numbers = ", ".join(f"{x:.4f}" for x in row[:_SHOWN_NUMBERS])
    more = ", ..." if len(row) > _SHOWN_NUMBERS else ""
    return f"{shape} {numbers}{more}"


def read_sentences(arguments):
    """Returns lists of words as bytes, which need not be UTF-8."""
    lines = [os.fsencode(sentence) for sentence in arguments.sentence]
    if arguments.file == "-":
        lines += sys.stdin.buffer.read().splitlines()
    elif arguments.file:
        with open(arguments.file, "rb") as file:
            lines += file.read().splitlines()
    if arguments.tokens:
        return [line.split(b"\t") if line else [] for line in lines]
    return [line.split() for line in lines]  # As the server splits.


def make_parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("sentence", nargs="*", metavar="SENTENCE", help="tokenised sentence")
    add("--file", help='one sentence per line; "-" for standard input')
    add("--tokens", action="store_true", help="words are separated by tabs")
    add("--server", default="http://localhost:8501", metavar="URL")
    add("--model", default="elmo", help="model name. Default: %(default)s")
    add("--version", type=int, help="model version. Default: the latest")
    add(
        "--batch",
        type=int,
        default=32,
        metavar="N",
        help="sentences per request. Default: %(default)s",
    )
    add("--rows", action="store_true", help='send "instances", not "inputs"')
    add("--save", metavar="FILE", help="write JSON, one object per line")
    add(
        "--uncut",
        action="store_true",
        help="keep what follows the words of a sentence",
    )
    add("--timeout", type=float, default=60, help="in seconds. Default: 60")
    return parser


def answer_all(arguments):
    """Yields the answer of each sentence."""
    path = f"/v1/models/{urllib.parse.quote(arguments.model)}"
    if arguments.version is not None:
        path += f"/versions/{arguments.version}"
    url = arguments.server.rstrip("/") + path
    sentences = read_sentences(arguments)
    if not sentences:
        raise ValueError("No sentences were given: see --help.")
    make_inputs = of_tokens if arguments.tokens else of_sentences
    signature = "tokens" if arguments.tokens else "default"
    for start in range(0, len(sentences), arguments.batch):
        batch = sentences[start : start + arguments.batch]
        outputs = predict(
            url,
            make_inputs(batch),
            signature,
            arguments.rows,
            arguments.timeout,
        )
        yield from answers_of_sentences(batch, outputs, arguments.uncut)


def main():
    arguments = make_parser().parse_args()
    answers = answer_all(arguments)
    if not arguments.save:
        for answer in answers:
            show(answer)
        return
    path = os.path.realpath(arguments.save)  # Follows links.
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"--save must be a file. Received: '{arguments.save}'")
    part = f"{path}.part"
    try:
        with open(part, "w", encoding="utf-8") as file:
            for answer in answers:
                file.write(json.dumps(answer, ensure_ascii=False) + "\n")
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


if __name__ == "__main__":
    try:
        main()
    except (ServerError, OSError, ValueError) as error:
        sys.exit(f"client.py: {error}")
