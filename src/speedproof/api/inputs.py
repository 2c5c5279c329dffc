"""How speedups change with a parameter of the benchmarks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from speedproof.api.shown import Shown
from speedproof.data.names import enumerate_names
from speedproof.data.suite import Key, Suite
from speedproof.errors import UsageError
from speedproof.formats.versions import dimensions, without
from speedproof.protocols.inputs import Input, OverInputs, over_inputs
from speedproof.protocols.results import Comparison
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting.inputs import report
from speedproof.reporting.model import Report

_SIZE = re.compile(r"(?P<number>\d+(\.\d*)?) ?(?P<prefix>[kKMGT]?)(?P<binary>i?)[bB]?")

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OverResult(Shown, Struct, frozen=True):
    """Speedups over the inputs of benchmarks. ``print`` shows what ``speedproof compare --over`` adds.

    Attributes
    ----------
    found : tuple of OverInputs
        One for each benchmark, candidate and metric.
    problems : tuple of str
        What was left out, and why.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.compare_suite(sp.read("examples/sizes/session.jsonl", metric="time")).over("n")
    >>> found, [one.value for one in found["command"].inputs][:2]
    (<OverResult: 1 benchmark>, ['1000', '10000'])
    """

    found: tuple[OverInputs, ...]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[OverInputs]:
        """The benchmarks."""
        return iter(self.found)

    def __getitem__(self, benchmark: str) -> OverInputs:
        """One benchmark, of the first candidate."""
        for one in self.found:
            if one.benchmark == benchmark:
                return one
        names = enumerate_names(dict.fromkeys(one.benchmark for one in self.found))
        raise UsageError(f"no benchmark {benchmark!r} has several inputs, only: {names}")

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Speedups over the parameter, each with its bounds, and the lines; needs matplotlib."""
        from speedproof.plot.speedups import over

        return over(self.found, ax=ax)

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [report(self.found, self.problems, everything=everything, details=details)]

    def to_json(self) -> str:
        """Everything, in the envelope of all results."""
        from speedproof.reporting.json import to_json

        return to_json("over", self.found)

    def __repr__(self) -> str:
        return f"<OverResult: {len(self.found)} benchmark{'s' * (len(self.found) != 1)}>"


def over(suite: Suite, results: Sequence[SuiteComparison], parameter: str) -> OverResult:
    """Of comparisons of a suite's versions, those that differ in a parameter alone together."""
    families: dict[tuple[int, str], list[Input]] = {}
    known: dict[str, set[str]] = {}
    problems: list[str] = []
    without_it: dict[str, None] = {}
    sessions = {}
    for at, result in enumerate(results):
        for c in result.headlines:
            sides = [
                suite.samples[Key(c.benchmark, c.metric), v] for v in (result.reference, result.candidate)
            ]
            parts, there = (dimensions(c.benchmark, side.fields) for side in sides)
            for name in parts.keys() - {"benchmark", "name"}:
                known.setdefault(name, set()).add(parts[name])
            value = parts.get(parameter)
            if value != there.get(parameter):
                problems.append(f"{c.benchmark}: {parameter} is not the same in both versions")
            elif value is None:
                without_it.setdefault(c.benchmark)
            elif c.log is None:
                problems.append(
                    f"{c.benchmark}: a trend is of typical runs or means, not of the {c.protocol}"
                )
            else:
                name = without(c.benchmark, {parameter: value}, bare=True)
                families.setdefault((at, name), []).append(Input(value, _size(value), c))
                sessions[c.benchmark] = _sessions(c, sides[0].session_count, sides[1].session_count)
    lines = []
    for (at, name), inputs in families.items():
        if len(inputs) > 1:
            versions = (results[at].reference, results[at].candidate)
            lines.append(over_inputs((name, parameter), versions, inputs, sessions))
        else:
            problems.append(f"{name}: one input only ({parameter} = {inputs[0].value})")
    if not lines:
        varied = sorted(name for name, values in known.items() if len(values) > 1)
        there_is = enumerate_names(varied, 12) or "none"
        why = problems[0] if problems else f"the parameters of these benchmarks are {there_is}"
        raise UsageError(f"no two inputs that differ in {parameter}: {why}")
    if without_it:
        problems.append(f"without {parameter}: {enumerate_names(without_it, 3)}")
    return OverResult(tuple(lines), tuple(dict.fromkeys(problems)))


def _size(value: str) -> float | None:
    """A size as a number: ``"1e6"``, ``"64"``, ``"32kB"``, ``"4KiB"``, ``"10M"``."""
    try:
        size = float(value)
    except ValueError:
        match = _SIZE.fullmatch(value)
        if match is None:
            return None
        base, power = 1024.0 if match["binary"] else 1000.0, " kmgt".index(match["prefix"].lower() or " ")
        size = float(match["number"]) * base**power
    return size if 0.0 < size < math.inf else None


def _sessions(c: Comparison, old: int, new: int) -> tuple[float, float]:
    """What sessions add to the error of a logarithm, where that was counted in."""
    if c.floor is None:
        return 0.0, math.inf
    return c.floor.deviation * math.sqrt(1 / old + 1 / new), c.floor.degrees
