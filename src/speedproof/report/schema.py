"""The JSON Schema of what ``--json`` prints, from the types themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import msgspec

from speedproof.report.json import SCHEMA_VERSION

_REFERENCE = "#/$defs/{name}"


def json_schema(
    results: Mapping[str, Sequence[Any]], attached: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """One schema for all commands."""
    attached = attached or {}
    types = [kind for kinds in results.values() for kind in kinds]
    types += [kind for kinds in attached.values() for kind in kinds.values()]
    schemas, definitions = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    found: Iterator[dict[str, Any]] = iter([_nullable(schema) for schema in schemas])
    items = {command: [next(found) for _ in kinds] for command, kinds in results.items()}
    more = {command: {name: next(found) for name in kinds} for command, kinds in attached.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What speedproof prints with --json",
        "description": f"Version {SCHEMA_VERSION} of the format. New fields do not raise the version: "
        "readers should pass over fields that they do not know.",
        "anyOf": [_document(command, kinds, more.get(command, {})) for command, kinds in items.items()],
        "$defs": {name: _nullable(schema) for name, schema in definitions.items()},
    }


def _document(command: str, items: list[dict[str, Any]], more: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": f"speedproof {command} --json",
        "type": "object",
        "properties": {
            "speedproof": {"type": "string", "description": "The version that printed it."},
            "schema": {"const": SCHEMA_VERSION},
            "command": {"const": command},
            "results": {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}},
            **more,
        },
        "required": ["speedproof", "schema", "command", "results"],
    }


def _nullable(schema: Any) -> Any:
    """Allow ``null`` for every number; docstrings without the indentation that they have in code."""
    if isinstance(schema, dict):
        found = {key: _nullable(value) for key, value in schema.items()}
        if found.get("type") == "number":
            found["type"] = ["number", "null"]
        if isinstance(found.get("description"), str):
            found["description"] = cleandoc(found["description"])
        return found
    return [_nullable(item) for item in schema] if isinstance(schema, list) else schema
