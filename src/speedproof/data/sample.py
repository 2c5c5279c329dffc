"""A sample: the observations of one version on one benchmark, in run order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from speedproof.arrays import FloatArray, Groups, IntArray, NDArray, batches, groups_of, numbered, stacked
from speedproof.data.checked import checked, one_of
from speedproof.data.names import plural
from speedproof.data.units import PROCESSOR_TIMES, Direction, Unit, counted, direction_of, parse_unit
from speedproof.errors import DataError, Parameter, UsageError

LARGE = 1 << 14
"""Values of a sample from which on it remembers them in ascending order."""


_LEVELS = {"processes": "process", "sessions": "session", "blocks": "block"}


class Alike:
    """Equality by pickled state, with NaN equal to NaN."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or _alike(self, other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    if isinstance(a, Alike | Struct | partial):
        return type(a) is type(b) and _alike(a.__reduce_ex__(2), b.__reduce_ex__(2))
    return bool(a == b or (a != a and b != b))


class Trait(StrEnum):
    """A property of how a sample was measured."""

    __hash__ = str.__hash__  # Enum's own is a function in Python

    ORDER_KNOWN = "order known"
    WARMUP_REMOVED = "warm-up removed"
    TRIMMED = "trimmed"
    SORTED = "sorted"
    SUMMARY_ONLY = "summary only"
    ONE_PROCESS = "one process"
    BUILDS = "processes are builds"
    FAILED_RUNS = "failed runs"
    FAILED_LEFT_OUT = "failed runs left out"
    RANDOM_ORDER = "random order"
    IN_TURN = "rows of its own"
    STOPPED_ON_RESULT = "stopped on its result"
    PLAN_LOST = "plan lost"
    TWO_PROGRAMS = "two programs"
    OTHER_EXECUTABLE = "another executable than the reference's"
    MILLI = "written in thousandths"
    MICRO = "written in millionths"
    NANO = "written in billionths"


_SMALL_UNITS = {1000: Trait.MILLI, 10**6: Trait.MICRO, 10**9: Trait.NANO}
_WRITTEN_IN = {(1, parts): frozenset({small}) for parts, small in _SMALL_UNITS.items()}
_NOTHING = frozenset[Trait]()


def written_in(unit: Unit) -> frozenset[Trait]:
    """The resolution implied by a unit: 100 ms were read to the millisecond, 0.1 s were not."""
    return _WRITTEN_IN.get((unit.numerator, unit.denominator), _NOTHING)


def clock_of(metric: str) -> frozenset[Trait]:
    """The resolution of a metric that the operating system counts, whatever decimals are written."""
    step = {"time": Trait.NANO, **dict.fromkeys(PROCESSOR_TIMES, Trait.MICRO)}.get(metric)
    return frozenset() if step is None else frozenset({step})


def above_zero(value: float, unit: float) -> float:
    """A positive value for ratios: a clock's 0 counts as half of the unit it was written in."""
    return value or (0.5 * unit if unit < 1.0 else 0.0)


@cache
def written_unit(traits: frozenset[Trait]) -> float:
    """The unit in which values were written, in base units; 1 where that is not known to be smaller."""
    return min((1 / parts for parts, small in _SMALL_UNITS.items() if small in traits), default=1.0)


