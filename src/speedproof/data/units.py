"""Units of measured values: parse them, bring them to a base unit, print values in them.

Every value is kept in a base unit (seconds, bytes, ...), so that samples of two tools can be compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from speedproof.errors import Parameter, UsageError

if TYPE_CHECKING:
    from speedproof.arrays import BoolArray, FloatArray


PROCESSOR_TIMES = ("user", "system", "cpu")
"""Times that the system counts, in steps that may exceed a short run."""


class Direction(StrEnum):
    """Which values of a metric are good."""

    LOWER = "lower"
    HIGHER = "higher"


class Unit(Struct, frozen=True):
    """A unit as a file names it: its base unit and, as a fraction, how many base units it holds."""

    # The base unit: ``"s"``, ``"B"``, ``"cycles"``, ``"J"``, ``"1/s"``, ...; ``""`` for a plain number
    base: str
    # A millisecond holds 1/1000 seconds
    numerator: int = 1
    denominator: int = 1

    @property
    def factor(self) -> float:
        """The number of base units in this unit."""
        return self.numerator / self.denominator

    def to_base(self, values: FloatArray) -> FloatArray:
        """Bring values to the base unit so that equal quantities stay equal, whatever unit they are written in.

        A value of up to 15 digits is taken for the decimal number that the file says. That decimal times the
        exact factor is rounded once, so 128.3 ms is the same double as 0.1283 s.

        Examples
        --------
        >>> import numpy as np
        >>> float(parse_unit("ms").to_base(np.array([128.3]))[0]), 128.3 / 1000, 128.3 * 1e-3
        (0.1283, 0.12830000000000003, 0.12830000000000003)
        """
        import numpy as np

        values = np.asarray(values, dtype=np.float64)
        if self.numerator == self.denominator:
            return values
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is refused where the sample is made
            return _scaled(values, self.numerator, self.denominator)

    def convert(self, value: float) -> float:
        """One value in the base unit, as :meth:`to_base` gives it."""
        import numpy as np

        return float(self.to_base(np.array([value]))[0])


# Every decimal number of 15 digits is a double of its own, and every whole number below 2^53 is a double.
_DIGITS = 1e15
_WHOLE = 2**53


def _scaled(values: FloatArray, numerator: int, denominator: int) -> FloatArray:
    """The decimals that values stand for times a fraction, correctly rounded."""
    import numpy as np

    if denominator == 1 and numerator & (numerator - 1) == 0:
        return values * float(numerator)  # a power of two changes no digit
    # The places of one value suffice for most; a number of fewer places gives the same quotient.
    result, small, same = _quotients(values, _places(values), numerator, denominator)
    short = small & same
    if short.all():
        return result
    todo = np.flatnonzero(~short)
    # All digits of a double, the result of a computation, unless a decimal is found.
    result[todo] = values[todo] * float(numerator) / float(denominator)
    least = np.min(np.abs(values), where=np.isfinite(values) & (values != 0), initial=_DIGITS)
    # Each is tried at the most places that it may have.
    for places in range(min(22, 15 - math.floor(math.log10(least))), -1, -1):
        if todo.size:
            quotients, small, same = _quotients(values[todo], places, numerator, denominator)
            result[todo[small & same]] = quotients[small & same]
            todo = todo[~small]
    return result


def _quotients(
    values: FloatArray, places: int, numerator: int, denominator: int
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Decimals of so many places times a fraction; which are small enough for that, which are such decimals."""
    import numpy as np

    # A decimal of this many places is m / 10^places: times the fraction, one division of whole numbers.
    scale = 10**places
    common = math.gcd(numerator, denominator * scale)
    up, down = numerator // common, denominator * scale // common
    most = 0.0 if int(float(down)) != down else _DIGITS if down == 1 else min(_DIGITS, _WHOLE / up)
    m = np.rint(values * float(scale))
    return m * float(up) / float(down), np.abs(m) < most, m / float(scale) == values


def _places(values: FloatArray) -> int:
    """How many decimal places the first value is shown with; a double's powers of ten are exact up to 22."""
    digits, _, exponent = repr(float(values[0])).partition("e") if values.size else ("", "", "")
    return min(max(len(digits.partition(".")[2]) - int(exponent or 0), 0), 22)


