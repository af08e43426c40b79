"""Files of tagged sentences."""

import gzip

import pytest

from keras_elmo.text import read_conll
from keras_elmo.text.columns import read_columns
from keras_elmo.text.labelled_text import read_labelled
from keras_elmo.text.text_files import TextFile

WORDS = [["Ann", "slept", "#"], ["\u00c9t\u00e9"]]
TAGS = [["B-PER", "O", "O"], ["O"]]
CONLLU = "".join(f"{i}\tx\tx\tX\t_\t_\t0\troot\t_\t_\n" for i in (1, 2, 3))


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
    path = write(tmp_path, f"\ufeff{end}{text}{end}{end}")
    assert read_conll(path, column=3) == (WORDS, TAGS)
    assert read_conll(path, column=2)[1] == [["X"] * 3, ["X"]]


def test_words_with_spaces_and_documents(tmp_path):
    text = "-DOCSTART- -X- O\n\n1 000\tNUM\tO\n\n-DOCSTART-\t-X-\tO\n"
    path = write(tmp_path, gzip.compress(text.encode()), "a.conll.gz")
    assert read_conll(path) == ([["1 000"]], [["O"]])
    path = write(tmp_path, "a\u00a0b O\n\u00a0 O\n")  # No space of ASCII.
    assert read_conll(path) == ([["a\u00a0b", "\u00a0"]], [["O", "O"]])


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
    assert read_conll(path, column=5) == (words, [["P", "D"], ["S"]])


@pytest.mark.parametrize(
    "text",
    [
        "Ann\tB-PER\u200b \nslept \tO\u00a0\n# \t O\n \t\n\u00c9t\u00e9\tO\n",
        "Ann\tB-PER\t\nslept\tO\t\n#\tO\t\n\t\t\n\u00c9t\u00e9\tO\t\n",
        "Ann B-PER\nslept O\n# O\n\u00a0\n\ufeff\u00c9t\u00e9 O\n\n\ufeff",
    ],
)
def test_white_space_around_columns(tmp_path, text):
    assert read_conll(write(tmp_path, text)) == (WORDS, TAGS)


def test_the_column_of_the_words(tmp_path):
    text = "# id = 1\n1\tAnn\tB-PER\t_\n2\tslept\tO\t_\n3\t#\tO\t_\n\n"
    path = write(tmp_path, f"{text}# x = y\n1\t\u00c9t\u00e9\tO\t_")
    assert read_conll(path, column=3, word_column=2) == (WORDS, TAGS)
    path = write(tmp_path, "B-PER Ann\nO slept\nO #\n\nO \u00c9t\u00e9\n")
    assert read_conll(path, column=1, word_column=2) == (WORDS, TAGS)


def test_comments_before_a_sentence(tmp_path):
    text = "# id=0 domain=en\n# _ O\nAnn _ O\n\n#no word\n#y _ B-X\n\n# z\n"
    for end in ("", "#\t1\t\n"):
        with pytest.warns(match="line 1: this line is left out.* 1 such lines"):
            read = read_labelled(str(write(tmp_path, text + end)))
        assert read.words == [["#", "Ann"], ["#y"]]
        assert read.tags == [["O", "O"], ["B-X"]]
        assert [[*x.lines] for x in read.sentences] == [[2, 3], [6]]
        number = 3 + bool(end)
        assert read.reading[-1] == f"{number} comments, the first in line 1"


def test_comments_with_as_many_columns(tmp_path):
    text = "# id domain=en\nAnn _ O\n\n# id domain=de\nBo _ O\n"
    text += "\n# all domain=de\n\n#a _ B-X\n"
    path = str(write(tmp_path, text))
    with pytest.warns(match="line 1: this line is left out .* 3 such lines"):
        read, _ = read_columns(TextFile(path), keep_columns=True)
    with pytest.warns(match="left out as a comment"):
        assert read_conll(path) == (
            [["Ann"], ["Bo"], ["#a"]],
            [["O"], ["O"], ["B-X"]],
        )
    assert [[*x.lines] for x in read] == [[2], [5], [9]]
    rows = [["Ann", "_", "O"]], [["Bo", "_", "O"]], [["#a", "_", "B-X"]]
    assert [x.columns for x in read] == [*rows]
    # A column that is empty in the first row is one if the labels are not last.
    for text, column, rows in (
        ("a\tX\t\nb\tY\n", None, [["a", "X"], ["b", "Y"]]),
        ("a\tX\t\nb\tY\tz\n", 2, [["a", "_", "X"], ["b", "z", "Y"]]),
    ):
        file = TextFile(write(tmp_path, text))
        ((read,), _) = read_columns(file, column, keep_columns=True)
        assert read.columns == rows


