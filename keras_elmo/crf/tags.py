"""The tags that a user gives: schemes of spans (BIO and others), names, ids."""

import re
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_elmo.checks import check_choice
from keras_elmo.crf.linear_chain import IMPOSSIBLE
from keras_elmo.crf.linear_chain import log_likelihood
from keras_elmo.crf.linear_chain import unpack_scores
from keras_elmo.ops.inputs import concrete_value
from keras_elmo.ops.inputs import require
from keras_elmo.ops.inputs import shapes_agree

# For each scheme, the letters of a span of one token; and of the first, inner
# and last tokens of a longer one.
_LETTERS = {"BIO": "BBII", "BIOES": "SBIE", "BIOUL": "UBIL"}
_SPAN = re.compile("[BIESLU]-.+")
# As others write the labels of a scheme: `b-PER`, `B_PER`, `B:PER`, `PER-B`,
# `M-PER`, and with dashes.
_SPELLING = re.compile(
    "([BIESLUM])[-_:\u2013\u2014](.+)|(.+)[-_]([BIESLUM])", re.IGNORECASE
)
# What AllenNLP calls the last token of a span, and a span of one token.
_AS_IN_BIOES = {"L": "E", "U": "S"}


class AllowedTags(NamedTuple):
    """What a tag scheme allows, as boolean arrays."""

    transitions: np.ndarray
    """`(num_tags, num_tags)`, whether the column's tag may follow the row's."""
    start: np.ndarray
    """`(num_tags,)`, whether a sentence may begin with the tag."""
    end: np.ndarray
    """`(num_tags,)`, whether a sentence may end with the tag."""


class EntityTags(NamedTuple):
    """What tags say about entities."""

    types: list[str]
    """The type of each tag's entity, `""` for none."""
    begins: np.ndarray
    """`(num_tags,)`, whether an entity begins at the tag."""
    continues: np.ndarray
    """`(num_tags, num_tags)`, whether the column's tag continues the entity of
    the row's."""


def entity_tags(tag_names):
    """Returns the `EntityTags` of labels in a scheme."""
    parts = [_split_tag(name, "BIESLU", "Each tag") for name in tag_names]
    letters, types = (np.array(part) for part in zip(*parts))
    begins = np.isin(letters, ["B", "S"])
    return EntityTags(types.tolist(), begins, _continue(letters, types))


def _continue(letters, types):
    """Returns `EntityTags.continues` of tags' letters and types."""
    begun, goes_on = (np.isin(letters, [x, "I"]) for x in "BE")
    return begun[:, None] & goes_on & (types[:, None] == types)


def allowed_tags(tag_names, scheme):
    """Returns what `scheme` allows for the tags, or `None` without a scheme.

    Args:
        tag_names: List of strings: `"O"`, or one of the scheme's letters with
            `"-"` and a type, such as `"B-PER"`.
        scheme: `"BIO"`, `"BIOES"`, `"BIOUL"` or `None`.

    Raises:
        ValueError: If the scheme is unknown, if a name does not belong to the
            scheme, or if some sentences could not be tagged.
    """
    check_choice("scheme", scheme, (None, *_LETTERS))
    if scheme is None:
        return None
    if tag_names is None:
        raise ValueError(
            "`scheme` needs `tag_names`, one per tag. Received: "
            f"scheme={scheme!r}, tag_names=None"
        )
    where = f"With `scheme`={scheme!r} each of `tag_names`"
    parts = [_split_tag(name, scheme, where) for name in tag_names]
    letters, types = (np.array(part) for part in zip(*parts))
    goes_on = np.isin(letters, ["I", "E"])  # (tags,)
    # In BIO, a span may end after any of its tokens.
    must_go_on = np.isin(letters, ["B", "I"]) & (scheme != "BIO")
    same = _continue(letters, types)  # (tags, tags)
    transitions = np.where(goes_on, same, ~must_go_on[:, None])
    allowed = AllowedTags(transitions, ~goes_on, ~must_go_on)
    if not np.any(allowed.start & allowed.end & np.diag(transitions)):
        raise ValueError(
            f"With `scheme`={scheme!r}, some sentences cannot be tagged with "
            f"these tags; add 'O'. Received: tag_names={tag_names}"
        )
    return allowed


