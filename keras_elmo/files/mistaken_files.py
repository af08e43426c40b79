"""Recognises what is often found instead of a model file."""

import re

_LFS = b"version https://git-lfs.github.com/spec/"
_HTML = re.compile(rb"\s*(<!doctype html|<html)", re.IGNORECASE)


def describe_mistaken(start):
    """Describes a file that is not a model file, in a clause; or `None`.

    Args:
        start: The first bytes of the file, at least a few hundred.
    """
    if not start:
        return "it is empty (0 bytes)"
    if start.startswith(_LFS):
        size = re.search(rb"size (\d+)", start)
        of = f" of {int(size.group(1)):,} bytes" if size else ""
        return (
            f"it is a Git LFS pointer, not the file{of} itself: run `git lfs "
            "pull` where it was cloned, or download the file from its page"
        )
    if _HTML.match(start):
        return (
            "it is a web page saved instead of the file, for example because "
            "the link needs a login or no longer works: open the link in a "
            "browser and download the file again"
        )
    return None
