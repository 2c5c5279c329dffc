"""What tests of several readers look at records with."""

import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from speedproof.data.record import Record, Skipped
from speedproof.formats import read
from speedproof.formats.source import ReadOptions


def split(
    path: Path, options: ReadOptions | None = None, format: str | None = None
) -> tuple[list[Record], list[Skipped]]:
    """What a file has, and what of it was left out."""
    items = list(read(path, options=options, format=format))
    return [i for i in items if isinstance(i, Record)], [i for i in items if isinstance(i, Skipped)]


def load(path: Path) -> Any:
    """A JSON file by the standard library."""
    return json.loads(path.read_text())


def times(records: list[Record]) -> list[Record]:
    return [r for r in records if r.metric == "time"]


def processes(record: Record) -> list[int]:
    assert record.processes is not None
    return [int(p) for p in record.processes]


def changed(source: Path, target: Path, change: Callable[[Any], Any]) -> Path:
    """A copy of a JSON file with something changed in it."""
    content = load(source)
    change(content)
    target.write_text(json.dumps(content))
    return target


def packed(path: Path, files: list[Path], method: int = zipfile.ZIP_STORED) -> Path:
    """An archive of files in a folder, of the kind that its name says."""
    kind = path.suffix[1:].replace("tgz", "gz").replace("tar", "")
    if kind == "zip":
        with zipfile.ZipFile(path, "w", method) as archive:
            for file in files:
                archive.write(file, f"in/{file.name}")
    else:
        with tarfile.open(path, mode=f"w:{kind}") as members:  # type: ignore[call-overload]
            for file in files:
                members.add(file, f"in/{file.name}")
    return path
