"""What is not the file that its name promises."""

import os
import re

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.files.untrusted_files import UntrustedFile

HDF5 = b"\x89HDF\r\n\x1a\n"
ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"
_LFS = b"version https://git-lfs.github.com/spec/"
_HTML = re.compile(rb"\s*(<!doctype html|<html|<\?xml)", re.IGNORECASE)


def first_bytes(path, number=4096):
    """Returns the first bytes of a file."""
    with open(path, "rb") as file:
        return file.read(number)


def tell_damage(path):
    """Says what is wrong with a file whatever it is to be; or `None`."""
    if not os.path.isfile(path):
        is_there = os.path.exists(path)
        return "is not a regular file" if is_there else "is not there"
    try:
        start = first_bytes(path)
    except OSError as error:
        return f"cannot be read: {error}"
    if not start:
        return "is empty (0 bytes)"
    if start.startswith(_LFS):
        size = re.search(rb"size (\d+)", start)
        of = f" of {int(size.group(1)):,} bytes" if size else ""
        return (
            f"is a Git LFS pointer, not the file{of} itself: run `git lfs "
            "pull` where it was cloned, or download the file from its page"
        )
    if _HTML.match(start):
        return (
            "is a web page saved in place of the file, as when a link asks for "
            "a login or is gone: open the link in a browser and download again"
        )
    if start.startswith(HDF5):
        return _tell_damaged_hdf5(path)
    if path.endswith((".hdf5", ".h5")):
        return f"is no HDF5 file: it begins with {start[:12]!r}"
    return None


def _tell_damaged_hdf5(path):
    try:
        with open_hdf5(path):
            return None
    except UntrustedFile as error:
        return f"is not read: {error}"
    except Exception as error:  # h5py raises errors of every kind.
        size = os.path.getsize(path)
        whole = re.search(r"stored_eof = (\d+)", str(error))
        if whole and int(whole.group(1)) > size:
            return (
                f"is cut off: {size:,} bytes of {int(whole.group(1)):,}. "
                "Download it again"
            )
        return f"is a damaged HDF5 file; h5py says: {error}"
