"""Results as JSON, in one envelope for all commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from speedproof import __version__

# What a terminal obeys though JSON may have it bare: DEL, C1, and what turns the direction of writing.
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SCHEMA_VERSION = 5
"""Raised when a field changes its meaning or goes; new fields do not raise it."""


def to_json(command: str, results: Sequence[Any], **more: Any) -> str:
    """Results of a command as an indented JSON text."""
    envelope = {"speedproof": __version__, "schema": SCHEMA_VERSION, "command": command, "results": results}
    envelope.update(more)
    text = msgspec.json.format(msgspec.json.encode(envelope), indent=2).decode() + "\n"
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