class Sample(Alike, Struct, frozen=True, eq=False, dict=True):
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
    blocks : ndarray of int64, shape (n,), or None
        The block that each value was measured in, where versions took turns: values of one session and one block
        were measured next to each other, in random order, and looked at after each block.
    fields : tuple of (str, str)
        What its file says of all values: parameters, configuration.

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
    blocks: IntArray | None = None
    fields: tuple[tuple[str, str], ...] = ()

    # What was computed of it before is in its __dict__; one made by replacing another's values begins anew.

    def __post_init__(self) -> None:
        place = f"{self.source}: " if self.source else ""
        values = _array(self.values)
        if values.dtype.kind not in "iuf":
            raise DataError(f"{place}a Sample is made of numbers; make it with sp.sample(values)")
        values = values.astype(np.float64, copy=False)
        unit: object = self.unit
        if not isinstance(unit, str) or parse_unit(unit).base != unit:
            raise DataError(
                f"{place}unit={unit!r}: a Sample has a base unit, such as 's'; "
                f"sp.sample(values, unit={unit!r}) converts"
            )
        if values.ndim != 1 or values.size == 0:
            raise DataError(f"{place}a sample needs at least one value in one dimension")
        least, most = values[values.argmin()], values[values.argmax()]  # a NaN is both
        if not (math.isfinite(least) and math.isfinite(most)):
            at = int(np.argmin(np.isfinite(values)))
            raise DataError(f"{place}value {at + 1} of {values.size} is not a finite number")
        if least < 0 and self.unit == "s":
            at = int(np.argmax(values < 0))
            raise DataError(
                f"{place}value {at + 1} of {values.size} is {values[at]:g}: a time is never negative"
            )
        values.setflags(write=False)
        force_setattr(self, "values", values)
        if type(self.direction) is not Direction:
            if self.direction not in (None, *Direction):
                raise DataError(f"{place}direction={self.direction!r}: expected 'lower' or 'higher'")
            force_setattr(self, "direction", Direction(self.direction or direction_of(self.unit)))
        if self.processes is self.sessions is self.blocks is None:
            return
        for level, one in _LEVELS.items():
            given: IntArray | None = getattr(self, level)
            if given is not None:
                numbers = _array(given)
                if numbers.shape != values.shape:
                    raise DataError(f"{place}{values.size} values but {numbers.size} {one} numbers")
                if numbers.dtype.kind not in "iu":
                    raise DataError(f"{place}expected whole numbers for {level}, not {numbers.dtype.name}")
                numbers = numbers.astype(np.int64, copy=False)
                numbers.flags.writeable = False
                force_setattr(self, level, numbers)

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"<Sample{f' of {self.label}' if self.label else ''}: {plural(self.n, 'value')}{unit}>"

    @property
    def n(self) -> int:
        """Number of observations."""
        return self.values.size

    @cached_property
    def ascending(self) -> FloatArray:
        """The values in ascending order."""
        ordered = np.sort(self.values)
        ordered.flags.writeable = False
        return ordered

    @cached_property
    def groups(self) -> Groups | None:
        """Which values are of one process; None when nothing is known of processes."""
        return None if self.processes is None else groups_of(self.processes)

    @cached_property
    def process_count(self) -> int:
        """Number of independent processes; the number of values when nothing is known of processes."""
        return self.n if self.groups is None else int(self.groups.sizes.size)

    @cached_property
    def session_count(self) -> int:
        """Number of sittings; 1 when nothing is known of them."""
        return 1 if self.sessions is None else int(groups_of(self.sessions).sizes.size)

    @property
    def nested(self) -> bool:
        """Whether some process has more than one value."""
        return self.processes is not None and self.process_count < self.values.size

    @property
    def higher_is_better(self) -> bool:
        """Whether high values are good."""
        return self.direction is Direction.HIGHER

    @property
    def exact(self) -> bool:
        """Whether it counts what an operation does (``"allocs/op"``) in whole numbers, or medians of such."""
        return counted(self.unit) and not (self.values % 0.5).any()

    @property
    def written_unit(self) -> float:
        """The unit in which the values were written, in base units; 1 where that is not known to be smaller."""
        return written_unit(self.traits)

    def per_process(self, location: Literal["mean", "median"]) -> Sample:
        """One value a process: the mean or the median of its values, in order of first appearance.

        Returns
        -------
        Sample
            Not nested; itself when it was not.
        """
        one_of("location", location, ("mean", "median"))
        if not self.nested:
            return self
        if location not in self.__dict__:
            reduce_together([self], location)
        reduced: Sample = self.__dict__[location]
        return reduced

    @checked()
    def first(self, runs: int) -> Sample:
        """The first runs only; of values nested in processes all values of the first processes.

        Parameters
        ----------
        runs : int
            How many, 1 or more.

        Returns
        -------
        Sample
            With a note of what was left out; itself when it has no more.

        Raises
        ------
        UsageError
            ``runs`` below 1, or values that are sorted, of which the first are no first runs.

        Examples
        --------
        >>> import numpy as np
        >>> s = Sample(np.array([3.0, 1.0, 2.0])).first(2)
        >>> s.values.tolist(), s.notes
        ([3.0, 1.0], ('the first 2 of 3 runs are used',))
        """
        if runs < 1:
            raise UsageError(Parameter("first", runs), ": expected how many runs to take, 1 or more")
        if self.process_count <= runs:
            return self
        if Trait.SORTED in self.traits:
            place = f"{self.source or self.label}: " if self.source or self.label else ""
            raise UsageError(
                Parameter("first", runs), f": {place}the values are sorted, so nobody knows the first"
            )
        kept = np.arange(self.n) < runs
        if self.processes is not None:
            kept = numbered(self.processes.tolist())[0] < runs
        what = "processes" if self.nested else "runs"
        note = f"the first {runs} of {self.process_count} {what} are used"
        return replace(self, values=self.values[kept], notes=(*self.notes, note), **levels_at(self, kept))

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
        groups = groups_of(sessions)
        values = groups.locations(one_a_process.values[None, :], location)[0]
        sessions = sessions[groups.first]
        return like(one_a_process, values, processes=None, sessions=sessions, blocks=None)


