"""The errors that a user of speedproof can meet."""

from __future__ import annotations


class SpeedproofError(Exception):
    """Base of every error that speedproof raises on purpose; its text is fit for a user.

    Examples
    --------
    >>> import speedproof as sp
    >>> try:
    ...     sp.compare([1.0, 2.0], [3.0, 4.0], margin=2)
    ... except sp.SpeedproofError as error:
    ...     print(error)
    margin=2 does not lie between 0 and 1; do you mean 2%?
    """


class UsageError(SpeedproofError):
    """The request itself cannot be met: an unknown version, options that exclude each other."""


class DataError(SpeedproofError):
    """Measured values that no statement can be based on: none at all, not finite, of two units."""


class FormatError(SpeedproofError):
    """A file that cannot be read as what it was taken for."""

    def __init__(self, path: str, where: str, message: str) -> None:
        self.path = path
        self.where = where
        self.message = message
        super().__init__(": ".join(part for part in (path, where, message) if part))
