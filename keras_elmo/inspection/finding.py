import dataclasses


@dataclasses.dataclass
class Finding:
    """What a file or folder was found to be."""

    path: str
    what: str
    """What it is, in words."""
    facts: dict[str, str] = dataclasses.field(default_factory=dict)
    """Sizes and the like, by their names."""
    uses: list[str] = dataclasses.field(default_factory=list)
    """Lines of code and commands that take it."""
    problems: list[str] = dataclasses.field(default_factory=list)
    """What is wrong with it, in words."""
    loader: tuple[str, ...] = ()
    """The method of `ElmoLayer` that loads it, and its arguments, if any."""


def unreadable(path, what, *problems):
    """A `Finding` of something that is of no use as it is."""
    return Finding(path, what, problems=list(problems))


def size_of(number):
    """Returns a number of bytes as people write it."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:,} bytes"


def count_of(number):
    """Returns a number of parameters as people write it."""
    if number >= 1e6:
        return f"{number / 1e6:,.1f} million"
    return f"{number:,}"