def _array(given: object) -> NDArray[Any]:
    """A copy, of objects where rows differ in length."""
    try:
        return np.array(given)
    except ValueError:
        return np.array(None)


def levels_at(sample: Sample, kept: NDArray[Any]) -> dict[str, IntArray]:
    """The processes, sessions and blocks of the values at the given positions."""
    levels = {level: getattr(sample, level) for level in _LEVELS}
    return {level: numbers[kept] for level, numbers in levels.items() if numbers is not None}


def like(sample: Sample, values: FloatArray, **others: object) -> Sample:
    """A copy with other values and fields, without validation.

    The arrays are its own from now on.
    """
    other = copy(sample)
    others["values"] = values
    for name, value in others.items():
        if isinstance(value, np.ndarray) and value.flags.writeable:
            value.flags.writeable = False
        force_setattr(other, name, value)
    return other


def least_values(samples: Sequence[Sample]) -> list[float]:
    """The smallest value of each."""
    least = [0.0] * len(samples)
    for members in batches((sample.n,) for sample in samples):
        minima = stacked([samples[i].values for i in members]).min(axis=1)
        for i, value in zip(members, minima.tolist(), strict=True):
            least[i] = value
    return least


def all_ascending(samples: Sequence[Sample]) -> FloatArray:
    """The values of samples of one size in ascending order, a row each; of large ones they are remembered."""
    if samples[0].n < LARGE:
        return np.sort(stacked([sample.values for sample in samples]))
    return stacked([sample.ascending for sample in samples])


def reduce_together(samples: Sequence[Sample], location: Literal["mean", "median"]) -> None:
    """Let many samples remember what :meth:`Sample.per_process` is; those of one nesting are reduced at once."""
    for members in batches(
        (sample.n, id(sample.groups)) if sample.nested and location not in sample.__dict__ else None
        for sample in samples
    ):
        some = [samples[i] for i in members]
        groups = some[0].groups
        assert groups is not None
        reduced = groups.locations(stacked([sample.values for sample in some]), location)
        for sample, values in zip(some, reduced, strict=True):
            sessions = None if sample.sessions is None else sample.sessions[groups.first]
            sample.__dict__[location] = like(sample, values, processes=None, sessions=sessions, blocks=None)
