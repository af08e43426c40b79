import pytest
from reading import as_scheme
from reading import read_tagged


@pytest.fixture
def write(tmp_path):
    def write(text, name="file.conll"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_columns_apart_by_tabs(write):
    path = write("Ann\tB-per\n#1\tO\n\t\n\n\nhe\tO\r\na b\tO\n")
    first, second = read_tagged(path)
    assert first == (["Ann", "#1"], ["B-per", "O"], [1, 2])
    assert second == (["he", "a b"], ["O", "O"], [6, 7])


def test_columns_apart_by_spaces_are_chosen(write):
    text = "-DOCSTART- -X- -X- O\n\nEU NNP I-NP I-ORG\nis VBZ I-VP O\n"
    path = write("\ufeff" + text)
    (sentence,) = read_tagged(path)
    assert sentence == (["EU", "is"], ["I-ORG", "O"], [3, 4])
    (sentence,) = read_tagged(path, word_column=1, tag_column=2)
    assert sentence[:2] == (["NNP", "VBZ"], ["I-NP", "I-VP"])


def test_conllu_as_its_own_package_reads_it(shared):
    conllu = pytest.importorskip(
        "conllu", reason="conllu, of the extra `dev`, is not installed."
    )
    path = shared / "data/ud_english_ewt/dev.conllu"
    expected = [
        [(w["form"], w["upos"]) for w in s if isinstance(w["id"], int)]
        for s in conllu.parse(path.read_text(encoding="utf-8"))
    ]
    found = [list(zip(s.words, s.tags)) for s in read_tagged(path)]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a\tO\nb\n", "x.conll", r"line 2: there must be 2 columns.*'b'"),
        ("a O\nb O O\n", "x.conll", r"line 2: there must be 2 columns"),
        ("a\n", "x.conll", r"line 1: the tag must be in column 1.*1 columns"),
        ("a\tO\n\tO\n", "x.conll", r"line 2: the word is empty"),
        ("a\tO\nb\t\n", "x.conll", r"line 2: the tag is empty"),
        (b"a\tO\n\n\xff\tO\n", "x.conll", r"line 3: not UTF-8 at byte 0"),
        ("# c\n1\ta\n", "x.conllu", r"line 2: CoNLL-U has 10 columns"),
        ("\n\n", "x.conll", "contains no tagged sentences"),
    ],
)
def test_bad_files_are_told_by_line(write, text, name, message):
    with pytest.raises(ValueError, match=message):
        read_tagged(write(text, name), tag_column=1)


def read_as(write, tags, scheme):
    path = write("".join(f"w\t{tag}\n" for tag in tags.split()))
    (sentence,) = as_scheme(path, read_tagged(path), scheme)
    return " ".join(sentence.tags)


def test_iob1_becomes_bio(write):
    tags = "I-A I-A O I-A I-B B-B I-B O B-A"
    bio = "B-A I-A O B-A B-B B-B I-B O B-A"
    assert read_as(write, tags, "IOB1") == bio
    assert read_as(write, bio, "BIO") == bio


@pytest.mark.parametrize(
    ("tags", "scheme", "message"),
    [
        ("O I-A", "BIO", "line 2: 'I-A' continues .* after 'O'"),
        ("B-A I-B", "BIO", "line 2: 'I-B' continues .* after 'B-A'"),
        (
            "O S-A",
            "BIO",
            "line 2: a tag of the scheme BIO must be 'O', 'B-...'",
        ),
        ("NOUN", "BIO", "line 1: a tag of the scheme"),
        ("O B-", "BIO", "line 2: a tag of the scheme"),
        ("B-A O", "BIOES", "line 2: 'O' comes after 'B-A', whose span has not"),
        ("S-A B-A", "BIOES", "line 2: 'O' comes after 'B-A'"),
        ("S-A E-A", "BIOES", "line 2: 'E-A' continues"),
        ("O B-A I-A S-A", "BIOES", "line 4: 'S-A' comes after 'I-A'"),
    ],
)
def test_tags_that_break_the_scheme_are_told(write, tags, scheme, message):
    with pytest.raises(ValueError, match=message):
        read_as(write, tags, scheme)


def test_a_good_bioes_passes(write):
    tags = "S-A B-A I-A E-A O B-B E-B S-B"
    assert read_as(write, tags, "BIOES") == tags
    assert read_as(write, "NOUN VERB", "none") == "NOUN VERB"


def test_wnut_is_bio(shared):
    path = shared / "data/wnut17/train.conll"
    sentences = as_scheme(path, read_tagged(path), "BIO")
    assert len(sentences) == 3394
    assert sum(len(s.words) for s in sentences) == 62730
