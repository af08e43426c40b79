"""Models of the Hugging Face hub, by the package `huggingface_hub`."""

import re

PREFIX = "hf://"
_HANDLE = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@(\S+))?/?")


def download_from_hub(handle):
    """Returns the local folder of a repository's files, downloaded once.

    Args:
        handle: `hf://user/repository`, which may be followed by `@` and a
            branch, a tag or a commit.

    Raises:
        ValueError: If it is anything else.
        ImportError: If `huggingface_hub` is not installed.
        OSError: If the download fails.
    """
    match = _HANDLE.fullmatch(handle)
    if match is None:
        raise ValueError(
            "A model of the Hugging Face hub must be hf://user/repository or "
            f"hf://user/repository@revision. Received: {handle!r}"
        )
    repository, revision = match.groups()
    try:
        import huggingface_hub
    except ImportError as error:
        raise ImportError(
            f"'{handle}' needs the package huggingface_hub: "
            "pip install huggingface_hub"
        ) from error
    try:
        return huggingface_hub.snapshot_download(repository, revision=revision)
    except Exception as error:
        # Its own errors, those of its HTTP library and of the disk.
        raise OSError(
            f"The download of {handle} failed. If you can get its files "
            "another way, put them in a folder and pass that. "
            f"The error was: {error}"
        ) from error
