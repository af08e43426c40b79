import contextlib
import io

import h5py


@contextlib.contextmanager
def create_hdf5(path):
    """Opens a new HDF5 file, safe against a disk that becomes full.

    HDF5 loses data without a word, or crashes, when a write fails. Here it
    never learns of that, but the context does.

    Yields:
        The `h5py.File`, and a function that raises the error of the first
        write that failed. To be called now and then, so as not to go on in
        vain; at the end it is called in any case.
    """
    with _CheckedFile(path, "w+") as file:
        with h5py.File(file, "w") as store:
            yield store, file.check
        file.check()


class _CheckedFile(io.FileIO):
    _error: BaseException | None = None

    def check(self):
        if self._error is not None:
            raise self._error

    def write(self, data):
        rest = memoryview(data).cast("B")
        with self._errors_kept():
            while rest:
                rest = rest[super().write(rest) :]
        return len(data)

    def truncate(self, size=None):
        with self._errors_kept():
            super().truncate(size)
        return size

    @contextlib.contextmanager
    def _errors_kept(self):
        try:
            yield
        except BaseException as error:  # An interruption, too.
            self._error = self._error or error
