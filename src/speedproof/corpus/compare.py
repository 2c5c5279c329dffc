"""Two versions, or many pairs of them, on every benchmark of a corpus: a row a comparison, written while it goes.

Each part of the corpus is a task: its worker reads the samples, asks the protocols, writes the answers as one
Parquet file and keeps what it adds to the whole in that file's footer. A file that is there is done.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import combinations, pairwise
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from speedproof.corpus.answers import FLOOR_FILE, HERE, Answers, How, Task, answered
from speedproof.corpus.hpt import COLUMNS as HPT
from speedproof.corpus.hpt import first_level
from speedproof.corpus.partial import Seen
from speedproof.corpus.place import Place, arrow
from speedproof.corpus.read import fetched, rows_of, tables_of
from speedproof.corpus.schema import opened, suite_of
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair, Suite
from speedproof.errors import FormatError, UsageError
from speedproof.options import ASKED, DETAILS, QuestionName
from speedproof.protocols.machine_speeds import two_speeds_of
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.questions import answers
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import located
from speedproof.protocols.suites import LOCATIONS, Location

if TYPE_CHECKING:
    import pyarrow as pa

_TOGETHER = 512
_NAMED = 4

Pairs = Literal["all", "consecutive"] | tuple[tuple[str, str], ...]


class Asked(msgspec.Struct, frozen=True):
    """What is asked of a corpus; tasks find the noise floor beside the answers, by its digest."""

    pairs: Pairs
    metric: str
    rules: Rules = DEFAULT
    protocols: tuple[QuestionName, ...] = ASKED
    where: str | None = None
    floor: str = ""


def compare(corpus: str | os.PathLike[str], asked: Asked, how: How = HERE) -> Answers:
    """Ask about every pair of versions; what an earlier call has answered is not asked again."""
    place, manifest = opened(corpus)
    for one, other in asked.pairs if isinstance(asked.pairs, tuple) else ():
        if one == other:
            raise UsageError(f"{one}: a version is not compared with itself")
    if len(manifest.versions) < 2:
        raise UsageError(f"{place.name}: there is only one version; a comparison needs two")
    told, beside = asked, {}
    if asked.rules.floor is not None:
        beside[FLOOR_FILE] = msgspec.msgpack.encode(asked.rules.floor)
        digest = blake2b(beside[FLOOR_FILE], digest_size=16).hexdigest()
        told = replace(asked, rules=replace(asked.rules, floor=None), floor=digest)
    question = (told, tuple(manifest.versions))
    return answered(corpus, "compare", question, compare_part, how, beside=beside)


def nothing_in_common(corpus: str | os.PathLike[str], asked: Asked, versions: Sequence[str]) -> str:
    """Why there is no comparison at all: what versions have, by names."""
    chosen = [v for pair in asked.pairs for v in pair] if isinstance(asked.pairs, tuple) else versions
    named = list(dict.fromkeys(chosen))
    sides = "both versions have" if len(named) == 2 else "two of the versions have"
    lines = [f"no benchmark that {sides} can be compared:"]
    with tables_of(corpus, asked.where) as connection:
        sql = "SELECT benchmark FROM chosen WHERE version = ? AND metric = ? GROUP BY 1 ORDER BY min(row)"
        for version in named[:_NAMED]:
            names = [name for (name,) in fetched(connection, sql, version, asked.metric)]
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            lines.append(f"  {version} has {shown or 'nothing'} ({asked.metric})")
    return "\n".join(lines)


def pairs_in_file(path: str) -> tuple[tuple[str, str], ...]:
    """Pairs of versions in a file: reference and candidate on each line, separated by a comma or a tab."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    found = []
    for i, row in enumerate(csv.reader(text.splitlines(), delimiter="\t" if "\t" in text else ","), 1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells or (i == 1 and cells == ["reference", "candidate"]):
            continue
        if len(cells) != 2:
            raise UsageError(f"{path}: line {i}: name two versions, the reference and the candidate")
        found.append((cells[0], cells[1]))
    if not found:
        raise UsageError(f"{path}: names no pairs of versions")
    return tuple(dict.fromkeys(found))


@lru_cache(1)
def _floor_in(folder: str, digest: str) -> NoiseFloor:
    """The noise floor beside the answers."""
    try:
        return msgspec.msgpack.decode(Place.of(folder).read(FLOOR_FILE), type=NoiseFloor)
    except (OSError, msgspec.MsgspecError) as error:
        raise FormatError(f"{folder}/{FLOOR_FILE}", "", f"the file is damaged or gone: {error}") from None


def compare_part(task: Task) -> int:
    """Answer one part; how many comparisons that were."""
    asked, order = task.asked
    rules = asked.rules if not asked.floor else replace(asked.rules, floor=_floor_in(task.out, asked.floor))
    named = {version for pair in asked.pairs for version in pair} if isinstance(asked.pairs, tuple) else None
    suite = suite_of(rows_of(task.part, asked.where, metric=[asked.metric], version=named))
    by_versions = _pairs(suite, asked.pairs, order)
    flat = [(versions, pair) for versions, (pairs, _) in by_versions.items() for pair in pairs]
    pairs = [pair for _, pair in flat]
    told: dict[str, list[Comparison]] = {protocol: [] for protocol in asked.protocols}
    places: dict[Location, list[float]] = {at: [] for at in LOCATIONS}
    for at in range(0, len(flat), _TOGETHER):
        prepared = PreparedPairs(pairs[at : at + _TOGETHER], rules)
        for protocol in asked.protocols:
            told[protocol] += answers(protocol, prepared)
        for location, values in located(prepared).items():
            places[location] += values
    # What is known of each pair itself stands in the rows of the first protocol.
    none = (None,) * len(HPT)
    levels = first_level(pairs) if set(DETAILS) <= set(asked.protocols) else [None] * len(pairs)
    speeds = [[None if isnan(v) else v for v in row] for row in two_speeds_of(pairs).tolist()]
    own = [(*speed, *(level or none)) for speed, level in zip(speeds, levels, strict=True)]
    own += [(None,) * len(SPEEDS) + none] * (len(told) - 1) * len(pairs)
    each = ((versions, c) for found in told.values() for (versions, _), c in zip(flat, found, strict=True))
    rows = [(*_row(*one), *beside) for one, beside in zip(each, own, strict=True)]
    schema = answer_columns()
    columns = {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
    note, start = [], 0
    for versions, (of_two, seen) in by_versions.items():
        end = start + len(of_two)
        seen.take(of_two, versions, rules,
                  {protocol: found[start:end] for protocol, found in told.items()},
                  {location: values[2 * start : 2 * end] for location, values in places.items()})  # fmt: skip
        note.append((versions, msgspec.to_builtins(seen)))
        start = end
    task.keep(arrow().table(columns, schema=schema), note, use_dictionary=_REPEATED)
    return len(flat)


def _pairs(
    suite: Suite, wanted: Pairs, order: Sequence[str]
) -> dict[tuple[str, str], tuple[list[Pair], Seen]]:
    """By pair of versions, the samples of both and what has no partner."""
    place = {version: i for i, version in enumerate(order)}
    by_key: dict[Key, dict[str, Sample]] = {}
    for (key, version), sample in suite.samples.items():
        by_key.setdefault(key, {})[version] = sample
    found: dict[tuple[str, str], tuple[list[Pair], Seen]] = {}
    for key, own in by_key.items():
        there = sorted(own, key=lambda v: place[v])
        pairs = pairwise(there) if wanted == "consecutive" else combinations(there, 2)
        for x, y in wanted if isinstance(wanted, tuple) else pairs:
            of_two, rest = found.setdefault((x, y), ([], Seen()))
            if x in own and y in own:
                if (own[x].unit, own[x].direction) == (own[y].unit, own[y].direction):
                    of_two.append(Pair(key, own[x], own[y]))
                else:
                    rest.incomparable += 1
                    rest.problems.append(f"{key.benchmark}: {x} is in {own[x].unit or 'plain numbers'}, {y} in "
                                         f"{own[y].unit or 'plain numbers'}; they cannot be compared")  # fmt: skip
            elif x in own:
                rest.only_reference += 1
                rest.lacking.append(key.benchmark)
            elif y in own:
                rest.only_candidate += 1
    for _, rest in list(found.values())[:1]:
        rest.incomparable += len(suite.skipped)
        rest.problems += map(str, suite.skipped)
    return found


SPEEDS = ("speeds_reference", "speeds_candidate", "speeds_within")
"""What :func:`speedproof.protocols.machine_speeds.two_speeds_of` finds."""
SIDES = ("n", "observations", "mean", "median", "minimum", "maximum", "deviation", "mad")
FLOOR = ("deviation", "degrees", "sessions", "reach")
_REPEATED = ["metric", "reference", "candidate", "protocol", "verdict", "state", "test", "unit"]


def _row(versions: tuple[str, str], c: Comparison) -> tuple[Any, ...]:
    """A comparison as the columns that it has of its own."""
    chance, needed, certified = c.chance, c.needed, c.certified
    return (
        c.benchmark, c.metric, *versions, c.protocol, c.verdict.value, c.state.value, c.test, c.reference.unit,
        c.pvalue, c.pvalue_slower, c.at_margin.equivalent if c.at_margin else None,
        c.speedup.value, certified.low, certified.high,
        *((chance.value, chance.low, chance.high) if chance else (None, None, None)),
        *((needed.reference, needed.candidate) if needed else (None, None)),
        [check.kind.value for check in c.failed_checks],
        *(getattr(side, name) for side in (c.reference, c.candidate) for name in SIDES),
        *(getattr(c.floor, name, None) for name in FLOOR),
    )  # fmt: skip


def answer_columns() -> pa.Schema:
    """The columns of an answer."""
    pa = arrow()
    number, whole, text = pa.float64(), pa.int64(), pa.string()
    return pa.schema(
        [
            *((name, text) for name in ("benchmark", "metric", "reference", "candidate", "protocol", "verdict",
                                        "state", "test", "unit")),
            *((name, number) for name in ("pvalue", "pvalue_slower", "pvalue_equivalent", "speedup", "low", "high",
                                          "chance", "chance_low", "chance_high")),
            ("needed_reference", whole), ("needed_candidate", whole), ("failed", pa.list_(text)),
            *((f"{side}_{name}", whole if name in ("n", "observations") else number)
              for side in ("reference", "candidate") for name in SIDES),
            *((f"floor_{name}", whole if name == "sessions" else number) for name in FLOOR),
            *((name, number) for name in (*SPEEDS, *HPT)),
        ]
    )  # fmt: skip