def decoding_scheme(tag_names):
    """Returns the scheme of labels in which each can be decoded, or `None`.

    In IO, `I-PER` begins entities, and in IOB1 it may: without `B-PER` among
    the labels, BIO would never allow it.
    """
    scheme = find_scheme(tag_names)
    if scheme is None:
        return None
    _, start, end = allowed_tags(tag_names, scheme)
    _, begins, continues = entity_tags(tag_names)
    can_begin = start | continues[begins].any(axis=0)
    can_end = end | continues[:, end].any(axis=1)
    return scheme if np.all(can_begin & can_end) else None


def entities(tags):
    """Lists the entities that the tags of a sentence mark, as conlleval does.

    Tags that violate their scheme mark entities too: `I-PER` after `O` begins
    one, and `I-LOC` after `B-PER` ends one and begins another.

    Args:
        tags: Iterable of strings: `"O"`, or a letter of BIO, IOB1, BIOES or
            BIOUL, with `"-"` and a type. In BIOUL, AllenNLP's scheme, `L` is
            the last token of an entity, as `E` is in BIOES, and `U` is an
            entity of one token, as `S` is.

    Returns:
        List of `(start, end, type)`, where `end` is exclusive.

    Raises:
        ValueError: If a tag is anything else, because it would be unclear where
            an entity begins.
    """
    parts = [_split_tag(tag, "BIESLU", "Each tag") for tag in tags]
    found, start, before, type_before = [], 0, "O", ""
    for i, (letter, entity_type) in enumerate([*parts, ("O", "")]):
        if before in "OES" or letter in "OBS" or entity_type != type_before:
            if before != "O":
                found.append((start, i, type_before))
            start = i
        before, type_before = letter, entity_type
    return found


def find_scheme(labels):
    """Returns `"BIO"`, `"BIOES"`, `"BIOUL"`, or `None` for labels of no scheme.

    Labels in IOB1 count as BIO: `to_scheme` converts them. So do `B` and `I`
    alone, whose entities have an empty type.
    """
    labels = set(map(str, labels)) - {"O"}
    if labels and labels <= {"B", "I"}:
        return "BIO"
    letters = {x[0] if _SPAN.fullmatch(x) else "" for x in labels}
    fits = (s for s, known in _LETTERS.items() if letters <= set(known))
    return next(fits, None) if labels else None


def check_scheme(labels):
    """Returns `find_scheme`'s result.

    Raises:
        ValueError: If some labels mark entities and others do not, or if they
            do in another spelling.
    """
    labels = sorted({*labels} - {"O"})
    scheme, respelled = find_scheme(labels), [*map(respell, labels)]
    if scheme is None and all(respelled) and find_scheme({*respelled} - {"O"}):
        pairs = zip(labels, respelled)
        changes = [f"{a!r} by {b!r}" for a, b in pairs if a != b]
        raise ValueError(
            "The labels mark entities, but in another spelling. Replace "
            f"{', '.join(changes[:9])}{', ...' if changes[9:] else ''}"
        )
    spans = [x for x in labels if x.startswith(("B-", "I-"))]
    if spans and not scheme:
        raise ValueError(
            "Expected labels which all mark entities (O and, for BIO, B-... and"
            " I-...; for BIOES also E-... and S-...; for BIOUL L-... and U-...)"
            ", or none of which begins with B- or I-. "
            f"Received: {spans[:5]} and {sorted({*labels} - {*spans})[:20]}"
        )
    return scheme


def respell(label):
    """Returns what a label of another spelling is here, else `None`."""
    label = label.strip("\"'(),")
    if label in ("0", "o", "O"):
        return "O"
    if not (match := _SPELLING.fullmatch(label)):
        return None
    letter = (match[1] or match[4]).upper().replace("M", "I")
    return f"{letter}-{match[2] or match[3]}"


def to_scheme(tags, scheme):
    """Returns tags that mark the same `entities` in a scheme.

    It corrects tags that violate the scheme, and converts those in IOB1.
    """
    return mark_entities(entities(tags), len(tags), scheme)


