"""Models on the Hugging Face Hub, with the package `huggingface_hub`."""

import re

PREFIX = "hf://"
_HANDLE = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@(\S+))?/?")


def download_from_hub(handle):
    """Returns the local folder of a repository's files, downloaded once.

    Args:
        handle: `hf://user/repository`, optionally followed by `@` and a branch,
            tag or commit.

    Raises:
        ValueError: If the handle has another form.
        ImportError: If `huggingface_hub` is not installed.
        OSError: If the download fails.
    """
    match = _HANDLE.fullmatch(handle)
    if match is None:
        raise ValueError(
            "A model on the Hugging Face Hub must be hf://user/repository or "
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
        # It raises its own errors, and those of its HTTP library and the disk.
        raise OSError(
            f"The download of {handle} failed. If you can get its files "
            "another way, put them in a folder and pass its path. "
            f"The error was: {error}"
        ) from error
