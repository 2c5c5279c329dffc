"""Two versions, or many pairs of them, on every benchmark of a corpus: a row a comparison, written while it goes.

Each part of the corpus is a task: its worker reads the samples, asks the protocols, writes the answers as one
Parquet file and keeps what it adds to the whole in that file's footer. A file that is there is done.
"""

from __future__ import annotations

import csv
import gc
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import fsum, isnan, nan
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.conclude.suite import all_caveats, located
from speedproof.corpus.answers import FLOOR_FILE, HERE, Answers, How, Task, answered
from speedproof.corpus.place import Place, arrays, arrow, filled, fingerprint
from speedproof.corpus.read import rows_of
from speedproof.corpus.schema import opened, suite_of
from speedproof.data.notes import Assumption
from speedproof.data.record import pairing
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pairing, Suite
from speedproof.errors import FormatError, UsageError
from speedproof.options import ASKED, QuestionName
from speedproof.protocols.aggregates import LOCATIONS, Location, LogRatios, log_ratios
from speedproof.protocols.caveats import two_speeds_of
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.pair import DEFAULT, PreparedPairs, Rules
from speedproof.protocols.questions import answers, headline_of
from speedproof.protocols.results import CHANGED, Comparison, size_of

if TYPE_CHECKING:
    import pyarrow as pa

_TOGETHER = 2048
_NAMED, _PAIRS = 20, 20

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
    _, manifest = opened(corpus)
    for one, other in asked.pairs if isinstance(asked.pairs, tuple) else ():
        if one == other:
            raise UsageError(f"{one}: a version is not compared with itself")
    question_asked, beside = asked, {}
    if asked.rules.floor is not None:
        beside[FLOOR_FILE] = msgspec.msgpack.encode(asked.rules.floor)
        rules = replace(asked.rules, floor=None)
        question_asked = replace(asked, rules=rules, floor=fingerprint(beside[FLOOR_FILE]))
    question = (question_asked, tuple(manifest.versions))
    return answered(corpus, "compare", question, compare_part, how, beside=beside)


