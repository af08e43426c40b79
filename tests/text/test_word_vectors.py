import gzip

import numpy as np
import pytest

from keras_elmo import read_word_vectors

WORDS = ["the", "天津", "上学"]
VECTORS = np.array([[0.5, -1, 2], [1e-3, 0, 3], [4, 5.25, -6]], "float32")


def as_glove(words=WORDS, vectors=VECTORS, end="\n"):
    lines = (
        " ".join([word, *map(str, vector.tolist())])
        for word, vector in zip(words, vectors)
    )
    return "".join(line + end for line in lines).encode()


def with_header(content, words=WORDS, vectors=VECTORS):
    return f"{len(words)} {vectors.shape[1]}\n".encode() + content


def as_binary(words=WORDS, vectors=VECTORS, end=b"\n"):
    content = b"".join(
        word.encode() + b" " + vector.astype("<f4").tobytes() + end
        for word, vector in zip(words, vectors)
    )
    return with_header(content, words, vectors)


KINDS = {
    "glove": as_glove(),
    "without a last line feed": as_glove().rstrip(),
    "from windows": as_glove(end="\r\n"),
    "word2vec": with_header(as_glove()),
    "fasttext": with_header(as_glove(end=" \n")),
    "binary": as_binary(),
    "binary of gensim": as_binary(end=b""),
}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "vectors"
        path.write_bytes(content)
        return path

    return write


def check(found, words, vectors):
    assert found[0] == words
    assert found[1].dtype == "float32"
    np.testing.assert_array_equal(found[1], vectors)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packed", [False, True])
def test_each_kind_is_told_by_its_content(write, kind, packed):
    content = gzip.compress(KINDS[kind]) if packed else KINDS[kind]
    path = write(content)
    check(read_word_vectors(path), WORDS, VECTORS)
    check(read_word_vectors(str(path), limit=2), WORDS[:2], VECTORS[:2])
    with pytest.raises(ValueError, match=r"`limit` must be .* Received: "):
        read_word_vectors(str(path), limit=0)
    found = read_word_vectors(path, words=["上学", "no", "the"])
    check(found, ["the", "上学"], VECTORS[[0, 2]])
    words, vectors = read_word_vectors(path, words=["nowhere"])
    assert words == [] and vectors.shape == (0, 3)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_binary_larger_than_a_piece(write, end):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(9000, 50)).astype("float32")
    # Numbers whose bytes are spaces or line feeds.
    vectors[::7, 3] = np.frombuffer(b"    ", "<f4")
    vectors[::5, 4] = np.frombuffer(b"\n\n\n\n", "<f4")
    vectors[0, :2] = np.frombuffer(b"\n1 2\n1 2", "<f4")
    words = [f"word{i}" for i in range(9000)]
    path = write(as_binary(words, vectors, end))
    check(read_word_vectors(path), words, vectors)


def test_words_with_spaces_and_of_numbers(write):
    words = [". . .", "1 x", "2", "\xa0", "\u2028", "", "the"]
    vectors = np.arange(14, dtype="float32").reshape(7, 2)
    path = write(with_header(as_glove(words, vectors), words, vectors))
    check(read_word_vectors(path), words, vectors)
    path = write(as_glove(words[2:], vectors[2:]))
    check(read_word_vectors(path), words[2:], vectors[2:])


def test_of_a_word_that_is_there_twice_the_first_counts(write):
    path = write(b"a 1 2\nb 3 4\na 5 6\n")
    check(read_word_vectors(path), ["a", "b"], [[1, 2], [3, 4]])


def test_words_that_are_not_utf8(write):
    for content, place in [
        (b"a 1 2\n\xff\xfe 3 4\n", "line 2"),
        (with_header(b"a 1 2 3\n\xff 3 4 5\n"), "line 3"),
        (with_header(b"\xff " + b"\0" * 12), "word 1, at byte 4"),
    ]:
        path = write(content)
        with pytest.raises(ValueError, match="must be UTF-8") as info:
            read_word_vectors(path)
        assert f"'{path}', {place}: " in str(info.value)
    path = write(b"\xff 1 2\n")
    check(read_word_vectors(path, errors="replace"), ["\ufffd"], [[1, 2]])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "holds no word vectors"),
        (b"0 3\n", "holds no word vectors"),
        (b"a 1 2\nb 1\n", "line 2: there must be a word and 2 numbers"),
        (b"a 1 2\nb 1 2 3\n", "line 2: there must be a word and 2 numbers"),
        (b"a 1 2\n\nb 1 2\n", "line 2: there must be a word and 2 numbers"),
        (b"a 1 2\nb 1 x\n", "line 2: the word must be followed by numbers"),
        (b"<html>\n<head>\n", "line 1: there must be a word and numbers"),
        (b"a 1 2\nb 1 nan\n", "line 2: the numbers must be finite"),
        (b"a 1 1e39\n", "line 1: the numbers must be finite"),
        (b"3 0\na\n", "line 1: the vector size must be at least 1"),
        (b"3 2\na 1 2\n", "3 words, as its first line says; it may be trunc"),
        (b"1 2\na 1 2\nb 3 4\n", "1 words, as its first line says"),
        (
            as_binary()[:-5],
            "word 3, at byte 40: the file ends in this word, of 3 words",
        ),
        (as_binary() + b"x", "byte 60: the file must end after 3 words"),
        (b"9 3\n" + b"x" * 70000, "word 1, at byte 4: there must be a word"),
        (
            as_binary(vectors=np.full((3, 3), np.inf, "float32")),
            "word 1, at byte 4: the numb",
        ),
    ],
)
def test_what_is_wrong_is_told(write, content, told):
    path = write(content)
    with pytest.raises(ValueError) as info, np.errstate(all="ignore"):
        read_word_vectors(path)
    assert told in str(info.value)
    assert str(path) in str(info.value)


def test_bad_arguments(write, tmp_path):
    path = write(as_glove())
    with pytest.raises(ValueError, match='`errors` must be "strict" or'):
        read_word_vectors(path, errors="ignore")
    with pytest.raises(ValueError, match="`words` must be a list of words"):
        read_word_vectors(path, words="the")
    with pytest.raises(ValueError, match="`words` must be a list of words"):
        read_word_vectors(path, words=[b"the"])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_word_vectors(tmp_path / "nowhere")
    path.write_bytes(gzip.compress(as_glove())[:-12])
    with pytest.raises(ValueError, match="truncated or corrupt"):
        read_word_vectors(path)
