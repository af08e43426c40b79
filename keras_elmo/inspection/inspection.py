import dataclasses


@dataclasses.dataclass
class Inspection:
    """What a file or folder was found to be."""

    path: str
    what: str = "a file or folder that cannot be read"
    """What it is, in words."""
    facts: dict[str, str] = dataclasses.field(default_factory=dict)
    """Sizes and the like, by their names."""
    uses: list[str] = dataclasses.field(default_factory=list)
    """Lines of code and commands that take it."""
    problems: list[str] = dataclasses.field(default_factory=list)
    """What is wrong with it, in words."""
    model: tuple[str, ...] = ()
    """What `find_model` takes, if it is a model to load."""
