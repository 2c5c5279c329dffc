"""Units of measured values: parse them, bring them to a base unit, print values in them.

Every value is kept in a base unit (seconds, bytes, ...), so that samples of two tools can be compared.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

__all__ = ["Direction", "Unit", "direction_of", "format_value", "format_values", "metric_of", "parse_unit"]


class Direction(StrEnum):
    """Which values of a metric are good."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as a file names it: its base unit and how many base units it holds.

    Attributes
    ----------
    base : str
        The base unit: ``"s"``, ``"B"``, ``"cycles"``, ``"J"``, ``"1/s"``, ...; ``""`` for a plain number.
    factor : float
        How many base units it holds.
    """

    base: str
    factor: float

    def to_base(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Bring values to the base unit, with one rounding a value.

        Most factors below one (1e-9, 1/60) are no binary fractions, but their reciprocals are whole
        numbers: dividing by those rounds once where multiplying rounds twice.

        Parameters
        ----------
        values : ndarray of float64
            In this unit.

        Returns
        -------
        ndarray of float64
            In base units.

        Examples
        --------
        >>> import numpy as np
        >>> float(parse_unit("ns").to_base(np.array([3.0]))[0]), 3.0 * 1e-9
        (3e-09, 3.0000000000000004e-09)
        """
        divisor = _whole_reciprocal(self.factor)
        if divisor is not None:
            return values / divisor
        with np.errstate(over="ignore"):  # infinity is refused where the sample is made
            return values * self.factor


def _whole_reciprocal(factor: float) -> float | None:
    """1 / factor when that is a whole number, up to the rounding of the factor; else None."""
    if not 0.0 < factor < 1.0:
        return None
    divisor = float(round(1.0 / factor))
    return divisor if 1.0 / divisor == factor else None


_TIME = {
    "fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0,
    "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "nsec": 1e-9, "usec": 1e-6, "msec": 1e-3,
    "nanosecond": 1e-9, "nanoseconds": 1e-9, "microsecond": 1e-6, "microseconds": 1e-6,
    "millisecond": 1e-3, "milliseconds": 1e-3, "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0, "day": 86400.0, "d": 86400.0,
}  # fmt: skip
_MEMORY = {
    "B": 1.0, "byte": 1.0, "bytes": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40,
}  # fmt: skip
_ENERGY = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "µJ": 1e-6, "nJ": 1e-9, "kJ": 1e3, "joule": 1.0, "joules": 1.0}
_CYCLES = {"cycles": 1.0, "cycle": 1.0, "clk": 1.0, "Kcycles": 1e3, "Mcycles": 1e6, "Gcycles": 1e9}

_BASES: dict[str, Unit] = {
    **{name: Unit("s", factor) for name, factor in _TIME.items()},
    **{name: Unit("B", factor) for name, factor in _MEMORY.items()},
    **{name: Unit("J", factor) for name, factor in _ENERGY.items()},
    **{name: Unit("cycles", factor) for name, factor in _CYCLES.items()},
    "": Unit("", 1.0),
    "none": Unit("", 1.0),
    "1": Unit("", 1.0),
    "integer": Unit("", 1.0),
}
# What a benchmark does once: "ns/op" is a time and "ops/s" a rate of it.
_PER_RUN = ("op", "ops", "iter", "iteration", "invocation", "call", "run", "elem", "element")
# "MB/s/op" has two; more are a file's garbage, not worth the recursion.
_MOST_SLASHES = 8


