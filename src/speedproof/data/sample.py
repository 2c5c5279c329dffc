"""A sample: the observations of one version on one benchmark, in run order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from speedproof.data.units import Direction, direction_of
from speedproof.errors import DataError

__all__ = ["FloatArray", "IntArray", "Sample", "Trait"]

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


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
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

    Raises
    ------
    DataError
        No values, a value that is not finite, a negative time, or processes of another length.

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
    notes: tuple[str, ...] = field(default=())

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
        object.__setattr__(self, "values", values)
        if self.direction is None:
            object.__setattr__(self, "direction", direction_of(self.unit))
        if self.processes is not None:
            processes = np.array(self.processes, dtype=np.int64)
            if processes.shape != values.shape:
                raise DataError(f"{place}{values.size} values but {processes.size} process numbers")
            processes.flags.writeable = False
            object.__setattr__(self, "processes", processes)

    @property
    def n(self) -> int:
        """Number of observations."""
        return int(self.values.size)

    @property
    def process_count(self) -> int:
        """Number of independent processes; the number of values when nothing is known of processes."""
        return self.n if self.processes is None else int(np.unique(self.processes).size)

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

        Parameters
        ----------
        location : {"mean", "median"}
            What stands for a process.

        Returns
        -------
        Sample
            Not nested; itself when it was not.
        """
        if self.processes is None or not self.nested:
            return self
        _, first, inverse = np.unique(self.processes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        reduce = np.mean if location == "mean" else np.median
        # A sum may exceed the largest double where its mean does not.
        scale = 1.0 if np.abs(self.values).max() < _LARGE else 0.5 ** self.n.bit_length()
        values = np.array([reduce(self.values[inverse == k] * scale) / scale for k in order])
        return Sample(
            values, self.unit, self.direction, None, self.label, self.source, self.traits, self.notes
        )
