"""A result file on its way into a history: its versions, its name, its content's digest, when it was measured."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from speedproof.data.suite import Key, Suite
from speedproof.errors import UsageError


def has_versions(suite: Suite) -> bool:
    """Whether a file names versions of one thing rather than one version of many."""
    return len(suite.versions) > 1 and not suite.commands


def as_one(suite: Suite, path: str) -> Suite:
    """All versions of a file as one: commands of a file are its benchmarks then."""
    if len(suite.versions) == 1:
        return suite
    if not suite.commands:
        raise UsageError(
            f"{path}: holds the versions {', '.join(suite.versions)}, each added under its own name; "
            "leave out --commit"
        )
    samples = {(Key(version, key.metric), "all"): sample for (key, version), sample in suite.samples.items()}
    merged: dict[str, dict[str, tuple[str, ...]]] = {"all": {}}
    for fields in suite.fields.values():
        merged["all"] |= fields
    return replace(suite, versions=("all",), samples=samples, fields=merged)


def renamed(suite: Suite, benchmark: str, path: str) -> Suite:
    """With another name of its only benchmark."""
    if len(suite.benchmarks) > 1:
        raise UsageError(
            f"{path}: holds {len(suite.benchmarks)} benchmarks, but --benchmark can name only one"
        )
    samples = {
        (Key(benchmark, key.metric), version): sample for (key, version), sample in suite.samples.items()
    }
    return replace(suite, samples=samples)


def values_of(suite: Suite) -> list[tuple[Key, list[float]]]:
    """What its digest is made of."""
    return [(key, sample.values.tolist()) for (key, _), sample in suite.samples.items()]


def digest_of(path: Path) -> str:
    """Of a file's content, or of all files of a folder."""
    found = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        found.update(file.read_bytes())
    return found.hexdigest()


def start_of(suite: Suite) -> str:
    """The first moment that its samples tell, ISO 8601; empty when none does."""
    spans = [sample.span for sample in suite.samples.values() if sample.span is not None]
    return (
        datetime.fromtimestamp(min(s[0] for s in spans), UTC).isoformat(timespec="seconds") if spans else ""
    )
