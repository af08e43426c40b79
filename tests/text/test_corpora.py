import codecs
import gzip
import io
import itertools
import json
import re
import sys
import tracemalloc
import warnings

import pytest

from keras_elmo.text import read_conll
from keras_elmo.text import read_corpus
from keras_elmo.text import text_files
from keras_elmo.text import text_kinds
from keras_elmo.text.corpora import text_lines
from keras_elmo.text.corpora import text_sentences
from keras_elmo.text.sentences import Sentence
from keras_elmo.text.text_kinds import find_kind

CONLLU = """\
# sent_id = 1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_
3.1\tthere\t_\t_\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

1\t10 000\t_\tNUM\t_\t_\t0\troot\t_\t_
2\t_\t_\tSYM\t_\t_\t1\tdep\t_\t_

"""
CONLLU_SENTENCES = [
    Sentence("Do n't go .", ["Do", "n't", "go", "."]),
    Sentence("10 000 _", ["10 000", "_"]),
]


def write(path, content):
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def use_standard_input(monkeypatch, content):
    file = io.BufferedReader(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file, "ascii"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", []),
        ("a b\nc", ["a b", "c"]),
        ("a\n\n\nb\n\n", ["a", "", "", "b", ""]),
        ("  a   b  \n   \n", ["  a   b  ", "   "]),
        ("a b\r\n\r\nc\r\n", ["a b", "", "c"]),
        ("a\r\r\n", ["a\r"]),
        ("The\tship\rleft\n", ["The\tship\rleft"]),
    ],
)
def test_a_line_is_a_sentence(tmp_path, content, expected):
    path = write(tmp_path / "corpus.txt", content)
    expected = [Sentence(line, line.split()) for line in expected]
    assert list(read_corpus(path)) == expected


def test_only_white_space_of_ascii_parts_tokens():
    """As in `bytes.split`, which reads training text."""
    for character in map(chr, [*range(1, 256), 0x3000, 0x2028, 0x2029]):
        line = f"{character}a{character}b {character} c{character}"
        (sentence,) = text_sentences([line])
        expected = line.encode().split()
        assert [token.encode() for token in sentence.tokens] == expected


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "corpus.txt"
    write(path, codecs.BOM_UTF8 + b"a\n\xef\xbb\xbfb\n")
    expected = [["a"], ["\ufeffb"]]
    assert [s.tokens for s in read_corpus(path)] == expected
    with open(path, encoding="utf-8") as file:
        assert [s.tokens for s in text_sentences(file)] == expected
    assert list(read_corpus(write(path, codecs.BOM_UTF8))) == []


def test_lines_of_text_must_be_strings():
    with pytest.raises(ValueError, match=r"must be a string.*as line 2: b'a"):
        list(text_sentences(["a", b"a b"]))


LATIN_1 = "Latin-1 or Windows-1252, with `iconv -f cp1252 "
OTHER = "another ENCODING, with `iconv -f ENCODING "


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"caf\xe9 .", LATIN_1),
        (b"\x80\x04\x95\xc3", OTHER),
        (
            codecs.BOM_UTF8 + "é\n".encode() + b"\nfine b\xff\xc3d\n",
            r"Received: b'\\xff' in line 3, at byte 13 of",
        ),
        (codecs.BOM_UTF8 + b"a\xff", "in line 1, at byte 4 of the text"),
    ],
)
def test_bytes_that_are_not_utf8_are_told(tmp_path, content, told):
    path = write(tmp_path / "corpus.txt", content)
    with pytest.raises(ValueError, match=f"'{path}' must be UTF-8.*{told}"):
        list(read_corpus(path))


def test_conllu_gives_the_words_forms(tmp_path):
    path = tmp_path / "corpus.conllu"
    for text in (CONLLU, CONLLU.replace("\n", "\r\n"), CONLLU.strip()):
        assert list(read_corpus(write(path, text))) == CONLLU_SENTENCES


@pytest.mark.parametrize(
    "bad",
    [
        *("no tabs", "x\tform\t_", "1..2\tform", "1 form", "1  form"),
        *("_\tform\t_", "1\t\t_", "1-2-3\tform\t_", "\u0661\tform\t_"),
        "# global.columns = ID UPOS FORM",
    ],
)
def test_a_bad_line_of_conllu_is_told(tmp_path, bad):
    lines = CONLLU.splitlines()
    lines[9] = bad
    path = write(tmp_path / "corpus.conllu", "\n\n" + "\n".join(lines))
    sentences = read_corpus(path)
    assert next(sentences) == CONLLU_SENTENCES[0]
    told = f"'{path}' is not CoNLL-U in line 12: .*: {re.escape(repr(bad))}"
    with pytest.raises(ValueError, match=told):
        list(sentences)


