"""Comparisons with their samples as one JSON document, and back: what ``speedproof report`` reads.

JSON has no number for infinity or "not a number": both are written as ``null``. Reading takes a ``null`` for "not
a number", except for the upper end of an interval whose lower end is known, which is infinite.
"""

from __future__ import annotations

import math
import platform
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field, inspect

from speedproof import __version__
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Residue, Skipped, Suite
from speedproof.data.units import Direction
from speedproof.errors import DataError, FormatError
from speedproof.protocols.results import SuiteRanking
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting.model import SCHEMA_VERSION
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
    """The document of ``speedproof compare --json``."""

    speedproof: str  # the version that wrote it
    schema: int  # the version of the format
    command: str  # ``"compare"``
    results: tuple[SuiteComparison, ...]  # one for each candidate and metric
    # By metric, when there are three versions or more
    rankings: dict[str, SuiteRanking] = field(default_factory=dict)
    suite: StoredSuite | None = None  # with ``--with-samples``
    context: Context | None = None  # with ``--with-samples``


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


def read_document(text: bytes, path: str) -> tuple[Document, Suite]:
    """Read what ``speedproof compare --json`` wrote."""
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raw = None
    if not isinstance(raw, dict) or raw.get("command") != "compare" or "schema" not in raw:
        raise FormatError(path, "", "is not the output of 'compare --json'")
    if raw["schema"] != SCHEMA_VERSION:
        other = f"{raw['schema']}, not {SCHEMA_VERSION}: another version of speedproof wrote it"
        raise FormatError(path, "schema", f"{other}; compare the files again")
    try:
        document = msgspec.convert(_with_numbers(raw, inspect.type_info(Document)), Document)
        suite = Suite((), {}) if document.suite is None else restore(document.suite)
    except (msgspec.ValidationError, DataError) as error:
        raise FormatError(path, "", str(error)) from None
    return document, suite


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