def mark_entities(entities, length, scheme):
    """Returns the tags of a sentence.

    Args:
        entities: Iterable of tuples that begin with start, end and type.
        length: Integer, the number of words.
        scheme: `"BIO"`, `"BIOES"` or `"BIOUL"`.
    """
    single, first, inside, last = _LETTERS[scheme]
    written = ["O"] * length
    for start, end, entity_type, *_ in entities:
        between = inside * (end - start - 2)
        letters = first + between + last if end - start > 1 else single
        end_of_tag = f"-{entity_type}" if entity_type else ""
        written[start:end] = [letter + end_of_tag for letter in letters]
    return written


def _split_tag(name, known, what):
    """Returns a tag's letter, as in BIOES, and its type.

    Args:
        name: The tag.
        known: String of the letters that it may have.
        what: What the tag is, for the message.
    """
    if name == "O":
        return "O", ""
    known = [letter for letter in known if letter != "O"]
    letter, _, entity_type = str(name).partition("-")
    if letter not in known:
        examples = ", ".join(f"'{x}-...'" for x in known)
        new = respell(str(name))
        advice = f"; write {new!r}" if new and new[0] in ["O", *known] else ""
        raise ValueError(
            f"{what} must be 'O' or like {examples}{advice}. Received: {name!r}"
        )
    return _AS_IN_BIOES.get(letter, letter), entity_type


def check_tag_names(tag_names, num_tags=None):
    """Returns `tag_names` as a list of strings, or `None`.

    Raises:
        ValueError: If they are not strings, not all different, or their number
            is not `num_tags`.
    """
    if tag_names is None:
        return None
    names = [] if isinstance(tag_names, str) else list(tag_names)
    good = names and all(isinstance(name, str) for name in names)
    good = good and len(set(names)) == len(names)
    if not good or num_tags not in (None, len(names)):
        number = "" if num_tags is None else f"{num_tags} "
        raise ValueError(
            f"`tag_names` must be {number}different strings. "
            f"Received: tag_names={tag_names!r}"
        )
    return names


def check_packed_shape(shape, where=""):
    """Raises `ValueError` unless a CRF layer's scores can have `shape`."""
    if len(shape) != 4 or shape[-1] is None or shape[-2] != shape[-1] + 1:
        raise ValueError(
            f"Expected{where} the scores that a CRF layer returns, of shape "
            "(batch, time, num_tags + 1, num_tags). "
            f"Received: shape={tuple(shape)}"
        )


def check_tag_shape(tags, scores):
    """Raises `ValueError` unless there is one tag per token of `scores`."""
    check_packed_shape(scores.shape)
    shape = tuple(scores.shape[:2])
    if not shapes_agree(tags.shape, shape):
        raise ValueError(
            "Tags must be indices of shape (batch, time), here "
            f"{shape}, not one-hot vectors. Received: shape={tuple(tags.shape)}"
        )


def checked_log_likelihood(scores, tags):
    """`log_likelihood` of tags that come from a user.

    Args:
        scores: Packed scores.
        tags: Tensor or array `(batch, time)` of any numeric dtype; values at
            padding are ignored.

    Returns:
        Tensor `(batch,)`. Where values cannot be checked (see `require`), it is
        NaN if a tag is out of range.

    Raises:
        ValueError: If the shape is wrong, if a real token's tag is out of
            range, or if the scores forbid a sentence's tags.
    """
    tags = ops.cast(ops.convert_to_tensor(tags), "int32")
    check_tag_shape(tags, scores)
    _, mask = unpack_scores(scores)
    num_tags = scores.shape[-1]
    message = f"Tags of real tokens must be from 0 to {num_tags - 1}."
    good = ~mask | ((tags >= 0) & (tags < num_tags))
    wrong = concrete_value(ops.where(good, 0, tags))
    if wrong is not None:
        message += f" Received: {wrong[wrong != 0][:5].tolist()}"
    result = log_likelihood(scores, require(good, message, tags))
    result = require(
        # NaN is accepted, for `TerminateOnNaN`.
        (result > IMPOSSIBLE / 2) | ops.isnan(result),
        "A sentence's tags have probability zero: they break the CRF's "
        "`scheme`, or its inputs are -inf for one of them. Tags in the IOB1 "
        "format, as in CoNLL-2003, must be converted. Fix the tags, or "
        "constrain decoding only: pass the scheme to `CRFDecoder`. "
        "Received, with -1 at padding: tags",
        result,
        rows=ops.where(mask, tags, -1),
    )
    return ops.where(ops.all(good, axis=1), result, float("nan"))
