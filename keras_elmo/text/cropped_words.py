class CroppedWords:
    """Counts the words of a corpus that are too long for the model.

    Args:
        vectorization: The model's `WordVectorization`, or `None` if it crops
            no words.
        max_words: Integer, how many distinct words to count individually;
            further words are only counted in `total`.
    """

    def __init__(self, vectorization, max_words=10_000):
        self.total = 0
        self._vectorization = vectorization
        self._max_words = max_words
        self._words = {}  # From a word to its count and first sentence.

    def add(self, index, tokens):
        """Counts a sentence; returns its cropped `(token index, word)`."""
        if self._vectorization is None:
            return []
        cropped = [
            (i, word)
            for _, i, word in self._vectorization.find_cropped_words([tokens])
        ]
        for _, word in cropped:
            self.total += 1
            # Do not keep very long words in memory.
            start = word[:100]
            if start in self._words:
                self._words[start][0] += 1
            elif len(self._words) < self._max_words:
                self._words[start] = [1, index]
        return cropped

    def most_frequent(self, number):
        """Returns up to `number` tuples `(word, count, index of its first
        sentence)`. Very long words are truncated."""
        ordered = sorted(self._words.items(), key=lambda item: -item[1][0])
        return [(word, *counts) for word, counts in ordered[:number]]
