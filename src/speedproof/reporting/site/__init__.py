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
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from speedproof.arrays import FloatArray, IntArray
from speedproof.errors import SpeedproofError, UsageError
from speedproof.history.changes import Change
from speedproof.history.commits import Commit
from speedproof.history.tracks import Track
from speedproof.reporting.formats import write_whole
from speedproof.reporting.history import (
    at_least,
    between_sessions,
    confirmed_alone,
    headline_of,
    size_of,
    today_of,
    words_of,
)
from speedproof.reporting.history_results import STANDS, HistoryResult, by_commit
from speedproof.stats.scaling import middle

_FILES = ("uPlot.js", "uPlot.css", "uPlot.LICENSE.txt", "page.css", "page.js")
_MARK = '<meta name="generator" content="speedproof">'


def write_site(
    results: Sequence[HistoryResult],
    folder: str | os.PathLike[str],
    *,
    made: str,
    link: str = "",
    tags: Mapping[str, str] | None = None,
    branches: Mapping[str, HistoryResult] | None = None,
    done: Callable[[], None] = lambda: None,
) -> int:
    """Write the pages of a history; their size in bytes.

    ``results`` are those of the metrics that decide and, apart, those of the others.
    """
    result = results[0]
    place = Path(folder)
    if place.exists() and not _ours(place):
        raise UsageError(f"{place}: holds other files; name a new folder for the pages")
    drawn: dict[int, list[tuple[str, Track]]] = {
        number: [] for history in results for number in history.series
    }
    shas = {commit.sha for commit in result.commits}
    for name, history in [*(("", history) for history in results), *(branches or {}).items()]:
        for track in history.tracks:
            if not name or any(track.commit(k).sha not in shas for k in range(len(track))):
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
            size += write_whole(place / "data" / f"{i}.js", f"speedproof.series({i},{_script(tracks)});\n")
            lines[number] = [encode_line(track) for track in tracks]
            done()
        index = encode_index(results, used, lines, made=made, link=link, tags=tags or {})
        version = hashlib.sha256(json.dumps(index).encode()).hexdigest()[:12]
        index["version"] = version
        size += write_whole(place / "data" / "index.js", f"speedproof.index({_script(index)});\n")
        here = resources.files(__package__)
        for name in _FILES:
            size += write_whole(place / name, here.joinpath(name).read_text(encoding="utf-8"))
        page = here.joinpath("index.html").read_text(encoding="utf-8").replace("@VERSION@", version)
        return size + write_whole(place / "index.html", page)
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
    return write_whole(place / "page.css", style) + write_whole(place / "index.html", page)


def _ours(place: Path) -> bool:
    if not place.is_dir():
        raise UsageError(f"{place}: is a file; name a folder for the pages")
    index = place / "index.html"
    if index.is_file():
        return _MARK in index.read_text(encoding="utf-8", errors="replace")
    return all(entry.name == "data" or entry.name in _FILES for entry in place.iterdir())


def _script(value: object) -> str:
    """JSON, which is JavaScript, without what could end a script."""
    return msgspec.json.encode(value).decode().replace("</", "<\\/")


_STEPS = 4096  # a track's values are kept to this part of their range, finer than any screen
_COARSEST = 1e-4  # and never coarser than this share of a value
_SPARK, _STILL = 40, 0.05


def encode_track(track: Track, commits: Sequence[Commit], *, branch: str = "") -> dict[str, Any]:
    """A track in small integers.

    ``k`` are runs of neighbouring commits (first, how many), ``v`` logarithms in steps of ``q`` about ``o``, ``l``
    and ``h`` the distances to the bounds in the same steps, -1 where there are none, ``j`` the places where
    another anchor begins, ``br`` and ``cm`` the branch and its own commits.
    """
    low, high = track.bounds()
    level, places = track.level, track.at[track.starts]
    if branch:
        places, names = _beside(track, places, commits)
        kept = np.isin(places, list(names))
        low, high, level, places = low[kept], high[kept], level[kept], places[kept]
    least, most = float(np.fmin(low, level).min()), float(np.fmax(high, level).max())
    step = min(_COARSEST, (most - least) / _STEPS) or _COARSEST
    centre = float(middle(level))
    encoded: dict[str, Any] = {
        "b": track.basis,
        "a": int(track.anchored),
        "o": centre,
        "q": float(f"{step:.3g}"),
    }
    step = encoded["q"]
    encoded["v"] = np.rint((level - centre) / step).astype(int).tolist()
    if not np.isnan(low).all():
        encoded["l"] = _steps(level - low, step)
        encoded["h"] = _steps(high - level, step)
    if branch:
        encoded["br"] = branch
        encoded["cm"] = names
    first = np.append(0, np.flatnonzero(places[1:] - places[:-1] != 1) + 1)
    encoded["k"] = [list(run) for run in zip(places[first].tolist(), _sizes(first, places.size), strict=True)]
    joints = [] if branch else [start for start, _ in track.stretches()[1:]]
    if joints:
        encoded["j"] = [
            [int(places[k]), track.anchors[int(track.beside[track.starts[k]])]] for k in (0, *joints)
        ]
    return encoded


