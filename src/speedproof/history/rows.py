"""What the store gives: series, measurements reduced to their locations, what people decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import BoolArray, FloatArray, IntArray
from speedproof.data.suite import Key
from speedproof.history.commits import Commit

State = Literal["blessed", "invalid", "fixed", "confirmed", "refuted", "noted", "assigned", "reopened"]
DECIDED: frozenset[State] = frozenset({"blessed", "fixed", "refuted"})
"""The states that settle a change."""


class Added(Struct, frozen=True):
    """The outcome of adding a file."""

    path: str  # the file
    samples: int  # samples that are new in the store; 0 for a file that was there already
    commits: tuple[str, ...]  # names of the commits they belong to
    known: bool  # whether the same file had been added before
    problems: tuple[str, ...] = ()  # what could not be added, or is not followed
    unknown: tuple[str, ...] = ()  # commits that git does not know, where there is a repository
    there: int = 0  # samples that were there already


class StoredSeries(Struct, frozen=True):
    """One metric of one benchmark in the store."""

    id: int
    key: Key
    unit: str
    higher_is_better: bool


class Triage(Struct, frozen=True):
    """A decision on a change at a commit."""

    commit: str  # the first commit after the change
    benchmark: str  # empty for every benchmark
    # Accepted; noise; undone since; measured again, and shown or not; a remark; who looks after it; all taken back
    state: State
    # Why (or what was remarked, or to whom it was assigned), by whom, when (ISO 8601, UTC)
    reason: str
    who: str
    at: str


class Announced(Struct, frozen=True):
    """An alarm that a command was notified of."""

    confirmed: bool
    series: int
    basis: str
    commit: str
    factor: float


def remeasured(metric: str, basis: str) -> str:
    """The reason of what measuring again decided: which metric, on which machine or relative to which anchor."""
    return f"{metric} on {basis}"


REMEASURED = frozenset({"confirmed", "refuted"})
"""The states that a new measurement decides."""


def standing(
    decisions: Iterable[Triage],
    benchmark: str,
    concerned: Callable[[Triage], bool],
    *,
    measured: str = "",
    drift: bool = False,
) -> list[Triage]:
    """The decisions on a change or alarm of a benchmark, oldest first, that were not taken back.

    What was ``measured`` again (:func:`remeasured`; of older stores nobody knows) is said anew each time, and
    falls with what was measured of its commit, not with a decision.
    Where a drift is found is no commit's doing: what settles a commit's changes settles none that passes there.
    """
    said: list[Triage] = []
    left_out: dict[
        str, list[Triage]
    ] = {}  # what was measured again of commits whose measurements are left out
    for one in decisions:
        again = one.state in REMEASURED
        if one.benchmark not in ("", benchmark) or (again and one.reason not in ("", measured)):
            continue
        if one.state == "reopened":
            back = concerned(one)
            said = [d for d in said if d.state in REMEASURED or not (back or d.commit == one.commit)]
            said += left_out.pop(one.commit, [])
            continue
        if one.state == "invalid":
            fallen = [d for d in said if d.state in REMEASURED and d.commit == one.commit]
            left_out.setdefault(one.commit, []).extend(fallen)
            said = [d for d in said if d not in fallen]
        if concerned(one) and not (drift and one.benchmark == "" and one.state in DECIDED):
            if again:
                left_out.clear()
                said = [d for d in said if d.state not in REMEASURED]
            said.append(one)
    return said


def confirmed(said: Iterable[Triage]) -> bool:
    """Whether a new measurement confirmed it."""
    return any(d.state == "confirmed" for d in said)


class Measurements(Struct, frozen=True, eq=False):
    """Many measurements, a column each: of a million, objects would be too many.

    ``commit`` holds places in ``commits``; ``low`` and ``high`` are NaN where values are too few for an interval.
    """

    series: IntArray
    session: IntArray
    machine: IntArray
    commit: IntArray
    anchor: BoolArray
    location: FloatArray
    low: FloatArray
    high: FloatArray
    sample: IntArray
    commits: tuple[Commit, ...]

    def __len__(self) -> int:
        return int(self.series.size)

    def where(self, chosen: BoolArray | IntArray | slice) -> Measurements:
        """A selection of rows."""
        columns = [name for name in self.__struct_fields__ if name != "commits"]
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})


class QueriedSample(Struct, frozen=True):
    """A sample of the store without its values; ``median``, ``low`` and ``high`` are in the base unit ``unit``."""

    commit: str
    date: str
    subject: str
    benchmark: str
    metric: str
    unit: str
    n: int
    median: float
    low: float | None
    high: float | None
    anchor: bool
    machine: str
    session: str
    started: str
    file: str