def pairs_in_file(path: str) -> tuple[tuple[str, str], ...]:
    """Pairs of versions in a file: reference and candidate on each line, separated by a comma or a tab."""
    text = Path(path).read_text(encoding="utf-8")
    pairs = []
    for i, row in enumerate(csv.reader(text.splitlines(), delimiter="\t" if "\t" in text else ","), 1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells or (i == 1 and cells == ["reference", "candidate"]):
            continue
        if len(cells) != 2:
            raise UsageError(f"{path}: line {i}: name two versions, the reference and the candidate")
        pairs.append((cells[0], cells[1]))
    if not pairs:
        raise UsageError(f"{path}: names no pairs of versions")
    return tuple(dict.fromkeys(pairs))


@lru_cache(1)
def _floor_in(folder: str, digest: str) -> NoiseFloor:
    """The noise floor beside the answers."""
    try:
        return msgspec.msgpack.decode(Place.of(folder).read(FLOOR_FILE), type=NoiseFloor)
    except (OSError, msgspec.MsgspecError) as error:
        raise FormatError(f"{folder}/{FLOOR_FILE}", "", f"the file is damaged or gone: {error}") from None


def compare_part(task: Task) -> int:
    """Answer one part; how many comparisons that were."""
    collects = gc.isenabled()
    gc.disable()  # a part makes many objects and no cycles, so a look for cycles costs a quarter more for nothing
    try:
        return _compare_part(task)
    finally:
        if collects:
            gc.enable()


def _compare_part(task: Task) -> int:
    asked, order = task.asked
    rules = asked.rules if not asked.floor else replace(asked.rules, floor=_floor_in(task.out, asked.floor))
    suite, paired = pairs_of(task.corpus, task.files, asked, order)
    pairs = [pair for of_two in paired.values() for pair in of_two.pairs]
    by_protocol: dict[str, list[Comparison]] = {protocol: [] for protocol in asked.protocols}
    places: dict[Location, list[float]] = {at: [] for at in LOCATIONS}
    for at in range(0, len(pairs), _TOGETHER):
        prepared = PreparedPairs(pairs[at : at + _TOGETHER], rules)
        for protocol in asked.protocols:
            by_protocol[protocol] += answers(protocol, prepared)
        for location, values in located(prepared).items():
            places[location] += values
    heads, note, skipped = by_protocol[headline_of(asked.protocols)], [], list(map(str, suite.skipped))
    start = end = 0
    for versions, of_two in paired.items():
        start, end = end, end + len(of_two.pairs)
        totals = [[fsum(places[at][2 * start + i : 2 * end : 2]) for i in (0, 1)] for at in LOCATIONS]
        seen = Seen.of(of_two, versions, rules, skipped, heads[start:end], totals)
        note.append((versions, msgspec.to_builtins(seen)))
        skipped = []
    said = {"pairs": note, "held": [(v, *of) for v, of in Held.of(suite).by.items()]}
    task.keep(_rows_of(by_protocol, two_speeds_of(pairs)), said, use_dictionary=_REPEATED)
    return len(pairs)


def pairs_of(
    corpus: str, files: Sequence[str], asked: Asked, order: Sequence[str]
) -> tuple[Suite, dict[tuple[str, str], Pairing]]:
    """What a part holds of the versions that are asked about, and matched by pair of these."""
    named = {version for pair in asked.pairs for version in pair} if isinstance(asked.pairs, tuple) else None
    suite = suite_of(rows_of(corpus, files, asked.where, metric=[asked.metric], version=named))
    return suite, _paired(suite, asked.pairs, order)


def _paired(suite: Suite, wanted: Pairs, order: Sequence[str]) -> dict[tuple[str, str], Pairing]:
    """By pair of versions, the samples of both and what has no partner."""
    of: dict[str, dict[Key, Sample]] = {version: {} for version in order}
    for (key, version), sample in suite.samples.items():
        of[version][key] = sample
    if isinstance(wanted, tuple):
        return {(x, y): pairing(x, of[x], y, of[y]) for x, y in wanted}
    together: dict[tuple[str, str], list[Key]] = {}
    for key in dict.fromkeys(key for key, _ in suite.samples):
        there = [version for version in order if key in of[version]]
        for two in pairwise(there) if wanted == "consecutive" else combinations(there, 2):
            together.setdefault(two, []).append(key)
    return {
        (x, y): pairing(x, {key: of[x][key] for key in keys}, y, {key: of[y][key] for key in keys})
        for (x, y), keys in together.items()
    }


class Held(msgspec.Struct):
    """Versions with what they have and no other: what any of them lacks, whoever it is compared with."""

    by: dict[tuple[str, ...], tuple[int, list[str]]] = {}  # how many benchmarks, and the first names

    @classmethod
    def of(cls, suite: Suite) -> Held:
        """What a part holds."""
        versions: dict[Key, list[str]] = {}
        for key, version in suite.samples:
            versions.setdefault(key, []).append(version)
        names: dict[tuple[str, ...], list[str]] = {}
        for key, some in versions.items():
            names.setdefault((*sorted(some),), []).append(key.benchmark)
        return cls({some: (len(of), sorted(of)[:_NAMED]) for some, of in names.items()})

    def add(self, parts: Iterable[tuple[Sequence[str], int, list[str]]]) -> None:
        """Take in what another part holds."""
        for versions, count, names in parts:
            before, known = self.by.get((*versions,), (0, []))
            self.by[(*versions,)] = before + count, sorted([*known, *names])[:_NAMED]

    def lacking(self, has: str = "", lacks: str = "") -> tuple[int, tuple[str, ...]]:
        """How many benchmarks one version has and another lacks, or some lacks, and the first names."""
        every = set[str]().union(*self.by)
        chosen = [of for v, of in self.by.items() if (has in v and lacks not in v if has else every - {*v})]
        return sum(count for count, _ in chosen), (*sorted(n for _, some in chosen for n in some)[:_NAMED],)


class Seen(msgspec.Struct):
    """What a part says of one pair of versions: counts and sums, which are merged in the order of the parts.

    So the whole never depends on who worked on a part, or when.
    """

    pairs: int = 0
    problems: list[str] = []
    incomparable: int = 0
    ratios: LogRatios = msgspec.field(default_factory=LogRatios)
    totals: list[list[float]] = msgspec.field(default_factory=lambda: [[0.0, 0.0] for _ in LOCATIONS])
    rates: bool = False
    caveats: list[tuple[str, tuple[str, ...], int, str, float | None]] = []

    @classmethod
    def of(
        cls,
        pairing: Pairing,
        versions: tuple[str, str],
        rules: Rules,
        skipped: Sequence[str],
        heads: Sequence[Comparison],
        totals: list[list[float]],
    ) -> Seen:
        """Of pairs, what could not be read, the answers to the headline question, and both sides' totals."""
        problems = [*(reason for _, reason in pairing.incomparable), *skipped]
        return cls(
            pairs=len(pairing.pairs),
            problems=problems[:_NAMED],
            incomparable=len(problems),
            ratios=log_ratios(heads),
            totals=totals,
            rates=any(pair.reference.higher_is_better for pair in pairing.pairs[:1]),
            caveats=[
                (c.kind.name, c.versions, len(c.benchmarks) or len(pairing.pairs), c.message, c.statistic)
                for c in all_caveats(pairing.pairs, heads, versions, rules)
            ],
        )

    def add(self, other: Seen) -> None:
        """Take in what another part says."""
        self.pairs += other.pairs
        self.incomparable += other.incomparable
        self.problems = [*self.problems, *other.problems][:_NAMED]
        self.ratios.add(other.ratios)
        self.totals = [[a + c, b + d] for (a, b), (c, d) in zip(self.totals, other.totals, strict=True)]
        self.rates = self.rates or other.rates
        self.caveats = [*self.caveats, *other.caveats]


def merged(
    notes: Iterable[Any], shown: Collection[tuple[str, str]]
) -> tuple[dict[tuple[str, str], Seen], Held]:
    """The parts in their order: of many pairs of versions the first ones, and those shown."""
    pairs: dict[tuple[str, str], Seen] = {}
    held = Held()
    for note in notes:
        held.add(note["held"])
        for versions, part in msgspec.convert(note["pairs"], list[tuple[tuple[str, str], Seen]]):
            if versions in pairs or versions in shown or len(pairs) < _PAIRS:
                pairs.setdefault(versions, Seen()).add(part)
    return pairs, held


SPEEDS = ("speeds_reference", "speeds_candidate", "speeds_within")
"""What :func:`speedproof.protocols.caveats.two_speeds_of` finds."""
PVALUES = ("pvalue", "pvalue_slower", "pvalue_equivalent")
"""Of the claims, in their order."""


def _bound(c: Comparison) -> float | None:
    """By how much at least it changed; 1 where no more is proven."""
    return None if c.verdict not in CHANGED else 1.0 if isnan(bound := size_of(c)[1]) else bound


_COLUMNS: dict[str, dict[str, Callable[[Comparison], Any]]] = {
    "string": {
        **{name: attrgetter(name) for name in ("benchmark", "metric", "protocol", "verdict", "state", "test")},
        "reference": attrgetter("reference.label"), "candidate": attrgetter("candidate.label"),
        "unit": attrgetter("reference.unit"),
    },
    "bool": {"proven": attrgetter("proven"), "paired": attrgetter("paired")},
    "double": {
        **{name: attrgetter(name) for name in PVALUES[:2]},
        PVALUES[2]: lambda c: c.at_margin.equivalent if c.at_margin else nan,
        "speedup": attrgetter("speedup.value"),
        "low": attrgetter("certified.low"), "high": attrgetter("certified.high"), "bound": _bound,
        "chance": lambda c: c.chance and c.chance.value,
        "chance_low": lambda c: c.chance and c.chance.low,
        "chance_high": lambda c: c.chance and c.chance.high,
        "floor_reach": lambda c: c.floor and c.floor.reach,
        **{f"{side}_{name}": attrgetter(f"{side}.{name}")
           for side in ("reference", "candidate")
           for name in ("mean", "median", "minimum", "maximum", "deviation", "mad")},
    },
    "int64": {
        "needed_reference": lambda c: c.needed and c.needed.reference,
        "needed_candidate": lambda c: c.needed and c.needed.candidate,
        **{f"{side}_{name}": attrgetter(f"{side}.{name}")
           for side in ("reference", "candidate") for name in ("n", "observations")},
    },
}  # fmt: skip
_KINDS = {kind: kind.value for kind in Assumption}  # which costs less than its property
_REPEATED = ["metric", "reference", "candidate", "protocol", "verdict", "state", "test", "unit"]


def _rows_of(by_protocol: Mapping[str, Sequence[Comparison]], speeds: FloatArray) -> pa.Table:
    """The answers of all protocols; the speeds of each pair stand in the rows of the first one."""
    schema, tables = answer_columns(), []
    cells: dict[str, list[Any]] = {}
    made: dict[str, pa.Array] = {}
    beside = {
        name: [None if isnan(v) else v for v in of]
        for name, of in zip(SPEEDS, speeds.T.tolist(), strict=True)
    }
    for comparisons in by_protocol.values():
        before, cells = (
            cells,
            {n: list(map(of, comparisons)) for names in _COLUMNS.values() for n, of in names.items()},
        )
        cells["failed"] = [[_KINDS[note.kind] for note in c.checks if not note.held] for c in comparisons]
        made |= arrays({name: of for name, of in cells.items() if of != before.get(name)}, schema)
        tables.append(filled(made | arrays(beside, schema), schema))
        beside = {}
    return arrow().concat_tables(tables)


def answer_columns() -> pa.Schema:
    """The columns of an answer."""
    pa = arrow()
    return pa.schema(
        [
            *((name, pa.type_for_alias(kind)) for kind, names in _COLUMNS.items() for name in names),
            ("failed", pa.list_(pa.string())),
            *((name, pa.float64()) for name in SPEEDS),
        ]
    )