def test_blocks_of_conllu(tmp_path):
    columns = "# global.columns = ID FORM UPOS\n"
    text = f"{columns}1\tcat\n\n\n \n# a comment alone\n\n1\ty\tX"
    path = write(tmp_path / "a.conllu", text)
    assert [s.text for s in read_corpus(path)] == ["cat", "", "y"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_format_is_that_of_the_name_or_is_given(tmp_path, pack):
    path = tmp_path / ("a.txt" if pack is bytes else "a.gz")
    write(path, pack(b"1\ta b\n2\tc"))
    lines = ("1\ta b", ["1", "a", "b"]), ("2\tc", ["2", "c"])
    expected = [Sentence(*line) for line in lines]
    conllu = [Sentence("a b c", ["a b", "c"])]
    assert list(read_corpus(path)) == expected
    assert list(read_corpus(str(path), "conllu")) == conllu
    end = ".conllu" if pack is bytes else ".conllu.gz"
    path = write(tmp_path / f"a{end}", path.read_bytes())
    assert list(read_corpus(path)) == conllu
    assert list(read_corpus(path, "text")) == expected


def test_standard_input(monkeypatch):
    for pack in (bytes, gzip.compress):
        use_standard_input(monkeypatch, pack(CONLLU.encode()))
        assert list(read_corpus("-", "conllu")) == CONLLU_SENTENCES
        assert not sys.stdin.buffer.closed


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda x: x[:0], "not gzip, despite its name"),
        *((lambda x, i=i: x[:i], "truncated") for i in (1, -9, -1)),
        (lambda x: x[:20] + bytes([x[20] ^ 255]) + x[21:], "unpacked"),
        (lambda x: x[:-6] + bytes([x[-6] ^ 255]) + x[-5:], "CRC check failed"),
    ],
)
def test_a_gzip_that_is_damaged(tmp_path, damage, told):
    content = gzip.compress("\n".join(map(str, range(999))).encode())
    path = write(tmp_path / "corpus.gz", damage(content))
    with pytest.raises(ValueError, match=f"'{path}' cannot be .*{told}"):
        list(read_corpus(path))


