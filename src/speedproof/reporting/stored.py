"""Comparisons, maybe with their samples, as one JSON document, and back: what ``speedproof report`` reads.

JSON has no number for infinity or "not a number": both are written as ``null``. Reading takes a ``null`` for "not
a number", except for the upper end of an interval whose lower end is known, which is infinite.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct, field, inspect
from msgspec.structs import replace

from speedproof import __version__
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Residue, Skipped, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError, FormatError
from speedproof.protocols.results import SuiteRanking
from speedproof.reporting.model import SCHEMA_VERSION, Report
from speedproof.stats.estimate import Estimate


class Context(Struct, frozen=True):
    """How results were made, for whoever wants to make them again."""

    command: str  # the command line, quoted for a shell
    versions: dict[str, str]  # of speedproof and what it computes with

    @classmethod
    def of(cls, command: str) -> Context:
        """The context of this process."""
        libraries = {"speedproof": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
        return cls(command, libraries)


class StoredSample(Struct, frozen=True):
    """A sample with its names: see :class:`speedproof.data.sample.Sample`."""

    # What was measured
    benchmark: str
    metric: str
    version: str
    unit: str  # the base unit of the values
    direction: Direction  # whether lower or higher values are better
    values: tuple[float, ...]  # in run order
    processes: tuple[int, ...] | None  # the process of each value
    traits: tuple[Trait, ...]  # properties of the sample
    source: str  # file and place
    notes: tuple[str, ...]  # remarks made while reading
    sessions: tuple[int, ...] | None = None  # the sitting of each value
    session_names: tuple[str, ...] = ()  # the name of each sitting
    span: tuple[float, float] | None = None  # the first and last known moment of measuring
    tool: str = ""  # the format that it was read from
    position: int = 0  # the place in its file


_Kind = TypeVar("_Kind")
_SHARED = StoredSample.__struct_fields__[3:]


class StoredSuite(Struct, frozen=True):
    """All samples of a suite: see :class:`speedproof.data.suite.Suite`."""

    versions: tuple[str, ...]  # in order of first appearance
    samples: tuple[StoredSample, ...]  # one for each benchmark, metric and version
    residue: tuple[Residue, ...] = ()  # fields in which pooled values differed
    skipped: tuple[Skipped, ...] = ()  # what was left out while reading
    # By version, the fields of its files
    fields: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    commands: bool = False  # whether the versions are commands of one file


class Document(Struct, frozen=True):
    """What every command writes that compares versions."""

    speedproof: str  # the version that wrote it
    schema: int  # the version of the format
    command: str  # one of :data:`COMPARING`
    results: tuple[SuiteComparison, ...]  # one for each candidate and metric
    # By metric, when there are three versions or more
    rankings: dict[str, SuiteRanking] = field(default_factory=dict)
    suite: StoredSuite | None = None  # with ``--with-samples``
    context: Context | None = None  # with ``--with-samples``
    gate: dict[str, Any] | None = None  # a policy's decision, without the results
    corpus: dict[str, Any] | None = None  # the conclusion from a corpus, without the results


COMPARING = ("compare", "gate", "run", "corpus compare")
"""The commands that write such a document."""


def store(suite: Suite) -> StoredSuite:
    """A suite as plain data."""
    return StoredSuite(
        samples=tuple(
            StoredSample(
                key.benchmark, key.metric, version, **{name: _plain(getattr(s, name)) for name in _SHARED}
            )
            for (key, version), s in suite.samples.items()
        ),
        **{name: getattr(suite, name) for name in StoredSuite.__struct_fields__ if name != "samples"},
    )


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(sorted(value)) if isinstance(value, frozenset) else value


def restore(stored: StoredSuite) -> Suite:
    """The suite that was stored."""
    samples = {}
    for s in stored.samples:
        fields = {name: getattr(s, name) for name in _SHARED}
        sample = Sample(**{**fields, "traits": frozenset(s.traits)}, label=s.version)
        samples[Key(s.benchmark, s.metric), s.version] = sample
    return Suite(stored.versions, samples, stored.residue, stored.skipped, stored.fields, stored.commands)


def read_document(text: bytes, path: str) -> tuple[Document, Suite, Callable[..., Sequence[Report]]]:
    """Read what a command wrote that compares: with the samples, if any, and what makes its reports."""
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raw = None
    command = raw.get("command") if isinstance(raw, dict) and "schema" in raw else None
    if command not in COMPARING:
        what = f"is the output of '{command} --json'" if command else "is no JSON of speedproof"
        raise FormatError(path, "", f"{what}; report reads that of {', '.join(COMPARING)}")
    if raw["schema"] != SCHEMA_VERSION:
        other = f"{raw['schema']}, not {SCHEMA_VERSION}: another version of speedproof wrote it"
        raise FormatError(path, "schema", f"{other}; compare the files again")
    try:
        document = _converted(raw, Document)
        suite = Suite((), {}) if document.suite is None else restore(document.suite)
        made = _sheets(document, raw["results"])
    except (msgspec.ValidationError, DataError) as error:
        raise FormatError(path, "", str(error)) from None
    if not document.results:
        raise FormatError(path, "", f"holds no comparison: nothing was compared by '{command}'")
    return document, suite, made


def _sheets(document: Document, results: object) -> Callable[..., Sequence[Report]]:
    """What makes the reports of a document, as the command that wrote it does."""
    if document.corpus is not None:
        from speedproof.corpus.conclude import Conclusion, Whole
        from speedproof.reporting.corpus import compared, fits_one_sheet

        conclusion = _converted({**document.corpus, "results": []}, Conclusion)
        conclusion = replace(conclusion, results=_converted(results, tuple[Whole, ...]))
        few = conclusion.results[0] if fits_one_sheet(conclusion) else None
        return lambda **shown: [compared(conclusion, few, **shown)]
    if document.gate is not None:
        from speedproof.conclude.gate import GateDecision
        from speedproof.reporting.gate import report

        decision = _converted({**document.gate, "results": results}, GateDecision)
        return lambda everything=False, **_: [report(decision, everything=everything)]
    from speedproof.reporting.sheet import reports

    return partial(reports, document.results, document.rankings)


def _converted(raw: object, kind: type[_Kind]) -> _Kind:
    return msgspec.convert(_with_numbers(raw, inspect.type_info(kind)), kind)


def _with_numbers(value: Any, kind: inspect.Type) -> Any:
    """Put numbers in the place of every ``null`` that stands for one."""
    if isinstance(kind, inspect.FloatType):
        return math.nan if value is None else value
    if isinstance(kind, inspect.UnionType):
        if value is None:
            return None
        return _with_numbers(value, next(t for t in kind.types if not isinstance(t, inspect.NoneType)))
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        names = {f.encode_name: f.type for f in kind.fields}
        numbers = {name: _with_numbers(v, names[name]) for name, v in value.items() if name in names}
        if kind.cls is Estimate and value.get("high") is None and value.get("low") is not None:
            numbers["high"] = math.inf
        return numbers
    if isinstance(kind, inspect.DictType) and isinstance(value, dict):
        return {key: _with_numbers(item, kind.value_type) for key, item in value.items()}
    if isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        if isinstance(kind.item_type, inspect.StrType | inspect.IntType):
            return value
        return [_with_numbers(item, kind.item_type) for item in value]
    if isinstance(kind, inspect.TupleType) and isinstance(value, list):
        if len(value) != len(kind.item_types):
            return value  # the conversion names the place
        return [_with_numbers(item, t) for item, t in zip(value, kind.item_types, strict=True)]
    return value
