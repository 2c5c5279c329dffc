"""Hierarchical Performance Testing in words: who outperforms whom, then the benchmarks that say so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from speedproof.data.notes import Assumption
from speedproof.data.suite import Pair, Suite
from speedproof.declaring import EXAMPLES, proportion_given
from speedproof.protocols.caveats import MachineSpeeds, caveats_of, few_values
from speedproof.protocols.hpt import AS_GIVEN, HptClaim, HptClaims
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.results import Comparison, Hpt, RSpeedup, Winner
from speedproof.protocols.typical import single_runs
from speedproof.protocols.units import typical_units
from speedproof.reporting.model import (
    Cell,
    Column,
    Report,
    Row,
    Style,
    Table,
    Text,
    folded,
    hint_of_all,
    right,
)
from speedproof.reporting.names import benchmark_column, enumerate_names, labels, shortened, spoken
from speedproof.reporting.notes import caveats as told_caveats
from speedproof.reporting.notes import doubts, two_speeds
from speedproof.reporting.numbers import factor, percent, plural, pvalue, values
from speedproof.reporting.shown import Shown
from speedproof.stats.scaling import median

_STYLES: dict[Winner, Style] = {Winner.CANDIDATE: "good", Winner.REFERENCE: "bad", Winner.TIE: "strong"}
_TITLE, _NAME = 14, 24
_TOGETHER = 2048  # comparisons
_SURE = 0.95  # the confidence that is usually asked
_STEADY = ", were the machine steady"
_ASKED = "Whole suite (HPT): "  # compare asks of each benchmark
_DEPENDENT = "HPT takes runs for independent that are alike or drift: measure in turns, with 'speedproof run'"


def conclusion(result: Hpt, reference: str, candidate: str, *, shaken: bool = False) -> str:
    """The answer in one sentence, which is no proof where two speeds of the machine have ``shaken`` the suite."""
    reference, candidate = spoken([reference, candidate])
    if result.winner is Winner.TIE or result.confidence <= 0.5:
        return f"{_ASKED}neither {candidate} nor {reference} is shown to outperform the other."
    ahead, behind = (candidate, reference) if result.winner is Winner.CANDIDATE else (reference, candidate)
    confidence = _floored(result.confidence)
    text = f"{_ASKED}{ahead} outperforms {behind} with confidence {confidence}"
    if result.confidence < _SURE:
        text = f"{_ASKED}{ahead} looks better than {behind}, with a confidence of only {confidence}"
    by_factor: dict[str, list[str]] = {}
    for s in result.speedups:
        by_factor.setdefault(_speedup(s), []).append(percent(s.confidence, 4))
    shown = ((f, " and ".join(c)) for f, c in by_factor.items() if f not in ("none", "1.00"))
    factors = [f"by a factor of {f} with confidence {c}" for f, c in shown]
    return f"{', '.join([text, *factors])}{f'{_STEADY}: shown, not proven' if shaken else ''}."


class HptResult(Shown, Struct, frozen=True, dict=True):
    """Hierarchical Performance Testing of two versions. ``print`` shows what ``speedproof hpt`` shows.

    Attributes
    ----------
    reference, candidate : str
        The versions.
    result : Hpt
        The whole answer.
    claimed : callable
        What other speedups are worth to it: ``claims``, computed when asked.
    speedups : tuple of float
        Those that were asked for.
    pairs : tuple of Pair
        The samples.
    problems : tuple of str
        Benchmarks that were left out, and why.
    at : callable
        The same test at another confidence, for ``r_speedup``.
    machine : MachineSpeeds or None
        Two speeds of the machine that most benchmarks ran at, which explain what no version does.
    suite : Suite
        Whose samples they are.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> found = sp.hpt(suite)
    >>> found
    <HptResult: Whole suite (HPT): O3 looks better than O2, with a confidence of only 81.2 %.>
    >>> found.r_speedup("50%").confidence
    0.5
    """

    command = "hpt"
    reference: str
    candidate: str
    result: Hpt
    claimed: Callable[[], HptClaims]
    speedups: tuple[float, ...]
    pairs: tuple[Pair, ...]
    problems: tuple[str, ...]
    at: Callable[[Sequence[float]], Hpt]
    machine: MachineSpeeds | None
    suite: Suite

    @cached_property
    def claims(self) -> HptClaims:
        """HPT's confidence in other speedups."""
        return self.claimed()

    @property
    def confidence(self) -> float:
        """The confidence with which the winner outperforms the other version."""
        return self.result.confidence

    def r_speedup(self, confidence: float | str) -> RSpeedup:
        """The speedup of the winner that holds with a confidence r."""
        confidence = proportion_given("confidence", confidence, EXAMPLES["LEVEL"])
        for speedup in self.result.speedups:
            if speedup.confidence == confidence:
                return speedup
        (speedup,) = self.at([confidence]).speedups
        return speedup

    def exported(self) -> dict[str, object]:
        """The result in the form of the JSON output."""
        sides = {"reference": self.reference, "candidate": self.candidate}
        return {**sides, "hpt": self.result, "claims": self.claims, "machine": self.machine}

    def reports(self, *, everything: bool = False, details: bool = False) -> Iterable[Report]:
        """The result in words."""
        reference, candidate, result, machine = self.reference, self.candidate, self.result, self.machine
        old, new = spoken([reference, candidate])
        wins, losses, ties = (
            result.count(winner) for winner in (Winner.CANDIDATE, Winner.REFERENCE, Winner.TIE)
        )
        shaken = machine is not None
        confident = [_floored(1 - p) for p in (result.pvalue_candidate, result.pvalue_reference)]
        counted = (
            f"{new} wins {wins} and loses {losses} of {plural(len(result.benchmarks), 'benchmark')}; "
            f"{'1 is a tie' if ties == 1 else f'{ties} are ties'}. "
            f"Confidence that {new} is better: {confident[0]}; that {old} is better: {confident[1]}."
        )
        style: Style = "strong" if shaken or result.confidence < _SURE else _STYLES[result.winner]
        first = Text(conclusion(result, reference, candidate, shaken=shaken), style)
        tests = f" Scores: {result.scores}. Tests: {result.method}." if details else ""
        notes = [Text(f"Each p is that of a rank test of the benchmark alone, one-sided.{tests}", "dim")]
        notes += [Text(f"{note[:1].upper()}{note[1:]}.", "warning") for note in result.notes]
        notes += self._doubts()
        sections = (
            [_bounds(result)] if details and result.speedups and result.winner is not Winner.TIE else []
        )
        if details or self.speedups:
            sections.append(_claims(self.claims, old, new, shaken=shaken))
        table = self._benchmarks(everything=everything)
        yield Report(
            f"{new} against {old}: HPT",
            (
                first,
                *((Text(counted),) if len(result.benchmarks) > 1 else ()),
                *told_caveats((*caveats_of(self.pairs, (reference, candidate)), *few_values(self.pairs))),
                *two_speeds(machine, old, new),
            ),
            (table,),
            tuple(notes),
            (*hint_of_all("benchmark", table), "--details: tests, bounds, claims"),
            tuple(sections),
            good=result.winner is not Winner.REFERENCE,
        )

    def _doubts(self) -> Iterator[Text]:
        """What speaks against the runs of the benchmarks with a winner, which HPT takes as they are."""
        won = {b.benchmark for b in self.result.benchmarks if b.winner is not Winner.TIE}
        pairs = [pair for pair in self.pairs if pair.key.benchmark in won]
        compared: list[Comparison] = []
        for at in range(0, len(pairs), _TOGETHER):
            compared += single_runs(PreparedPairs(pairs[at : at + _TOGETHER], Rules(forecast=False)))
        dependent = [
            c.benchmark
            for c in compared
            if Assumption.EFFECTIVE_RUNS in [check.kind for check in c.failed_checks]
        ]
        if dependent:
            names = enumerate_names(shortened(dependent, _NAME), 3)
            yield Text(f"{names}: {_DEPENDENT}.", "warning")
        # Few runs are enough for the rank test that HPT asks.
        yield from doubts([c for c in compared if c.benchmark not in dependent and not c.by_few_runs])

    def _benchmarks(self, *, everything: bool) -> Table:
        """A row a benchmark: the winner's by size, then the loser's, then the ties."""
        result, names = self.result, labels([self.reference, self.candidate], _TITLE)
        shown = {Winner.CANDIDATE: names[1], Winner.REFERENCE: names[0], Winner.TIE: "tie"}
        order = [Winner.CANDIDATE, Winner.REFERENCE, Winner.TIE]
        if result.winner is Winner.REFERENCE:
            order[:2] = order[1::-1]
        column, named = benchmark_column([b.benchmark for b in result.benchmarks])
        pairs, rows = {pair.key.benchmark: pair for pair in self.pairs}, []
        medians, sizes = {}, {}
        for b in result.benchmarks:
            pair = pairs[b.benchmark]
            units = typical_units((pair.reference, pair.candidate))
            x, y = medians[b.benchmark] = [median(side.values) for side in units]
            # The ratio of the medians that stand beside it, the winner's over the other's
            candidate_first = pair.reference.higher_is_better == (b.winner is Winner.CANDIDATE)
            scores = result.scores == AS_GIVEN or b.winner is Winner.TIE
            sizes[b.benchmark] = abs(b.difference) if scores else y / x if candidate_first else x / y
        for b in sorted(result.benchmarks, key=lambda b: (order.index(b.winner), -sizes[b.benchmark])):
            winner, size = shown[b.winner], sizes[b.benchmark]
            by = f"by {size:.3g}" if result.scores == AS_GIVEN else factor(size)
            better, kind = ("tie", "ties") if b.winner is Winner.TIE else (f"{winner} {by}", winner)
            sides = values(medians[b.benchmark], pairs[b.benchmark].reference.unit)
            p = pvalue(min(b.pvalue_candidate, b.pvalue_reference)) if b.level is not None else "-"
            rows.append(
                Row.of(named(b.benchmark), *sides, better, p, name=b.benchmark, message=better, kind=kind)
            )
        columns = (column, *right(*names), Column("better"), *right("p", drop=1))
        clear = (shown[winner] for winner in order[:2])
        return folded(Table.of(columns, rows), *clear, everything=everything)

    def __repr__(self) -> str:
        shaken = self.machine is not None
        return f"<HptResult: {conclusion(self.result, self.reference, self.candidate, shaken=shaken)}>"


