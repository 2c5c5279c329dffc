"""Results as JSON, in one envelope for all commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from speedproof import __version__

SCHEMA_VERSION = 3
"""Raised when a field changes its meaning or goes; new fields do not raise it."""


def to_json(command: str, results: Sequence[Any], **more: Any) -> str:
    """Results of a command as an indented JSON text."""
    envelope = {"speedproof": __version__, "schema": SCHEMA_VERSION, "command": command, "results": results}
    envelope.update(more)
    return msgspec.json.format(msgspec.json.encode(envelope), indent=2).decode() + "\n"
