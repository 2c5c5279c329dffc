"""The history as a folder of static pages: no server, no build step, nothing from elsewhere.

``index.html`` loads ``data/index.js`` (commits, changes, a line a benchmark) and, when a benchmark is looked at,
``data/N.js`` with its points: scripts, since a page that was opened from a file may load nothing else. The charts
are uPlot's (https://github.com/leeoniya/uPlot, MIT), which needs no exception from the page's
Content-Security-Policy and draws a thousand commits in milliseconds. Several histories have a folder each, and a
page over them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import msgspec

from speedproof.errors import SpeedproofError, UsageError
from speedproof.history.result import HistoryAnswer
from speedproof.history.tracks import Track
from speedproof.reporting.site.encode import encode_index, encode_line, encode_track

_FILES = ("uPlot.js", "uPlot.css", "uPlot.LICENSE.txt", "page.css", "page.js")
_MARK = '<meta name="generator" content="speedproof">'


def write_site(
    results: Sequence[HistoryAnswer],
    folder: str | os.PathLike[str],
    *,
    made: str,
    link: str = "",
    tags: Mapping[str, str] | None = None,
    branches: Mapping[str, HistoryAnswer] | None = None,
    done: Callable[[], None] = lambda: None,
) -> int:
    """Write the pages of a history; their size in bytes.

    ``results`` are those of the metrics that decide and, apart, those of the others.
    """
    result = results[0]
    place = Path(folder)
    if place.exists() and not _ours(place):
        raise UsageError(f"{place}: holds other files; name a new folder for the pages")
    drawn: dict[int, list[tuple[str, Track]]] = {number: [] for found in results for number in found.series}
    known = {commit.sha for commit in result.commits}
    for name, found in [*(("", found) for found in results), *(branches or {}).items()]:
        for track in found.tracks:
            if not name or any(track.commit(k).sha not in known for k in range(len(track))):
                drawn.setdefault(track.series, []).append((name, track))
    used = [number for number, tracks in drawn.items() if tracks]
    lines, size = {}, 0
    try:
        (place / "data").mkdir(parents=True, exist_ok=True)
        for old in (place / "data").glob("*.js"):
            if old.stem.isdecimal() and int(old.stem) >= len(used):
                old.unlink()
        for i, number in enumerate(used):
            tracks = [encode_track(track, result.commits, branch=name) for name, track in drawn[number]]
            size += _write(place / "data" / f"{i}.js", f"speedproof.series({i},{_script(tracks)});\n")
            lines[number] = [encode_line(track) for track in tracks]
            done()
        index = encode_index(results, used, lines, made=made, link=link, tags=tags or {})
        version = hashlib.sha256(json.dumps(index, sort_keys=True).encode()).hexdigest()[:12]
        index["version"] = version
        size += _write(place / "data" / "index.js", f"speedproof.index({_script(index)});\n")
        here = resources.files(__package__)
        for name in _FILES:
            size += _write(place / name, here.joinpath(name).read_text(encoding="utf-8"))
        page = here.joinpath("index.html").read_text(encoding="utf-8").replace("@VERSION@", version)
        return size + _write(place / "index.html", page)
    except OSError as error:
        raise SpeedproofError(f"{error.filename or place}: {error.strerror}; pages are missing") from error


def write_projects(folder: str | os.PathLike[str]) -> int:
    """Write the page over the histories whose pages are in folders of a folder; its size in bytes."""
    place, templates = Path(folder), resources.files(__package__)
    if (place / "index.html").exists() and not _ours(place):
        raise UsageError(f"{place}: holds other files; name a new folder for the pages")
    rows = []
    for data in sorted(place.glob("*/data/index.js")):
        text, name = data.read_text(encoding="utf-8"), data.parent.parent.name
        index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
        cells = f'<a href="{quote(name)}/index.html">{escape(name)}</a>', index["headline"], index["made"]
        rows.append("".join(f"<td>{cell}</td>" for cell in (cells[0], *map(escape, cells[1:]))))
    page = templates.joinpath("projects.html").read_text(encoding="utf-8")
    page = page.replace("@ROWS@", "\n".join(f"<tr>{row}</tr>" for row in rows))
    style = templates.joinpath("page.css").read_text(encoding="utf-8")
    return _write(place / "page.css", style) + _write(place / "index.html", page)


def _ours(place: Path) -> bool:
    if not place.is_dir():
        raise UsageError(f"{place}: is a file; name a folder for the pages")
    index = place / "index.html"
    if index.is_file():
        return _MARK in index.read_text(encoding="utf-8", errors="replace")
    return all(entry.name == "data" or entry.name in _FILES for entry in place.iterdir())


def _script(value: object) -> str:
    """JSON, which is JavaScript: ASCII only, and without what could end a script."""
    try:
        text = msgspec.json.encode(value).decode("ascii")  # several times quicker
    except UnicodeError:
        text = json.dumps(value, separators=(",", ":"))
    return text.replace("</", "<\\/")


def _write(path: Path, text: str) -> int:
    """Write a file whole: a reader sees the old one or the new one."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(path)
    return len(text.encode())
