"""The rows of a token stream."""


class StreamRow:
    """The sentence that one row of the windows is reading."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.begin(None, [], [])

    def begin(self, place, inputs, targets, offset=0):
        self._place = place
        self._inputs = inputs
        self._targets = targets
        self._offset = offset

    @property
    def left(self):
        """How many words of the sentence are left."""
        return len(self._inputs) - self._offset

    @property
    def position(self):
        return [*self._place, self._offset]

    def take(self, most, inputs, targets):
        """Moves words to the end of both lists; returns how many."""
        end = min(self._offset + most, len(self._inputs))
        taken = end - self._offset
        inputs += self._inputs[self._offset : end]
        targets += self._targets[self._offset : end]
        self._offset = end
        return taken