_SECONDS: dict[str, tuple[int, int]] = {
    "fs": (1, 10**15), "ps": (1, 10**12), "ns": (1, 10**9), "us": (1, 10**6), "µs": (1, 10**6), "μs": (1, 10**6),
    "ms": (1, 1000), "s": (1, 1), "m": (60, 1), "h": (3600, 1), "d": (86400, 1),
}  # fmt: skip
_NAMES = {
    "ns": "nsec nanosecond nanoseconds", "us": "usec microsecond microseconds",
    "ms": "msec millisecond milliseconds", "s": "sec secs second seconds", "m": "min minute minutes",
    "h": "hr hour hours", "d": "day",
}  # fmt: skip
_TIME = {name: _SECONDS[unit] for unit in _SECONDS for name in (unit, *_NAMES.get(unit, "").split())}
_MEMORY = {
    "B": 1, "byte": 1, "bytes": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_ENERGY = {
    "J": (1, 1), "mJ": (1, 1000), "uJ": (1, 10**6), "µJ": (1, 10**6), "nJ": (1, 10**9), "kJ": (1000, 1),
    "joule": (1, 1), "joules": (1, 1),
}  # fmt: skip
_CYCLES = {"cycles": 1, "cycle": 1, "clk": 1, "Kcycles": 10**3, "Mcycles": 10**6, "Gcycles": 10**9}

_BASES: dict[str, Unit] = {
    **{name: Unit("s", *fraction) for name, fraction in _TIME.items()},
    **{name: Unit("B", factor) for name, factor in _MEMORY.items()},
    **{name: Unit("J", *fraction) for name, fraction in _ENERGY.items()},
    **{name: Unit("cycles", factor) for name, factor in _CYCLES.items()},
    **{name: Unit("") for name in ("", "none", "1", "integer")},
}
# What a benchmark does once: "ns/op" is a time and "ops/s" a rate of it.
_PER_RUN = ("op", "ops", "iter", "iteration", "invocation", "call", "run", "elem", "element")
# "MB/s/op" has two; more are a file's garbage, not worth the recursion.
_MOST_SLASHES = 8


@lru_cache(maxsize=256)
def parse_unit(text: str) -> Unit:
    """Read a unit as benchmarking tools write it.

    An unknown unit is its own base: its values can be compared with those of the same unit only.
    """
    text = text.strip()
    if text in _BASES:
        return _BASES[text]
    numerator, slash, denominator = text.rpartition("/")
    if slash and text.count("/") <= _MOST_SLASHES:
        if denominator.lower() in _PER_RUN:
            inner = parse_unit(numerator)
            # "B/op" stays apart from "B": a rate of allocation is not a size.
            return inner if inner.base == "s" else replace(inner, base=f"{inner.base}/op")
        if denominator in _TIME:
            inner = parse_unit(numerator)
            up, down = inner.numerator * _TIME[denominator][1], inner.denominator * _TIME[denominator][0]
            common = math.gcd(up, down)
            return Unit(f"{inner.base or '1'}/s", up // common, down // common)
    return Unit(text)


def counted(base: str) -> bool:
    """Whether the unit is a count per operation (``"allocs/op"``), whose whole numbers are exact."""
    return base.endswith("/op") and base != "J/op"


def is_known(text: str) -> bool:
    """Whether the unit is known, or a rate; the direction of any other is unknown."""
    base = parse_unit(text).base
    return base.endswith("/s") or base.removesuffix("/op") in ("s", "B", "J", "cycles", "", "1")


def misspelt(text: str) -> str:
    """A message for an unknown unit that resembles a known one; empty otherwise."""
    name = text.strip()
    if parse_unit(name).base != name or name in _BASES:
        return ""
    alike = [unit for unit in _BASES if _typed(unit) == _typed(name)]
    from difflib import get_close_matches  # not for units that are known

    near = [unit for unit in _BASES if unit[:1] == name[:1].lower() and len(unit) > 2]
    meant = next(iter(alike or get_close_matches(name, near, 1, 0.85)), "")
    return meant and f"there is no unit {text!r}; do you mean {meant!r}?"


def _typed(unit: str) -> str:
    """The unit in lower case without repeated letters, to compare spellings."""
    return re.sub(r"(.)\1+", r"\1", unit.lower())


def parse_quantity(given: Parameter) -> tuple[float, str]:
    """Read a number with its unit: the value in the base unit, and that unit."""
    text = number = str(given.value).strip()
    while number and not _is_number(number):
        number = number[:-1]
    if not number:
        raise UsageError(given, " is not a number with a unit; write 12ms, for example")
    unit = parse_unit(text[len(number) :])
    return float(number) * unit.numerator / unit.denominator, unit.base


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


_RATE = (
    r"(?i)(?<![a-z])(throughput|bandwidth|scores?|fps|qps|rps|tps|iops|flops|ops)(?![a-z])"
    r"|(/|per[ _])s(ec(ond)?)?$"
)


@lru_cache(maxsize=256)
def direction_of(base: str, metric: str = "") -> Direction:
    """Tell which values are good when nobody has said so: rates high, all others low.

    They are known by their unit, and where it is none of ours by the name of the metric, too.
    """
    familiar = base and is_known(base)
    rate = base.endswith("/s") if familiar else any(re.search(_RATE, text) for text in (base, metric))
    return Direction.HIGHER if rate else Direction.LOWER


_METRICS = {"": "time", "s": "time", "B": "memory", "J": "energy", "cycles": "cycles"}


def metric_of(base: str) -> str:
    """Name what values of a base unit measure, for files that do not say it.

    Plain numbers are taken for times in a unit that nobody gave.
    """
    return "throughput" if base.endswith("/s") else _METRICS.get(base, base)


_TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
_SI_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BINARY_STEPS = ((2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
_SI_PREFIXED = r"^(B|J|cycles|[A-Za-z]+|1)(/s)?$"


def scale_of(magnitude: float, base: str, digits: int = 4) -> tuple[float, str]:
    """Choose a readable scale for a magnitude that is shown with so many digits: divisor and symbol to print."""
    magnitude = magnitude or 1.0
    if base == "s":
        return _step(magnitude, _TIME_STEPS, digits)
    if base in ("B", "B/op"):
        factor, prefix = _step(magnitude, _BINARY_STEPS, digits)
        return factor, prefix + base
    if base == "" or not re.match(_SI_PREFIXED, base):
        return 1.0, base
    factor, prefix = _step(magnitude, _SI_STEPS, digits)
    if base == "1/s":
        return factor, f"{prefix}/s" if prefix else "/s"
    return factor, f"{prefix} {base}" if len(base) > 1 and "/" not in base and prefix else f"{prefix}{base}"


def _step(magnitude: float, steps: Sequence[tuple[float, str]], digits: int) -> tuple[float, str]:
    """The largest step that the magnitude reaches when it is rounded in the scale below."""
    for _ in range(2):
        step = next((step for step in steps if magnitude >= step[0]), steps[-1])
        magnitude = float(f"{magnitude / step[0]:.{digits - 1}e}") * step[0]
    return step


def format_values(values: list[float], base: str, digits: int = 4) -> list[str]:
    """Print several values in one common scale, chosen by the largest of them."""
    factor, symbol = scale_of(max((abs(v) for v in values if math.isfinite(v)), default=1.0), base, digits)
    return [f"{v / factor:.{digits}g} {symbol}".rstrip() if math.isfinite(v) else "-" for v in values]


def format_value(value: float, base: str, digits: int = 4) -> str:
    """Print a value of a base unit with a readable prefix."""
    return format_values([value], base, digits)[0]


# Words that name what was measured.
QUANTITIES = frozenset(
    ("time", "times", "timing", "timings", "value", "values", "runtime", "runtimes", "elapsed", "duration",
     "durations", "latency", "sample", "samples", "run", "runs", "execution", "wall", "wallclock", "clock",
     "user", "real", "cpu", "sys", "system", "memory", "energy", "throughput", "measurement", "measurements",
     "observation", "observations", "cycles", "bytes")
)  # fmt: skip
IN_BRACKETS = r"(?P<name>[^(\[]*)[(\[](?P<unit>[^)\]]+)[)\]]"
_AT_THE_END = r"(?P<name>.*[_ ])?(?P<unit>[^_ ]+)"
_PER = r"(.*[_ ])?(?P<of>[A-Za-z]+)[_ ]per[_ ](?P<each>s|sec|second|min|minute)"
_SPELT_RATE = r"[A-Za-z1]+/(s|sec|second|min|minute|op|ops|iter|iteration|call|run)"
# These are units in capitals too; "MB" and "mB", "MIN" and "min" are not the same.
_ANY_CASE = ("ns", "us", "ms", "sec")
# Lowercase, as names are written, they stand for these.
_IN_SMALL = {unit.lower(): unit for unit in ("kB", "MB", "GB", "KiB", "MiB", "GiB")}


def known_unit(word: str) -> str | None:
    """The unit that a word is, spelled as :func:`~speedproof.data.units.parse_unit` knows it; else None."""
    any_case = word.lower() in _ANY_CASE or (len(word) > 3 and "/" not in word)
    for spelled in (word, word.lower()) if any_case else (_IN_SMALL.get(word, word),):
        if parse_unit(spelled).base in ("s", "B", "J", "cycles") or re.fullmatch(_SPELT_RATE, spelled):
            return spelled
    return None


def split_unit(name: str) -> tuple[str, str | None]:
    """Part a column's name from the unit that it ends with."""
    if match := re.fullmatch(IN_BRACKETS, name):
        rest, word = match["name"].strip("_ "), match["unit"].strip()
        # "time (wall)" says which time, not in which unit.
        return rest, known_unit(word) or (None if word.lower() in QUANTITIES else word)
    if match := re.fullmatch(_PER, name):  # a rate, of whatever its name says
        return name, f"{known_unit(match['of']) or 1}/{match['each']}"
    if match := re.fullmatch(_AT_THE_END, name):
        rest, word = (match["name"] or "").strip("_ "), match["unit"]
        # A single letter names many things; at the end of a name, and as "s" only, it is a unit. And "min" is
        # a minimum.
        is_unit = word != "min" if len(word) > 1 else word == "s" and rest
        if is_unit and (unit := known_unit(word)):
            return rest, unit
    return name, None