def parse_unit(text: str) -> Unit:
    """Read a unit as benchmarking tools write it.

    An unknown unit is its own base: its values can be compared with those of the same unit only.

    Parameters
    ----------
    text : str
        For example ``"ms"``, ``"ns/op"``, ``"MB/s"``, ``"ops/min"``, ``"cycles"`` or ``""``.

    Returns
    -------
    Unit
        The base unit and the factor that leads to it.

    Examples
    --------
    >>> parse_unit("ms"), parse_unit("ns/op"), parse_unit("ops/min").base
    (Unit(base='s', factor=0.001), Unit(base='s', factor=1e-09), 'ops/s')
    >>> parse_unit("widgets")
    Unit(base='widgets', factor=1.0)
    """
    text = text.strip()
    if text in _BASES:
        return _BASES[text]
    numerator, slash, denominator = text.rpartition("/")
    if slash and text.count("/") <= _MOST_SLASHES:
        if denominator.lower() in _PER_RUN:
            inner = parse_unit(numerator)
            # "B/op" stays apart from "B": a rate of allocation is not a size.
            return inner if inner.base == "s" else Unit(f"{inner.base}/op", inner.factor)
        if denominator in _TIME:
            inner = parse_unit(numerator)
            base = inner.base or "1"
            seconds = _TIME[denominator]
            return Unit(f"{base}/s", inner.factor * (_whole_reciprocal(seconds) or 1.0 / seconds))
    return Unit(text, 1.0)


def direction_of(base: str) -> Direction:
    """Tell which values of a base unit are good when nobody has said so: rates high, all others low.

    Examples
    --------
    >>> direction_of("s").value, direction_of("B/s").value
    ('lower', 'higher')
    """
    return Direction.HIGHER if base.endswith("/s") else Direction.LOWER


_METRICS = {"": "time", "s": "time", "B": "memory", "J": "energy", "cycles": "cycles"}


def metric_of(base: str) -> str:
    """Name what values of a base unit measure, for files that do not say it.

    Plain numbers are taken for times in a unit that nobody gave.

    Examples
    --------
    >>> metric_of("s"), metric_of("ops/s"), metric_of("J"), metric_of("widgets")
    ('time', 'throughput', 'energy', 'widgets')
    """
    return "throughput" if base.endswith("/s") else _METRICS.get(base, base)


_TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
_SI_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BINARY_STEPS = ((2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
_SI_PREFIXED = re.compile(r"^(B|J|cycles|[A-Za-z]+|1)(/s)?$")


def _scale(magnitude: float, base: str) -> tuple[float, str]:
    if base == "s":
        return next((step for step in _TIME_STEPS if magnitude >= step[0]), _TIME_STEPS[-1])
    if base in ("B", "B/op"):
        factor, prefix = next((step for step in _BINARY_STEPS if magnitude >= step[0]), _BINARY_STEPS[-1])
        return factor, prefix + base
    if base == "" or not _SI_PREFIXED.match(base):
        return 1.0, base
    factor, prefix = next((step for step in _SI_STEPS if magnitude >= step[0]), _SI_STEPS[-1])
    if base == "1/s":
        return factor, f"{prefix}/s" if prefix else "/s"
    return factor, f"{prefix} {base}" if len(base) > 1 and "/" not in base and prefix else f"{prefix}{base}"


def scale_of(magnitude: float, base: str) -> tuple[float, str]:
    """Choose a readable scale: divide by the factor and print the symbol; what an axis of a chart needs.

    Examples
    --------
    >>> scale_of(0.0123, "s")
    (0.001, 'ms')
    """
    return _scale(magnitude or 1.0, base)


def format_values(values: list[float], base: str, digits: int = 4) -> list[str]:
    """Print several values in one common scale, chosen by the largest of them.

    Examples
    --------
    >>> format_values([0.0123, 0.00098], "s", 3)
    ['12.3 ms', '0.98 ms']
    """
    finite = [abs(v) for v in values if math.isfinite(v)]
    magnitude = max(finite, default=1.0)
    factor, symbol = _scale(magnitude or 1.0, base)
    return [f"{v / factor:.{digits}g} {symbol}".rstrip() if math.isfinite(v) else "-" for v in values]


def format_value(value: float, base: str, digits: int = 4) -> str:
    """Print a value of a base unit with a readable prefix.

    Parameters
    ----------
    value : float
        In base units.
    base : str
        The base unit.
    digits : int
        Significant digits.

    Examples
    --------
    >>> format_value(0.01234, "s"), format_value(3e6, "B/s"), format_value(2048.0, "B")
    ('12.34 ms', '3 MB/s', '2 KiB')
    """
    return format_values([value], base, digits)[0]