def test_one_separator_for_the_whole_file(tmp_path):
    """A line without the tabs of most lines is a comment, or is refused."""
    rows = "#Text=Hi you\nAnn\tB-X\n#1 a comment\n# x\tO\n\n-DOCSTART- O\n"
    path = write(tmp_path, f"{rows}New York\tB-Y\n")
    words = [["Ann", "# x"], ["New York"]]
    assert read_conll(path) == (words, [["B-X", "O"], ["B-Y"]])
    path = write(tmp_path, f"{rows}New York\nBo\tO\nCy\tO\n")
    with pytest.raises(
        ValueError, match=r"line 7: expected a tab .*'New York'"
    ):
        read_conll(path)
    path = write(tmp_path, "a B-X\nb O\nc\tO\n")
    assert read_conll(path) == ([["a", "b", "c"]], [["B-X", "O", "O"]])


@pytest.mark.parametrize("name", ["a.conllup", "a.conllu", "a.txt"])
def test_conllu_plus(tmp_path, name):
    head = "# global.columns = ID FORM UPOS X:NER lemma\n1-2\tdu\t_\t_\t_\n"
    rows = "1\tde\tADP\tO\tde\n2\tle\tDET\tB-X\tle\n"
    path = write(tmp_path, f"{head}{rows}", name)
    tags = ["ADP", "DET"] if name == "a.conllu" else ["O", "B-X"]
    assert read_conll(path) == ([["de", "le"]], [tags])
    assert read_conll(path, column=5)[1] == [["de", "le"]]
    text = "# global.columns = LEMMA FORM X\n#\n#\t.\tO\nb\ta\tX\n"
    path = write(tmp_path, text, "a.conllup")
    assert read_conll(path) == ([["a"]], [["X"]])


def test_what_may_be_wrong_causes_one_warning(tmp_path):
    header = "Wort\tArt\n" + "a\tA\nb\tB\n\n" * 500
    long = "a O\nb O\n\n" + "a O\nb O\n" * 501
    for text, told in (
        (header, r"line 1: is \['Wort', 'Art'\] a header"),
        (long, "line 4: .* of 1,002 words"),
    ):
        path = write(tmp_path, text)
        with pytest.warns(UserWarning, match=told) as found:
            read_conll(path)
        assert len(found) == 1


def test_other_columns_of_labels_are_in_the_report(tmp_path):
    text = "a B-X O B-Y k\nb O O O -\n"
    *reading, more = read_labelled(str(write(tmp_path, text)), 4).reading
    assert reading == ["words in column 1", "labels in column 4"]
    assert more == "more labels in 2"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("a O\n\nb\n", "a", r"line 3: expected 2 [^#]*, as in line 1\. R"),
        ("a\n", "a", r"line 1: expected a word and its label,.*: \['a'\]"),
        ("a O\n# id 5 x\n", "a", "line 2: .*comment, move it to the st"),
        ("a\t\tO\nbc\tO\n", "a", r"line 2: .*tr -s '\\t' <.*: \['bc'"),
        ("a\tO\nb\t\n", "a", r"line 2: .*no label in column 2\..*\['b', ''\]"),
        ("a\tO\n\tO\n", "a", r"line 2: .*no word in column 1\..*\['', 'O'\]"),
        ("a b\tO\nc d\tX\n", "a", "by spaces or by tabs, .*tr ' '"),
        ("a b\tX O\nc d\tO Y\n", "a", "has a sentence and its labels. .*pyth"),
        ("token\tNER_tag\na\tO\n", "a", "line 1: it is a header. Remove"),
        ("TOKEN\tNE-X\t_\n# id\na\tO\n", "a", "line 3: .*may be a header"),
        ("a O\rb O\r", "a", r"lines that end in CR alone: tr '\\r' '\\n' <"),
        ("word,tag\na,O\nb,X\nc,O\n\nd,O\n", "a", "separated by commas. .*csv"),
        ('[\n {"text": "a"}]\n', "a.json", "is JSON. .* ends in .jsonl"),
        (CONLLU, "a.conll", "is CoNLL-U: let its name end in .conllu"),
        ("a|N|O b|V|O\nc|N|O d|V|O\n", "a", "labels joined to .*sed"),
        ("T1\tPER 0 3\tAnn\nT2\tPER 4 6\tBo\n", "a", "as brat writes them"),
        ("id,text\n1,a b\n2,a b c\n", "a.csv", "separated by commas. .*csv"),
        ("<START:x> a <END> b\n" * 3, "a", "has <START:person> .*B-person"),
        ("# a\n\n# b\n", "a.conll", "contains no sentences"),
    ],
)
def test_bad_files_are_told_by_line(tmp_path, content, name, message):
    path = write(tmp_path, content, name)
    with pytest.raises(ValueError, match=f"'{path}'.*{message}"):
        read_conll(path)


