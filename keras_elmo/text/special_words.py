"""The words with a special meaning in biLMs."""

BEGIN_SENTENCE = b"<S>"
END_SENTENCE = b"</S>"
UNKNOWN = b"<UNK>"
