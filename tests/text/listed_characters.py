"""A small lexicon, and words to test it."""

SPECIAL = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
CHARACTERS = [*SPECIAL, *"abé今天\u3000\0\N{GRINNING FACE}"]
WORDS = ["<oov>", "<bos>", "<eos>", "<pad>", "a", "今天", "abababab", "a\0", ""]
ODD_WORDS = [
    *("", "a", "ab", "é", "e\u0301", "今天", "今", "\N{GRINNING FACE}a", "x"),
    *("<bos>", "<eos>", "<pad>", "<oov>", "<bow>", "<S>", "a\u3000b", "\0"),
    *("a\0", "\0a", "ab" * 4, "ab" * 5, "ab" * 40, "今天" * 30, "\ufeffa"),
    *(
        b"\xff\xfe",
        b"a\xe4\xbb",
        b"\xe4\xbb\x8a",
        b"\xed\xa0\x80a",
        b"\x80" * 60,
    ),
    *(b"\xf0\x9f\x98", b"\xc0\xaf", "\U0010ffff", "\x1f", "<bos>a"),
]
