"""Files of tagged sentences."""

import gzip

import pytest

from keras_elmo.text import read_conll

WORDS = [["Ann", "slept", "#"], ["\u00c9t\u00e9"]]
TAGS = [["B-PER", "O", "O"], ["O"]]


def write(folder, content, name="a.conll"):
    path = folder / name
    path.write_bytes(content if type(content) is bytes else content.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("gap", [" ", "\t", "  "])
def test_the_label_is_in_the_last_column(tmp_path, gap, end):
    rows = ["Ann X B-PER", "slept X O", "# X O", "", "", "\u00c9t\u00e9 X O"]
    text = end.join(row.replace(" ", gap) for row in rows)
    assert read_conll(write(tmp_path, text)) == (WORDS, TAGS)
    assert read_conll(write(tmp_path, f"\ufeff{end}{text}{end}{end}"), 3) == (
        WORDS,
        TAGS,
    )
    assert read_conll(tmp_path / "a.conll", column=2)[1] == [["X"] * 3, ["X"]]


def test_words_with_spaces_and_documents(tmp_path):
    text = "-DOCSTART- -X- O\n\n1 000\tNUM\tO\n\n-DOCSTART-\t-X-\tO\n"
    path = write(tmp_path, gzip.compress(text.encode()), "a.conll.gz")
    assert read_conll(path) == ([["1 000"]], [["O"]])
    path = write(tmp_path, "a\u00a0b O\n")  # Not a space of ASCII.
    assert read_conll(path) == ([["a\u00a0b"]], [["O"]])


def test_conllu_has_parts_of_speech(tmp_path):
    rest = "\t_\t_\t_\t_\t_\n"
    text = (
        f"# text = du chat\n1-2\tdu\t_\t_\t_{rest}1\tde\tde\tADP\tP{rest}"
        f"1.1\tx\tx\tX\tX{rest}2\tle\tle\tDET\tD{rest}\n# nothing\n\n"
        f"1\t#\t#\tSYM\tS{rest}"
    )
    path = write(tmp_path, text, "a.conllu")
    words = [["de", "le"], ["#"]]
    assert read_conll(path) == (words, [["ADP", "DET"], ["SYM"]])
    assert read_conll(path, 5) == (words, [["P", "D"], ["S"]])


def test_a_treebank(shared):
    words, tags = read_conll(shared / "data/ud_english_ewt/dev.conllu")
    assert len(words) == len(tags) == 2001
    assert list(map(len, words)) == list(map(len, tags))
    assert len({tag for row in tags for tag in row}) == 17


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("a O\n\nb\n", "a.conll", "line 3: expected 2 columns.*: 1 columns"),
        ("a\n", "a.conll", r"line 1: expected 2 columns.*\['a'\]"),
        ("a X O\n# a comment\nb c X O\n", "a.conll", "line 3: expected 3"),
        ("a O\n# id 5 x\n", "a.conll", "line 2: .*a comment must be removed"),
        ("1\ta\n", "a.conllu", "line 1: expected 2 columns.* in column 4"),
        ("a O\n", "a.conllu", "is not CoNLL-U in line 1"),
        ("\n\n", "a.conll", "contains no sentences"),
        ("# a\n\n", "a.conllu", "contains no sentences"),
        (b"caf\xe9 O\n", "a.conll", "must be UTF-8.*in line 1, at byte 3"),
        (b"\x1f\x8bx", "a.conll", "cannot be unpacked"),
    ],
)
def test_bad_files_are_told_by_line(tmp_path, content, name, message):
    path = write(tmp_path, content, name)
    with pytest.raises(ValueError, match=message) as info:
        read_conll(path)
    assert str(path) in str(info.value)


def test_bad_columns(tmp_path, monkeypatch):
    path = write(tmp_path, "a O\n")
    with pytest.raises(ValueError, match=r"line 1: .* in column 3"):
        read_conll(path, column=3)
    with pytest.raises(ValueError, match="`column` must be"):
        read_conll(path, column=1)
    (tmp_path / "-").write_text("a O\n")
    monkeypatch.chdir(tmp_path)
    for name in ("none.conll", "-"):  # It reads no standard input.
        with pytest.raises(FileNotFoundError, match="no CoNLL file"):
            read_conll(name)


def test_a_similar_file_is_suggested(tmp_path):
    (tmp_path / "train.conll").write_text("a O\n")
    (tmp_path / "other.txt").write_text("a O\n")
    message = r"no CoNLL file '.*train.connl'. Did you mean 'train.conll'\?"
    with pytest.raises(FileNotFoundError, match=message):
        read_conll(tmp_path / "train.connl")
