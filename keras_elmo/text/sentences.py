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
    """Where each token begins in `text`, in characters, if that is known"""
    tags: Sequence[str] = ()
    """The label of each token, if the file has labels"""
    lines: Sequence[int] = ()
    """The line of each of these labels in the file, from 1"""
    columns: Sequence[list[str]] = ()
    """All columns of each token, with the label last, if asked for"""

    def char_span(self, start, end):
        """Returns where tokens begin and end in `text`, in characters.

        Args:
            start: Integer, the first token, from 0.
            end: Integer, the token after the last one.
        """
        last = end - 1
        return self.starts[start], self.starts[last] + len(self.tokens[last])
