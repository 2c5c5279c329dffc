"""A sample: the observations of one version on one benchmark, in run order."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from speedproof.data.units import Direction, direction_of
from speedproof.errors import DataError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_LARGE = 1e290


class Trait(StrEnum):
    """What is known about how a sample came to be."""

    ORDER_KNOWN = "order known"
    WARMUP_REMOVED = "warm-up removed"
    TRIMMED = "trimmed"
    SORTED = "sorted"
    SUMMARY_ONLY = "summary only"
    ONE_PROCESS = "one process"
    FAILED_RUNS = "failed runs"
    FAILED_LEFT_OUT = "failed runs left out"
    RANDOM_ORDER = "random order"
    STOPPED_ON_RESULT = "stopped on its result"
    TWO_PROGRAMS = "two programs"


class Sample(Struct, frozen=True, eq=False):
    """Observations of one version on one benchmark.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        In run order, in base units; read-only. Finite; none negative when the unit is time.
    unit : str
        The base unit, ``"s"`` for time.
    direction : Direction
        Whether lower or higher values are better.
    processes : ndarray of int64, shape (n,), or None
        The process that each value came from, None when every value has a process of its own or nothing
        is known. Values of one process are nested in it and not independent.
    label : str
        The version.
    source : str
        File and place, for messages.
    traits : frozenset of Trait
        What is known of the sample.
    notes : tuple of str
        Remarks made while reading.
    sessions : ndarray of int64, shape (n,), or None
        The sitting that each value was measured in, from 0 by first appearance, None for one sitting. Sessions
        are the top level of nesting: no process is in two.
    session_names : tuple of str
        The name of each. Samples that share one were measured in the same sitting.
    span : (float, float) or None
        The first and the last moment of measuring that the files tell, in seconds since 1970 (UTC).
    tool : str
        The format that it was read from; empty when it was given as numbers.
    position : int
        The place in its file among all that was read from it, in the order of the file.

    Raises
    ------
    DataError
        No values, a value that is not finite, a negative time, or processes or sessions of another length.

    Examples
    --------
    >>> import numpy as np
    >>> s = Sample(np.array([1.0, 3.0, 2.0, 4.0]), processes=np.array([0, 0, 1, 1]))
    >>> s.n, s.nested, s.per_process("mean").values.tolist()
    (4, True, [2.0, 3.0])
    """

    values: FloatArray
    unit: str = "s"
    direction: Direction | None = None
    processes: IntArray | None = None
    label: str = ""
    source: str = ""
    traits: frozenset[Trait] = frozenset()
    notes: tuple[str, ...] = ()
    sessions: IntArray | None = None
    session_names: tuple[str, ...] = ()
    span: tuple[float, float] | None = None
    tool: str = ""
    position: int = 0
    _found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        place = f"{self.source}: " if self.source else ""
        if values.ndim != 1 or values.size == 0:
            raise DataError(f"{place}a sample needs at least one value in one dimension")
        finite = np.isfinite(values)
        if not finite.all():
            at = int(np.argmin(finite))
            raise DataError(f"{place}value {at + 1} of {values.size} is {values[at]}, not a finite number")
        if self.unit == "s" and values.min() < 0:
            at = int(np.argmax(values < 0))
            raise DataError(
                f"{place}value {at + 1} of {values.size} is {values[at]:g}: a time is never negative"
            )
        values.flags.writeable = False
        force_setattr(self, "values", values)
        force_setattr(self, "_found", {})  # also of one made by replacing another's values
        if self.direction is None:
            force_setattr(self, "direction", direction_of(self.unit))
        for level, one in (("processes", "process"), ("sessions", "session")):
            given: IntArray | None = getattr(self, level)
            if given is not None:
                numbers = np.array(given, dtype=np.int64)
                if numbers.shape != values.shape:
                    raise DataError(f"{place}{values.size} values but {numbers.size} {one} numbers")
                numbers.flags.writeable = False
                force_setattr(self, level, numbers)

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return (
            f"<Sample{f' of {self.label}' if self.label else ''}: {self.n} value{'s' * (self.n != 1)}{unit}>"
        )

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.values.size)

    @property
    def process_count(self) -> int:
        """Number of independent processes; the number of values when nothing is known of processes."""
        if self.processes is None:
            return self.n
        if "processes" not in self._found:
            starts = _starts(self.processes)
            self._found["processes"] = int((np.unique(self.processes) if starts is None else starts).size)
        return int(self._found["processes"])

    @property
    def session_count(self) -> int:
        """Number of sittings; 1 when nothing is known of them."""
        return 1 if self.sessions is None else int(np.unique(self.sessions).size)

    @property
    def nested(self) -> bool:
        """Whether some process has more than one value."""
        return self.process_count < self.n

    @property
    def higher_is_better(self) -> bool:
        """Whether high values are good."""
        return self.direction is Direction.HIGHER

    def per_process(self, location: Literal["mean", "median"]) -> Sample:
        """One value a process: the mean or the median of its values, in order of first appearance.

        Returns
        -------
        Sample
            Not nested; itself when it was not.
        """
        if self.processes is None or not self.nested:
            return self
        if location not in self._found:
            self._found[location] = self._one_each(self.processes, location, self.sessions)
        reduced: Sample = self._found[location]
        return reduced

    def per_session(self, location: Literal["mean", "median"]) -> Sample:
        """One value a session: the mean or the median of its processes' values, in order of first appearance.

        Returns
        -------
        Sample
            Of one value when there is one session.
        """
        one_a_process = self.per_process(location)
        sessions = one_a_process.sessions
        if sessions is None:
            sessions = np.zeros(one_a_process.n, dtype=np.int64)
        return one_a_process._one_each(sessions, location, sessions)

    def _one_each(
        self, groups: IntArray, location: Literal["mean", "median"], sessions: IntArray | None
    ) -> Sample:
        """A value a group, none of which is nested in another but in its session."""
        # A sum may exceed the largest double where its mean does not.
        scale = 1.0 if np.abs(self.values).max() < _LARGE else 0.5 ** self.n.bit_length()
        grouped, starts = self.values * scale, _starts(groups)
        if starts is None:
            _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
            grouped = grouped[np.argsort(groups, kind="stable")]
            starts = np.cumsum(sizes) - sizes
        else:
            first, sizes = starts, np.diff(starts, append=self.n)
        order = np.argsort(first)
        reduced = np.empty(sizes.size)
        for size in sorted(set(sizes.tolist())):  # groups of equal sizes together
            own = np.flatnonzero(sizes == size)
            rows = grouped[starts[own, None] + np.arange(size)]
            if location == "median":
                rows = np.sort(rows, axis=1)[:, (size - 1) // 2 : size // 2 + 1]
            reduced[own] = rows.mean(axis=1) / scale
        return replace(
            self,
            values=reduced[order],
            processes=None,
            sessions=None if sessions is None else sessions[first[order]],
        )


def _starts(groups: IntArray) -> IntArray | None:
    """Where each group starts, if their numbers ascend as those of files mostly do."""
    steps = np.diff(groups)
    return None if (steps < 0).any() else np.append(0, np.flatnonzero(steps) + 1)
