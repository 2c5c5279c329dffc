"""Hierarchical Performance Testing in words: who outperforms whom, then the benchmarks that say so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from speedproof.data.notes import Note
from speedproof.protocols.caveats import MachineSpeeds
from speedproof.protocols.hpt import AS_GIVEN, HptClaim, HptClaims
from speedproof.protocols.results import Hpt, HptBenchmark, RSpeedup, Winner
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
from speedproof.reporting.names import benchmark_column, labels, spoken
from speedproof.reporting.notes import caveats as told_caveats
from speedproof.reporting.notes import two_speeds
from speedproof.reporting.numbers import factor, percent, plural, pvalue, values

if TYPE_CHECKING:
    from speedproof.corpus.hpt import OverBenchmarks

Medians = Mapping[str, tuple[float, float, str]]
"""By benchmark, the medians of reference and candidate with their unit."""

_STYLES: dict[Winner, Style] = {Winner.CANDIDATE: "good", Winner.REFERENCE: "bad", Winner.TIE: "warning"}
_TITLE = 14
_SURE = 0.95  # the confidence that is usually asked


def conclusion(result: Hpt | OverBenchmarks, reference: str, candidate: str, *, shaken: bool = False) -> str:
    """The answer in one sentence; no confidence where two speeds of the machine have ``shaken`` the suite."""
    reference, candidate = spoken([reference, candidate])
    if result.winner is Winner.TIE or result.confidence <= 0.5:
        return f"HPT: neither {candidate} nor {reference} is shown to outperform the other."
    ahead, behind = (candidate, reference) if result.winner is Winner.CANDIDATE else (reference, candidate)
    if shaken:
        return f"HPT: {ahead} outperforms {behind}: shown, not proven."
    confidence = _floored(result.confidence)
    text = f"HPT: {ahead} outperforms {behind} with confidence {confidence}"
    if result.confidence < _SURE:
        text = f"HPT: {ahead} looks better than {behind}, with a confidence of only {confidence}"
    by_factor: dict[str, list[str]] = {}
    for s in result.speedups:
        by_factor.setdefault(_speedup(s), []).append(percent(s.confidence, 4))
    by_factor.pop("none", None)
    factors = [f"by a factor of {f} with confidence {' and '.join(c)}" for f, c in by_factor.items()]
    return f"{', '.join([text, *factors])}."


def report(
    result: Hpt,
    claims: HptClaims | None,
    reference: str,
    candidate: str,
    medians: Medians,
    caveats: Sequence[Note] = (),
    *,
    everything: bool,
    details: bool,
    machine: MachineSpeeds | None = None,
) -> Report:
    """Two versions over a suite; ``details`` adds bounds of the speedups, ``claims`` what others would claim."""
    old, new = spoken([reference, candidate])
    wins, losses, ties = (result.count(winner) for winner in (Winner.CANDIDATE, Winner.REFERENCE, Winner.TIE))
    shaken = machine is not None
    counted = (
        f"{new} wins {wins} and loses {losses} of {plural(len(result.benchmarks), 'benchmark')}; "
        f"{'1 is a tie' if ties == 1 else f'{ties} are ties'}."
    )
    if not shaken:
        counted += (
            f" Confidence that {new} is better: {_floored(1 - result.pvalue_candidate)}; "
            f"that {old} is better: {_floored(1 - result.pvalue_reference)}."
        )
    style: Style = "warning" if shaken or result.confidence < _SURE else _STYLES[result.winner]
    first = Text(conclusion(result, reference, candidate, shaken=shaken), style)
    tests = f" Tests: {result.method}." if details else ""
    notes = [Text(f"Scores: {result.scores}.{tests}", "dim")]
    notes += [Text(f"{note[:1].upper()}{note[1:]}.", "warning") for note in result.notes]
    sure = details and not shaken
    sections = [_bounds(result)] if sure and result.speedups and result.winner is not Winner.TIE else []
    if claims is not None and (sure or any(claim.method == "asked" for claim in claims.claims)):
        sections.append(_claims(claims, old, new, shaken=shaken))
    table = _benchmarks(result, reference, candidate, medians, folds=not everything)
    return Report(
        f"{candidate} against {reference}: HPT",
        (
            first,
            *((Text(counted),) if len(result.benchmarks) > 1 else ()),
            *told_caveats(caveats),
            *two_speeds(machine, old, new),
        ),
        (table,),
        tuple(notes),
        (*hint_of_all("benchmark", table), *(() if details else ("--details: tests, bounds, claims",))),
        tuple(sections),
        good=result.winner is not Winner.REFERENCE,
    )


def _benchmarks(result: Hpt, reference: str, candidate: str, medians: Medians, *, folds: bool) -> Table:
    """A row a benchmark: the winner's by size, then the loser's, then the ties."""
    names = labels([reference, candidate], _TITLE)
    shown = {Winner.CANDIDATE: names[1], Winner.REFERENCE: names[0], Winner.TIE: "tie"}
    order = [Winner.CANDIDATE, Winner.REFERENCE, Winner.TIE]
    if result.winner is Winner.REFERENCE:
        order[:2] = order[1::-1]
    column, named = benchmark_column([b.benchmark for b in result.benchmarks])
    ordered = sorted(result.benchmarks, key=lambda b: (order.index(b.winner), -abs(b.difference)))
    rows = [
        _row(
            b, named(b.benchmark), shown[b.winner], medians.get(b.benchmark), given=result.scores == AS_GIVEN
        )
        for b in ordered
    ]
    columns = (column, *right(*names), Column("better score"), *right("p", drop=1))
    clear = (shown[order[0]], shown[order[1]])
    return Table.of(columns, folded(rows, *clear, everything=not folds))


def _row(
    b: HptBenchmark, name: Cell, winner: str, medians: tuple[float, float, str] | None, *, given: bool
) -> Row:
    sides = values(medians[:2], medians[2]) if medians else ["-", "-"]
    ratio = 1 + b.difference  # to the reference's median
    by = (
        f"by {abs(b.difference):.3g}"
        if given
        else factor(ratio if ratio >= 1 else 1 / ratio if ratio > 0 else math.inf)
    )
    tie = b.winner is Winner.TIE
    better = "tie" if tie else f"{winner} {by}"
    p = pvalue(min(b.pvalue_candidate, b.pvalue_reference)) if b.level is not None else "-"
    kind = "ties" if tie else winner
    return Row.of(
        name, *sides, Cell(better, _STYLES[b.winner]), p, name=b.benchmark, message=better, kind=kind
    )


def _speedup(speedup: RSpeedup) -> str:
    """The largest factor of two decimals, or of as many as tell it from 1, up to which everything passes."""
    if speedup.hundredth is None:
        return "none"
    if speedup.hundredth == 1 and speedup.certified_exact:
        exact = Fraction(speedup.certified_exact)
        for digits in range(3, 13):
            steps = exact * 10**digits
            whole = math.floor(steps) - (steps.denominator == 1 and not speedup.certified_attained)
            if whole > 10**digits:
                return f"{whole / 10**digits:.{digits}f}"
    return f"{speedup.hundredth:.2f}"


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
    steady = ", were the machine steady" if shaken else ""
    return Report(
        f"How sure HPT is of other speedups of {ahead} over {behind}{steady}",
        (),
        (Table.of((Column("speedup by"), *columns), map(_claim, claims.claims)),),
        (Text(f"Error: against the speedup that HPT certifies. {t}.", "dim"),),
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
    """A confidence in percent, cut rather than rounded: never more than was shown, never 100 %."""
    return f"{math.floor(1000 * confidence + 1e-9) / 10:.1f} %"
