"""A sentence, as all readers of text return it."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(slots=True)
class Sentence:
    """A sentence of a text."""

    text: str
    """The line of the file, or the tokens joined by single spaces. Of raw text,
    what was written, with the white space after it, and of annotated text, the
    text that the sentence is in."""
    tokens: list[str]
    starts: Sequence[int] = ()
    """Where each token begins in `text`, in characters. Without it, there is
    only white space between the tokens"""
    tags: Sequence[str] = ()
    """The label of each token, if the file has labels"""
    lines: Sequence[int] = ()
    """The line of each of these labels in the file, from 1"""
    columns: Sequence[list[str]] = ()
    """All columns of each token, with the label last, if asked for"""

    def char_spans(self):
        """Returns where each token begins and ends in `text`, in characters."""
        spans, end = [], 0
        for i, token in enumerate(self.tokens):
            start = (
                self.starts[i] if self.starts else self.text.index(token, end)
            )
            end = start + len(token)
            spans.append((start, end))
        return spans
