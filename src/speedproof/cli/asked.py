"""What a command is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from speedproof.declaring import refuse


class CommandOptions(Struct, frozen=True, kw_only=True):
    """What a command is asked; its fields are declared as those of :mod:`speedproof.options`."""

    given: Mapping[str, str]  # which options were given, as written
    argv: Sequence[str]  # the whole command line

    def refuse(self, *names: str, because: str) -> None:
        """Say which of these options were given though they would change nothing; ``because`` tells why."""
        refuse(self.given, *names, because=because)