WORDS_1, WORDS_2 = "words in column 1,", "words in column 2,"
LABELS_2, LABELS_3 = "labels in column 2,", "labels in column 3,"
BOTH = "words in column 1 and labels in column 4,"


@pytest.mark.parametrize(
    ("content", "expected", "shown"),
    [
        ("1 a O\n2 b X\n\n1 c O\n", WORDS_1, "1: 1, 2 (counts the words)"),
        ("# x\n0 a O\n1-2 b _\n1 b O\n2 c O\n", WORDS_1, "1-2, 1 (counts the"),
        ("1-1 a O\n1-2 b X\n\n2-1 c O\n", WORDS_1, "2-1 (counts the words); "),
        ("O a\nB-X b\n", WORDS_1, "column 1: O, B-X (labels of entities); col"),
        ("x/y 1 a O\nx/y 2 b O\nx/y 3 c O\n", WORDS_1, "1: x/y (one value);"),
        ("x a O\nx b O\nx c O\n\ny a O\n", WORDS_1, "x, y (one value in eac"),
        ("1 2 A\n2 1 B\n" * 6, WORDS_1, "column 1: 1, 2 (numbers); column 2"),
        (CONLLU.replace("x", "_"), WORDS_2, "column 2: _ (one value)"),
        ("a\tSome text\nb\tAny text\nc\tX\n", LABELS_2, "(text with spaces)"),
        ("a\tO\t-\nb\tX\t-\n", LABELS_3, "column 3: - (one value). Choose"),
        ("a\tB-X\tk\nb\tO\t-\n", LABELS_3, "2: B-X, O (labels of entities); "),
        ("a\tB-X y\t-\nb\tO\tk\n", LABELS_3, "B-X y, O (labels of entities); "),
        ("a x A\nb x B\na x C\n" * 17, LABELS_3, "column 3: A, B, C (labels)"),
        ("1 a O _\n2 b B-X _\n", BOTH, "3: O, B-X (labels of entities); col"),
    ],
)
def test_columns_that_do_not_fit_are_shown(tmp_path, content, expected, shown):
    """All of them, so that you can choose."""
    is_conllu = content.count("_") > 9
    path = write(tmp_path, content, "a.conllu" if is_conllu else "a.conll")
    with pytest.raises(ValueError) as error:
        read_conll(path)
    said = str(error.value)
    assert f": expected {expected} but found column 1: " in said
    assert shown in said
    assert ". Choose with `word_column` and `column`. Received: [" in said


@pytest.mark.parametrize(
    ("content", "column", "word_column"),
    [
        ("a,b x,y O\nc,d x,y O\ne,f x,y O\n", None, None),
        ("Text NN\nform NN\n", None, None),  # It looks like a header.
        ("1 a O\n3 b O\n", None, None),  # Not counted.
        ("1 CD\ncat NN\n", None, None),
        ("1 O\n2 O\n", None, 1),  # As the user says.
        ("B-12 NN\nis V\n", None, None),
        ("I PRON\n", None, None),
        ("a\tX\t-\nb\tX\t\nc\tY\t-\n", 2, None),
        ("a b O\nc  O\n".replace(" O", "\tO"), None, None),
        ("a a O\nb b O\na a O\n\na X O\na X O\n", None, None),
        ("#tag HT\nis V\n\n#other HT\nis V\n", None, None),
        ("#tag HT\nis V\n\n# HT\nis V\n", None, None),
        ("text tag\n\na O\n", None, None),  # A header has no empty line.
    ],
)
def test_what_looks_odd_but_is_right(tmp_path, content, column, word_column):
    path = write(tmp_path, content)
    words = [row for row in content.splitlines() if row]
    found, _ = read_conll(path, column=column, word_column=word_column)
    assert sum(map(len, found)) == len(words)


def test_bad_columns(tmp_path):
    path = write(tmp_path, "a O\n")
    for columns, told in (
        ({"column": 3}, "line 1: `column` must be one of its columns"),
        ({"word_column": 2}, "`word_column` and `column` must be different"),
        ({"column": 0}, "`column` must be an integer of at least 1"),
        ({"word_column": 0}, "`word_column` must be an integer of at least 1"),
    ):
        with pytest.raises(ValueError, match=told):
            read_conll(path, **columns)


def test_there_must_be_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("-", "train.conll", "other.txt"):
        write(tmp_path, "a O\n", name)
    for name, told in (
        ("-", "no CoNLL file '-'"),  # It reads no standard input.
        ("train.connl", r"no CoNLL .*Did you mean 'train\.conll'\?"),
    ):
        with pytest.raises(FileNotFoundError, match=told):
            read_conll(name)
