import dataclasses


@dataclasses.dataclass
class Inspection:
    """The result of inspecting a file or folder."""

    path: str
    what: str = "a file or folder that cannot be read"
    """A description of what it is."""
    facts: dict[str, str] = dataclasses.field(default_factory=dict)
    """Facts such as sizes, by name."""
    uses: list[str] = dataclasses.field(default_factory=list)
    """Lines of code and commands that use it."""
    problems: list[str] = dataclasses.field(default_factory=list)
    """Descriptions of what is wrong with it."""
    model: tuple[str, ...] = ()
    """The arguments for `find_model`, if it is a model that can be loaded."""
