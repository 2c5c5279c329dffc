"""The errors that a user of speedproof can meet."""

from __future__ import annotations

from typing import NamedTuple


class Parameter(NamedTuple):
    """A parameter named in a message: a keyword argument in Python, an option on the command line."""

    name: str
    value: object = None  # True of a flag; None where every value is meant
    written: str = ""  # the option with its value, where it is not written as the argument is

    def __str__(self) -> str:
        return f"{self.name}={'' if self.value is None else repr(self.value)}"

    @property
    def option(self) -> str:
        """The spelling on the command line."""
        value = "" if self.value is None or self.value is True else f" {self.value}"
        return f"--{self.written or self.name.replace('_', '-') + value}"


class SpeedproofError(Exception):
    """Base of every error that speedproof raises on purpose; its text is fit for a user.

    It is made of texts and of the parameters that cure it, which are called as in Python; the command line calls
    them as options.

    Examples
    --------
    >>> import speedproof as sp
    >>> try:
    ...     sp.compare([1.0, 2.0], [3.0, 4.0], margin=2)
    ... except sp.SpeedproofError as error:
    ...     print(error)
    margin=2 does not lie between 0 and 1; do you mean 2%?
    """

    def __init__(self, *parts: str | Parameter) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    def on_command_line(self) -> str:
        """The text for somebody who gave a command."""
        return "".join(part.option if isinstance(part, Parameter) else str(part) for part in self.args)


class UsageError(SpeedproofError):
    """The request itself cannot be met: an unknown version, options that exclude each other."""


class DataError(SpeedproofError):
    """Measured values that no statement can be based on: none at all, not finite, of two units."""


class FormatError(SpeedproofError):
    """A file that cannot be read as what it was taken for."""

    def __init__(self, path: str, where: str, *message: str | Parameter) -> None:
        self.path = path
        self.where = where
        self.parts = message
        super().__init__(*(f"{place}: " for place in (path, where) if place), *message)

    @property
    def message(self) -> str:
        """The message without the place."""
        return "".join(map(str, self.parts))

    def __reduce__(self) -> tuple[type[FormatError], tuple[str | Parameter, ...]]:
        return type(self), (self.path, self.where, *self.parts)


class UnknownFormatError(FormatError):
    """A file that no reader knows: no results, or those of a tool that is not read."""


def cause(error: OSError) -> str:
    """What the system says of a failure."""
    return "no such file" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