def _sizes(starts: IntArray, end: int) -> list[int]:
    """How many there are from each start to the next, or to the end."""
    ends = np.append(starts, end)
    sizes: list[int] = (ends[1:] - ends[:-1]).tolist()
    return sizes


def _steps(distances: FloatArray, step: float) -> list[int]:
    defined = ~np.isnan(distances)
    steps: list[int] = np.where(defined, np.rint(distances / step), -1.0).astype(int).tolist()
    return steps


def _beside(track: Track, own: IntArray, commits: Sequence[Commit]) -> tuple[IntArray, dict[int, str]]:
    """Where a branch's points stand along other commits: its own, which are named, follow where it left them."""
    place = {commit.sha: i for i, commit in enumerate(commits)}
    at, names, here, beyond = [], {}, -1, 0
    for commit in track.order:
        if commit.sha in place:
            here, beyond = place[commit.sha], 0
            at.append(here)
        else:
            beyond += 1
            at.append(here + beyond)
            names[here + beyond] = commit.sha
    return np.array(at, dtype=np.int64)[own], names


def encode_index(
    results: Sequence[HistoryResult],
    used: Sequence[int],
    lines: Mapping[int, Sequence[Mapping[str, Any]]],
    *,
    made: str,
    link: str,
    tags: Mapping[str, str],
) -> dict[str, Any]:
    """The data of the overview: commits, a line for each benchmark, the changes.

    ``results`` are those of the metrics that decide and, at a risk of their own, those of the others.
    """
    result = results[0]
    series = {number: stored for history in results for number, stored in history.series.items()}
    number = {series: i for i, series in enumerate(used)}
    order = {commit.sha: i for i, commit in enumerate(result.commits)}
    changes = []
    for apart, history in enumerate(results):
        seen = Counter[int]()
        which = {}  # the number of every track among those of its series
        for track in history.tracks:
            which[id(track)] = seen[track.series]
            seen[track.series] += 1
        for change in history.changes:
            encoded = _change(history, change)
            places = {"k": change.commit, "e": change.earliest, "l": change.latest}
            encoded |= {name: order[commit.sha] for name, commit in places.items()}
            encoded |= {"s": number[change.track.series], "t": which[id(change.track)], "apart": apart}
            changes.append(encoded)
    headline, *proof = headline_of(result)
    said = dict.fromkeys(
        (order[group.commit.sha], d.benchmark, words_of(d, group.commit))
        for history in results
        for group in by_commit(history)
        for d in history.told(group)
    )
    return {
        "headline": headline.text,
        "proof": "".join(text.text for text in proof),
        "floor": [
            *(f"{line}." for line in between_sessions(result.noise)),
            *(line.text for line in confirmed_alone(result)),
        ],
        "made": made,
        "link": link,
        "commits": [[c.sha, c.subject, c.date[:16], c.author] for c in result.commits],
        "said": [*said],
        "tags": sorted([order[sha], name] for sha, name in tags.items() if sha in order),
        "series": [
            {"n": series[s].key.benchmark, "m": series[s].key.metric, "u": series[s].unit, "tracks": lines[s]}
            for s in used
        ],
        "changes": changes,
    }


def _change(history: HistoryResult, change: Change) -> dict[str, Any]:
    slower, state = history.slower(change), history.state(change)
    return {
        "f": _digits(change.factor),
        "times": size_of(change, "time", slower)[0],
        "least": at_least(change),
        "slower": int(slower),
        "drift": int(change.drift),
        "state": state if state in (STANDS, "undone") else "decided",
        "today": today_of(history, change),
        "who": history.assigned(change) or "",
    }


def encode_line(track: Mapping[str, Any]) -> dict[str, Any]:
    """A track in the overview: its basis, number of commits, last value, and 40 heights of 0 to 35."""
    values = np.array(track["v"], dtype=np.float64)
    groups = min(_SPARK, values.size)
    starts = np.arange(groups) * values.size // groups
    means = np.add.reduceat(values, starts) / _sizes(starts, values.size)
    # Of what hardly moves, the line hardly does.
    span = max(float(np.ptp(means)), _STILL / track["q"])
    heights = np.rint(17.5 + (means - (means.max() + means.min()) / 2) / span * 35).astype(int)
    return {
        "b": track["b"],
        "a": track["a"],
        "c": int(values.size),
        "last": _digits(math.exp(track["o"] + track["v"][-1] * track["q"])),
        "p": "".join("0123456789abcdefghijklmnopqrstuvwxyz"[h] for h in heights),
    }


def _digits(value: float) -> float | None:
    """To six digits; none for what JSON has no word for."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
