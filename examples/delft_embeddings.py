"""Gives DeLFT 0.4 and 0.5 the ELMo vectors that releases up to 0.3.4 had.

`EmbeddingsWithElmo` has the names and results of DeLFT 0.3.4's `Embeddings`
with `use_ELMo`. docs/migrating/delft.md shows where DeLFT calls it. Tested
without DeLFT; it has not been run inside it.
"""

import numpy as np


class EmbeddingsWithElmo:
    """Static word vectors, with ELMo's vectors in front of them.

    For each token, this is the average of ELMo's layers, then the word's static
    vector. Digits are not normalised before it is looked up. The vectors of
    each sentence are kept in memory; for a large corpus, replace the dictionary
    by `shelve` or LMDB.

    Args:
        embeddings: DeLFT's `Embeddings`, or any object that has
            `static_embed_size` and `get_word_vector(word)`.
        embedder: An `ElmoEmbedder` with `layers="average"`.
    """

    use_ELMo = True

    def __init__(self, embeddings, embedder):
        self.embeddings = embeddings
        self.embedder = embedder
        self.static_embed_size = embeddings.static_embed_size
        self.elmo_size = embedder.embed_sentence(["word"]).shape[-1]
        self.embed_size = self.elmo_size + self.static_embed_size
        self._vectors = {}  # of the sentences that were embedded before

    def get_word_vector(self, word):
        return self.embeddings.get_word_vector(word)

    def get_sentence_vector_only_ELMo(self, token_list, length=0):
        """Returns `(batch, tokens, elmo_size)`, zero at padding.

        Args:
            token_list: List of sentences, each a list of tokens.
            length: Integer, the least number of tokens to pad to. DeLFT's CRF
                needs two.
        """
        sentences = [tuple(tokens) for tokens in token_list]
        new = [s for s in dict.fromkeys(sentences) if s not in self._vectors]
        self._vectors.update(zip(new, self.embedder.embed_sentences(new)))
        length = max([length, *map(len, sentences)])
        result = np.zeros((len(sentences), length, self.elmo_size), "float32")
        for row, sentence in zip(result, sentences):
            row[: len(sentence)] = self._vectors[sentence]
        return result

    def get_sentence_vector_with_ELMo(self, token_list, length=0):
        """Returns `(batch, tokens, embed_size)`, zero at padding."""
        elmo = self.get_sentence_vector_only_ELMo(token_list, length)
        static = np.zeros((*elmo.shape[:2], self.static_embed_size), "float32")
        for row, tokens in zip(static, token_list):
            for vector, token in zip(row, tokens):
                vector[:] = self.get_word_vector(token)
        return np.concatenate([elmo, static], axis=-1)