def _speedup(speedup: RSpeedup) -> str:
    """The largest factor of two decimals up to which everything passes."""
    return "none" if speedup.hundredth is None else f"{speedup.hundredth:.2f}"


def _bounds(result: Hpt) -> Report:
    """The speedups with all digits: up to which factor all pass and, where more do beyond it, the last of them."""
    alike = all(s.certified == s.supremum for s in result.speedups)
    titles = ["confidence", "speedup", "all pass up to", *([] if alike else ["last that passes"])]
    rows = (
        (
            percent(s.confidence, 4),
            _speedup(s),
            *("none" if v is None else f"{v:.6g}" for v in (s.certified, s.supremum)[: len(titles) - 2]),
        )
        for s in result.speedups
    )
    return Report("Speedups", (), (Table.of(right(*titles), rows),))


def _claims(claims: HptClaims, old: str, new: str, *, shaken: bool) -> Report:
    """How sure HPT is of the speedups that others state."""
    ahead, behind = (new, old) if claims.candidate_wins else (old, new)
    columns = right("speedup", "confidence", f"against {percent(claims.confidence, 4)}", "error")
    if math.isnan(claims.t_confidence):
        t = "The paired t test needs two benchmarks"
    else:
        t = f"Paired t test: confidence {_floored(claims.t_confidence)} that {ahead} is better"
        if claims.certified is not None:
            t += f", {_floored(claims.t_certified)} that it is so by a factor of {claims.certified:.4g}"
    relative = (
        f"Relative to {percent(claims.confidence, 4)} and, the error, to the speedup that HPT certifies"
    )
    return Report(
        f"How sure HPT is of other speedups of {ahead} over {behind}{_STEADY if shaken else ''}",
        (),
        (Table.of((Column("speedup by"), *columns), map(_claim, claims.claims)),),
        (Text(f"{relative}. {t}.", "dim"),),
    )


def _claim(claim: HptClaim) -> tuple[Cell | str, ...]:
    method = "--speedup" if claim.method == "asked" else claim.method
    if claim.speedup is None:
        return method, "none", "-", "-", "-"
    return (
        method,
        f"{claim.speedup:.4g}",
        _floored(claim.confidence),
        Cell(f"{100 * claim.loss:+.1f} %", "warning" if claim.loss < 0 else ""),
        "-" if math.isnan(claim.error) else f"{100 * claim.error:+.1f} %",
    )


def _floored(confidence: float) -> str:
    """A confidence in percent, rounded down: never 100 %."""
    return f"{math.floor(1000 * confidence + 1e-9) / 10:.1f} %"
