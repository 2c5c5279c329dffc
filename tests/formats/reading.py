"""What tests of several readers look at records with."""

import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from speedproof.data.record import Record, Skipped
from speedproof.formats import read
from speedproof.formats.source import ReadOptions

# The committed result files; their README says which tool made each.
FILES = Path(__file__).parents[1] / "data" / "formats"
NAMES = sorted(str(p.relative_to(FILES)) for p in FILES.rglob("*") if p.is_file() and p.suffix != ".md")


def split(
    path: Path, options: ReadOptions | None = None, format: str | None = None
) -> tuple[list[Record], list[Skipped]]:
    """What a file has, and what of it was left out."""
    items = list(read(path, options=options, format=format))
    return [i for i in items if isinstance(i, Record)], [i for i in items if isinstance(i, Skipped)]


def load(path: Path) -> Any:
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


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every container of a JSON value with each of its keys, and how its place is told."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            here = f"{path}.{key}".lstrip(".") if isinstance(value, dict) else f"{path}[{key}]"
            yield here, value, key
            yield from places(value[key], here)


def packed(path: Path, files: list[Path], method: int = zipfile.ZIP_STORED) -> Path:
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
