"""What a command is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from msgspec import Struct

from speedproof.declaring import refuse


class CommandOptions(Struct, frozen=True, kw_only=True):
    """What a command is asked; its fields are declared as those of :mod:`speedproof.options`."""

    given: Mapping[str, str]  # which options were given, as written
    argv: Sequence[str]  # the whole command line

    def refuse(self, *names: str, because: str) -> None:
        """Say which of these options were given though they would change nothing; ``because`` tells why."""
        refuse(self.given, *names, because=because)


def handed(function: Callable[..., object], *parts: Struct) -> dict[str, Any]:
    """What a function takes of options: those that are called as its arguments."""
    names = [p.name for p in signature(function).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    return {name: getattr(part, name) for part in parts for name in part.__struct_fields__ if name in names}