def test_a_gzip_of_one_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1 << 16)
    content = gzip.compress(b"first\n" + b"x" * (50 << 20))
    path = write(tmp_path / "bomb.gz", content)
    tracemalloc.start()
    told = f"'{path}' .* 65,536 bytes in line 2"
    with pytest.raises(ValueError, match=told):
        list(read_corpus(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 << 20


def test_arguments_are_checked(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no corpus file '.*none.txt'"):
        read_corpus(tmp_path / "none.txt")
    with pytest.raises(ValueError, match=f"Received a folder: '{tmp_path}'"):
        read_corpus(tmp_path)
    with pytest.raises(ValueError, match=r"`format`.*Received: 'conll'"):
        read_corpus(write(tmp_path / "corpus.txt", "a"), "conll")


@pytest.mark.parametrize("format", ["text", "conllu"])
def test_a_long_corpus_takes_no_more_memory(tmp_path, format):
    rows = "".join(f"1\t{i}\n\n" * 20 for i in range(3000))
    assert len(rows) > 400_000
    path = write(tmp_path / "corpus.gz", gzip.compress(rows.encode()))
    list(itertools.islice(read_corpus(path, format), 100))
    tracemalloc.start()
    for _ in read_corpus(path, format):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000


TEXT = "Ann ran home .\nBo slept .\n\nCy met Ann .\n"
ROWS = [("Ann", "B-PER"), ("ran", "O"), ("home", "O"), (".", "O"), ("Bo", "O")]


def rows(separator, label=lambda label: label):
    return "".join(f"{word}{separator}{label(x)}\n" for word, x in ROWS * 2)


CERTAIN = [
    ("UTF-16: .*iconv -f UTF-16 -t UTF-8", TEXT.encode("utf-16")),
    ("UTF-16", codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be")),
    ("UTF-32: .*iconv -f UTF-32 -t UTF-8", TEXT.encode("utf-32")),
    ("UTF-32", codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be")),
    ("NUL bytes.*iconv -f UTF-16LE", ("\n" + TEXT).encode("utf-16-le")),
    ("HDF5", b"\x89HDF\r\n\x1a\n\0"),
    ("a zip archive", b"PK\x03\x04\n"),
    ("a PDF", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"),
]
TABS = "columns separated by tabs"
COMMAS = "columns separated by commas or semicolons"
LABELS = "words with labels"
JOINED = "words with their labels joined to them"
MARKED = "text with <START> and <END> around entities"
LIKELY = [
    ("JSON", json.dumps({"text": "Ann ran home .", "label": []}) + "\n"),
    ("JSON", json.dumps([{"words": ["Ann", "ran"]}], indent=1)),
    (TABS, rows("\t")),
    (TABS, rows("\t", lambda x: x.replace("O", ""))),
    (COMMAS, f'word,label\n"No, no",O\n{rows(",")}'),
    (COMMAS, rows(";")),
    (LABELS, rows(" ")),
    (LABELS, rows(" _ _ ", lambda x: x.replace("B-", "b-"))),
    (LABELS, rows(" ", lambda x: x.replace("B-PER", "PER-B"))),
    (LABELS, rows(" ", lambda x: x.replace("O", "VERB"))),
    (JOINED, "Ann|NNP|B-PER ran|VBD|O .|.|O\nBo|NNP|B-PER slept|VBD|O\n"),
    (JOINED, "Ann/NNP ran/VBD ./.\nBo_NNP slept_VBD ._.\n"),
    (MARKED, "<START:person> Ann <END> ran .\n<START:x> Bo <END> slept .\n"),
]
ORDINARY = {
    "words": "Ann\nran\nhome\n.\n\n" * 9,
    "one word and a full stop": "Yes .\nNo .\nOh !\nNever .\n" * 9,
    "tabs between tokens": "The\tship\tleft\tit\nNobody\tsaw\nWe\tdid\t.\n",
    "a poem": "\tShall I compare thee to a day ?\n\n\tThou art fair ,\n" * 9,
    "a list": "Ann , Bo , Cy ,\n 1,000 ; 2,000\nand x,y\nor z\n" * 9,
    "untokenised": "So, she said, it is.\nNo; I, too, go.\nYes, I do.\n" * 9,
    "capitals": "HE WAS NOT HERE\nI CAME HOME\nSHE LEFT\nNO MAN SAW IT\n" * 9,
    "numbers of paragraphs": "1\tThe ship left .\n2 Nobody\nsaw it .\n" * 9,
    "a heading": "# global warming\n# 1 .\nIt is hot .\n",
    "a set": '{ "a" , "b" } is a set .\n{"x"} is one , too .\n' * 9,
}


@pytest.mark.parametrize(("told", "content"), CERTAIN)
def test_what_is_certainly_no_text_is_refused(told, content):
    with pytest.raises(ValueError, match=f"'a' must be .*UTF-8, .*{told}"):
        text_kinds.refuse_binary(content, "a")


@pytest.mark.parametrize(("kind", "text"), LIKELY)
def test_tables_are_told_from_text(kind, text):
    assert find_kind("a.txt", text.encode()).looks_like == kind


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_text_is_text(kind):
    text = ORDINARY[kind].encode()
    assert find_kind("a.txt", text) == ("text", None)


def every_reader(path, monkeypatch):
    """Yields each function that reads text as lists of words."""
    yield lambda: [s.tokens for s in read_corpus(path)]
    yield lambda: [x.decode().split() for x in text_lines(str(path))]
    use_standard_input(monkeypatch, path.read_bytes())
    yield lambda: [s.tokens for s in read_corpus("-")]


def test_every_reader_looks_at_the_beginning(tmp_path, monkeypatch):
    path = write(tmp_path / "corpus.txt", TEXT.encode() * 99 + b"\0")
    readers = every_reader(path, monkeypatch)
    for read in [*readers, lambda: read_conll(path)]:
        with pytest.raises(ValueError, match="in UTF-8, but it has NUL bytes"):
            read()
    text = rows("\t")
    expected = [line.split() for line in text.splitlines()]
    write(path, gzip.compress(text.encode()))
    for read in every_reader(path, monkeypatch):
        with pytest.warns(match=f"looks like {TABS}. Write its sen") as record:
            assert read() == expected
        assert len(record) == 1
    assert [s.tokens for s in read_corpus(path, "text")] == expected
    write(path, CONLLU * 200)
    for read in every_reader(path, monkeypatch):
        words = [" ".join(x) for x in read()]
        assert words == [s.text for s in CONLLU_SENTENCES] * 200


def test_no_warning_of_real_text(shared):
    paths = [*shared.glob("data/english_lm*/**/*.txt*")]
    assert len(paths) > 50
    for path in paths:
        assert next(text_lines(str(path)))


PLUS = "# global.columns = ID FORM UNER\n1\tAnn\tB-PER\n2\tran\tO\n\n"
BEGINNINGS = {
    "a comment": CONLLU,
    "a mark": "\ufeff" + CONLLU,
    "an empty line": "\n\n" + CONLLU,
    "a range": "1-2\tDon't" + 8 * "\t_" + "\n" + CONLLU.split("_\n", 1)[1],
    "Windows": CONLLU.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_conllu_is_known_by_its_beginning(beginning):
    content = BEGINNINGS[beginning].encode()
    assert find_kind("a.txt", content).format == "conllu"


def test_conllu_plus_says_its_columns(tmp_path, shared):
    path = write(tmp_path / "a.conllup", PLUS)
    assert list(read_corpus(path)) == [Sentence("Ann ran", ["Ann", "ran"])]
    write(path, PLUS.replace("ID FORM", "FORM ID"))
    with pytest.raises(ValueError, match="is not CoNLL-U in line 1: "):
        list(read_corpus(path))
    # Ten columns that are not CoNLL-U's.
    table = "".join(f"{i}\ta" + 8 * "\tb" + "\n" for i in range(1, 9))
    with pytest.warns(match="looks like columns separated by tabs"):
        assert len(list(read_corpus(write(path, table)))) == 8


@pytest.mark.parametrize(
    ("text", "told"), [("a b\rc d\re\r", 1), ("a b\r\nc d\r\n", 0), ("a\r", 0)]
)
def test_lines_that_end_in_cr_alone_are_told(tmp_path, text, told):
    path = write(tmp_path / "old.txt", text)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        list(read_corpus(path))
    assert [str(x.message).count("CR alone") for x in found] == [1] * told
