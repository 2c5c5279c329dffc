"""Write docs/schema.json, the JSON Schema of what every ``--json`` prints.

Run ``python docs/json_schema.py`` after a change of a result's type; a test fails while the file is out of date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from inspect import cleandoc, getsource
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
import msgspec.inspect
from msgspec import defstruct

from speedproof.api.session_results import SessionOrigin
from speedproof.conclude.gate import GateDecision
from speedproof.conclude.suite import FOLLOWING, SuiteComparison
from speedproof.corpus.changes import CorpusChanges
from speedproof.corpus.conclude import Conclusion
from speedproof.corpus.model import CorpusModels
from speedproof.corpus.read import CorpusInfo
from speedproof.data.notes import Note
from speedproof.history.alarms import ExportedAlarms
from speedproof.history.rows import Added, QueriedSample
from speedproof.mixture.results import Analysis, Indices
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.hpt import HptClaims
from speedproof.protocols.inputs import OverInputs
from speedproof.protocols.modes import JointModel, ModeComparison
from speedproof.protocols.planning import Calibration, PowerPlan, RunPlan
from speedproof.protocols.ranking import RunRanking
from speedproof.protocols.results import Hpt, SuiteRanking
from speedproof.protocols.speedup_test import SuiteReport
from speedproof.protocols.why import Why
from speedproof.reporting.bisection import ExportedBisection
from speedproof.reporting.history_results import ExportedHistory
from speedproof.reporting.model import SCHEMA_VERSION
from speedproof.reporting.stored import Context, StoredSuite

PAGE = Path(__file__).with_name("schema.json")


def _computed(name: property | cached_property[Any]) -> Any:
    """The type of a property that is written beside the fields, with its documentation."""
    of = name.func if isinstance(name, cached_property) else name.fget
    kind = get_type_hints(of)["return"]
    return Annotated[kind, msgspec.Meta(description=of.__doc__)]


RESULTS: dict[str, list[Any]] = {
    "compare": [SuiteComparison],
    "suite": [SuiteReport],
    "hpt": [
        defstruct(
            "HptOfVersions",
            [
                ("reference", str),
                ("candidate", str),
                ("hpt", Hpt),
                ("claims", HptClaims),
                ("machine", MachineSpeeds | None),
            ],
        )
    ],
    "gate": [SuiteComparison],
    "history": [ExportedHistory, ExportedAlarms, Added, QueriedSample],
    "run": [SuiteComparison],
    "bisect": [ExportedBisection],
    "corpus": [CorpusInfo],
    "corpus compare": [SuiteComparison],
    "corpus model": [CorpusModels],
    "corpus changes": [CorpusChanges],
    "corpus query": [dict[str, Any]],
    "model": [
        defstruct(
            "Modelled",
            [
                ("benchmark", str),
                ("metric", str),
                ("version", str),
                ("unit", str),
                ("order_known", bool),
                ("model", Analysis),
                ("quantiles", list[tuple[float, float]]),
                ("below", list[tuple[float, float]]),
                ("limits", list[tuple[float, float]]),
                ("observations", list[list[float]] | None),
                ("metrics", Indices | None),
            ],
        ),
        JointModel,
    ],
    "rank": [
        defstruct(
            "RankedVersions",
            [
                ("benchmark", str),
                ("metric", str),
                ("unit", str),
                ("ranking", RunRanking),
                ("advice", str),
                ("modes", ModeComparison | None),
                ("conclusion", str | None),
                ("caveats", tuple[Note, ...]),
                ("machine", MachineSpeeds | None),
            ],
        )
    ],
    "show": [StoredSuite],
}
ATTACHED: dict[str, dict[str, Any]] = {
    "compare": {
        "rankings": dict[str, SuiteRanking],
        "why": list[Why],
        "over": list[OverInputs],
        "power": dict[str, list[PowerPlan]],
        "suite": StoredSuite,
        "context": Context,
    },
    "run": {
        "session": SessionOrigin,
        "gate": GateDecision,
        "rankings": dict[str, SuiteRanking],
        "calibration": Calibration,
        "plan": RunPlan,
        "why": list[Why],
    },
    "gate": {"gate": GateDecision, "why": list[Why]},
    "corpus compare": {"corpus": Conclusion, "why": list[Why]},
}


_REFERENCE = "#/$defs/{name}"


def json_schema(
    results: Mapping[str, Sequence[Any]], attached: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """One schema for all commands."""
    attached = attached or {}
    types = [kind for kinds in results.values() for kind in kinds]
    types += [kind for kinds in attached.values() for kind in kinds.values()]
    types += (_computed(getattr(SuiteComparison, name)) for name in FOLLOWING)
    schemas, definitions = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    definitions["SuiteComparison"]["properties"].update(
        zip(FOLLOWING, schemas[-len(FOLLOWING) :], strict=True)
    )
    _described(definitions, types)
    for kind in definitions.values():  # what holds the results of its document is written without them
        if kind.get("properties", {}).pop("results", None):
            kind["required"].remove("results")
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


def _described(definitions: Mapping[str, dict[str, Any]], types: Sequence[Any]) -> None:
    """Give every field the comment that stands beside it, or above it, in the code."""
    for name, sources in _classes(msgspec.inspect.multi_type_info(types)).items():
        comment: list[str] = []
        for line in "".join(map(getsource, sources)).splitlines():
            above, field = (
                re.fullmatch(r" {4}# (.*)", line),
                re.fullmatch(r" {4}(\w+): [^#]*(?:# (.*))?", line),
            )
            told = " ".join([*comment, (field[2] or "") if field else ""]).strip()
            if field and told and field[1] in definitions.get(name, {}).get("properties", {}):
                definitions[name]["properties"][field[1]] = {
                    "description": f"{told[:1].upper()}{told[1:]}." if told[1:2].isalpha() else f"{told}.",
                    **definitions[name]["properties"][field[1]],
                }
            comment = [*comment, above[1]] if above else []


def _classes(found: Any) -> dict[str, list[type]]:
    """The classes of results that types are made of, by name, each with its bases."""
    if isinstance(found, list | tuple):
        return {name: kinds for part in found for name, kinds in _classes(part).items()}
    if isinstance(found, msgspec.inspect.StructType | msgspec.inspect.DataclassType):
        inner = _classes([field.type for field in found.fields])
        ours = [kind for kind in found.cls.__mro__ if kind.__module__.startswith("speedproof")]
        return {found.cls.__name__: ours, **inner}
    if isinstance(found, msgspec.inspect.Type):
        return _classes([getattr(found, f) for f in found.__struct_fields__ if f.endswith(("type", "types"))])
    return {}


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


def text() -> str:
    """The whole file."""
    return json.dumps(json_schema(RESULTS, ATTACHED), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
