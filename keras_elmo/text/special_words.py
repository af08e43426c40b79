"""The words of biLMs that stand for something else than themselves."""

BEGIN_SENTENCE = b"<S>"
END_SENTENCE = b"</S>"
UNKNOWN = b"<UNK>"
