"""Reads pickles of plain data without Python's pickle module.

The pickle module calls any function that a file names, and trusts the sizes in
the file. Here, a file can name only what the caller lists, and no object is
larger than a few times the file.
"""

import pickle
import struct


class Named:
    """What a pickle may name: a constant or, with `call`, a function."""

    def __init__(self, value=None, call=None):
        self.value = value
        self.call = call


def load_pickle(data, position, names, load_persistent=None):
    """Reads one pickle, of protocol 2 or lower.

    Args:
        data: Bytes that contain it.
        position: Integer, its start.
        names: Dictionary from `(module, name)` to `Named`.
        load_persistent: Function that returns the object for a persistent id.

    Returns:
        The object, and the position after it.

    Raises:
        ValueError: If it is corrupt, or contains anything else.
    """
    reader = _Reader(data, position, names, load_persistent)
    try:
        return reader.read(), reader.position
    except (IndexError, KeyError, TypeError, struct.error) as error:
        raise ValueError(
            f"it is truncated or corrupt at byte {reader.position}"
        ) from error


class _Reader:
    def __init__(self, data, position, names, load_persistent):
        self.position = position
        self._data = data
        self._names = names
        self._load_persistent = load_persistent
        self._stack = []
        self._marks = []  # The stacks before each MARK.
        self._memo = {}

    def read(self):
        while True:
            code = self._take(1)
            if code == pickle.STOP:
                return self._stack.pop()
            if code not in _ACTIONS:
                raise ValueError(
                    f"it has the pickle opcode {code!r}, which a state dict "
                    "does not need"
                )
            _ACTIONS[code](self)

    def push(self, value):
        self._stack.append(value)

    def push_number(self, layout):
        (value,) = struct.unpack(layout, self._take(struct.calcsize(layout)))
        self.push(value)

    def push_long(self):
        size = self._take(1)[0]
        self.push(int.from_bytes(self._take(size), "little", signed=True))

    def push_text(self):
        size = int.from_bytes(self._take(4), "little")
        self.push(self._take(size).decode("utf-8", "surrogatepass"))

    def push_named(self):
        name = (self._line(), self._line())
        if name not in self._names:
            raise ValueError(
                f"it names '{'.'.join(name)}', which a state dict does not need"
            )
        self.push(self._names[name])

    def push_persistent(self):
        if self._load_persistent is None:
            raise ValueError("it has a misplaced persistent id")
        self.push(self._load_persistent(self._stack.pop()))

    def push_tuple(self, number):
        items = tuple(self._stack[len(self._stack) - number :])
        if len(items) != number:
            raise IndexError
        del self._stack[len(self._stack) - number :]
        self.push(items)

    def mark(self):
        self._marks.append(self._stack)
        self._stack = []

    def take_marked(self):
        items, self._stack = self._stack, self._marks.pop()
        return items

    def push_marked_tuple(self):
        items = tuple(self.take_marked())
        self.push(items)

    def remember(self, size):
        self._memo[int.from_bytes(self._take(size), "little")] = self._stack[-1]

    def recall(self, size):
        self.push(self._memo[int.from_bytes(self._take(size), "little")])

    def call(self):
        arguments, function = self._stack.pop(), self._stack.pop()
        if not isinstance(function, Named) or function.call is None:
            raise ValueError("it calls something that is not a known function")
        if not isinstance(arguments, tuple):
            raise TypeError
        self.push(function.call(*arguments))

    def set_items(self, items):
        target = self._stack[-1]
        if not isinstance(target, dict) or len(items) % 2:
            raise TypeError
        for key, value in zip(items[::2], items[1::2]):
            # Python's hash of deeply nested tuples recurses without limit.
            if not isinstance(key, (str, int)):
                raise ValueError("it has a dictionary key that is not a name")
            target[key] = value

    def append(self, items):
        if not isinstance(self._stack[-1], list):
            raise TypeError
        self._stack[-1].extend(items)

    def leave_out_attributes(self):
        # State dicts have attributes; the tensors are in the items.
        self._stack.pop()
        if not isinstance(self._stack[-1], dict):
            raise ValueError("it sets attributes of a non-dictionary")

    def set_item(self):
        value, key = self._stack.pop(), self._stack.pop()
        self.set_items([key, value])

    def _take(self, size):
        end = self.position + size
        if end > len(self._data):
            raise IndexError
        taken = bytes(self._data[self.position : end])
        self.position = end
        return taken

    def _line(self):
        end = self._data.find(b"\n", self.position, self.position + 256)
        if end < 0:
            raise IndexError
        line = self._data[self.position : end].decode("utf-8")
        self.position = end + 1
        return line


_ACTIONS = {
    pickle.PROTO: lambda r: r._take(1),
    pickle.NONE: lambda r: r.push(None),
    pickle.NEWTRUE: lambda r: r.push(True),
    pickle.NEWFALSE: lambda r: r.push(False),
    pickle.BININT: lambda r: r.push_number("<i"),
    pickle.BININT1: lambda r: r.push_number("<B"),
    pickle.BININT2: lambda r: r.push_number("<H"),
    pickle.BINFLOAT: lambda r: r.push_number(">d"),
    pickle.LONG1: _Reader.push_long,
    pickle.BINUNICODE: _Reader.push_text,
    pickle.GLOBAL: _Reader.push_named,
    pickle.BINPERSID: _Reader.push_persistent,
    pickle.EMPTY_TUPLE: lambda r: r.push(()),
    pickle.EMPTY_LIST: lambda r: r.push([]),
    pickle.EMPTY_DICT: lambda r: r.push({}),
    pickle.TUPLE1: lambda r: r.push_tuple(1),
    pickle.TUPLE2: lambda r: r.push_tuple(2),
    pickle.TUPLE3: lambda r: r.push_tuple(3),
    pickle.MARK: _Reader.mark,
    pickle.TUPLE: _Reader.push_marked_tuple,
    pickle.BINPUT: lambda r: r.remember(1),
    pickle.LONG_BINPUT: lambda r: r.remember(4),
    pickle.BINGET: lambda r: r.recall(1),
    pickle.LONG_BINGET: lambda r: r.recall(4),
    pickle.REDUCE: _Reader.call,
    pickle.BUILD: _Reader.leave_out_attributes,
    pickle.SETITEM: _Reader.set_item,
    pickle.SETITEMS: lambda r: r.set_items(r.take_marked()),
    pickle.APPEND: lambda r: r.append([r._stack.pop()]),
    pickle.APPENDS: lambda r: r.append(r.take_marked()),
}
