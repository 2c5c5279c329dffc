"""What a difference, or the states of runs, go with: a line for one benchmark, a row each for several.

In the same way how speedups change over inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from speedproof.data.units import format_value
from speedproof.protocols.inputs import Input, OverInputs
from speedproof.protocols.results import Comparison, Verdict, inverse
from speedproof.protocols.why import LEAST_RUNS, ByStates, GoesWith, StateOfRuns, Why
from speedproof.reporting import words
from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, folded, right
from speedproof.reporting.names import benchmark_column, called, enumerate_names
from speedproof.reporting.numbers import case_share, factor, percent, plural, pvalue, value_of
from speedproof.reporting.rows import Voice, version_columns
from speedproof.reporting.words import direction, span
from speedproof.stats.estimate import Estimate

_NEXT = (
    (("fault", "memory", "tlb", "rss", "alloc"), "--perf dTLB-load-misses,page-faults"),
    (("switch", "migration"), "--cpu 1"),
    (("cycles", "energy", "freq", "machine"), "--cpu 1, at a fixed frequency"),
)
"""The option of ``run`` that measures more, by part of a metric's name."""
_BUILDS = "--builds 5, of revisions"
_NOT_RECORDED = "--perf instructions,branch-misses,dTLB-load-misses"


def headline(why: Why, whose: str = "") -> tuple[Text, ...]:
    """The answer about one benchmark (and ``whose`` it is), and what would prove it."""
    if not why.named:
        return (Text(f"why{whose}: {_nothing(why)}."),)
    first, *more = why.named
    also = [_name(m) for m in more if isinstance(m, GoesWith) and not m.part]
    beside = f"Also: {enumerate_names(also, 3)}. " if also else ""
    proof = f"This is no proof of a cause. Next: run again with {_next(why, _name(first))}"
    return (Text(f"why{whose}: {sentence(why, first)}", "strong"), Text(f"{beside}{proof}", "dim"))


def sentence(why: Why, m: ByStates) -> str:
    """A metric, or the machine, and its association, in a sentence."""
    if m.states and m.share is not None and why.speedup is not None:
        state = m.states[_named_state(m.states)]
        within = f"; within a state {span(m.within, *_words(why))}" if m.within else ""
        runs = f"runs {_level(m, state)} ({_shares(why, state)}){within}"
        of = f"the {direction(why.speedup.value, '', _words(why)[1]).rstrip()} in mean"
        if m.share < 0.0:
            return f"against {of}: {runs}"
        return f"{'all' if m.share > 1.0 else percent(m.share, 2)} of {of}: {runs}"
    unknown = "" if why.speedup is None else "; no difference of the means is shown"
    if m.states:
        times = [next(t for t in s.means if not math.isnan(t)) for s in m.states]
        seen = [
            f"{format_value(t, why.unit, 3)} {_level(m, s)} ({_shares(why, s)})"
            for t, s in zip(times, m.states, strict=True)
        ]
        return f"{_name(m)}: {enumerate_names(seen, 4)}{unknown}"
    correlation = f" (correlation {m.correlation:.2f})" if isinstance(m, GoesWith) else ""
    return f"{_name(m)}, from run to run{correlation}; it shows no states"


def _nothing(why: Why) -> str:
    """Why no metric is named."""
    if min(why.sizes) < LEAST_RUNS:
        return f"not known; it takes {LEAST_RUNS} runs (processes) of each version"
    if not why.metrics:
        return "not known; no other metric varies that was measured in every run"
    none = f"none of {plural(len(why.metrics), 'other metric')} goes with {why.metric}"
    several = max(why.states) > 1
    return f"{none}, which has {max(why.states)} states; run again with {_NOT_RECORDED}" if several else none


def report(
    whys: Sequence[Why],
    *,
    everything: bool = False,
    details: bool = False,
    explain: bool = False,
    among: str = "",
    whose: bool = False,
) -> Report:
    """One benchmark in a line, or all metrics in ``details``; several, ``among`` others, in a row each.

    Where there are several candidates, each says ``whose`` it is.
    """
    names = called(whys[0].versions)
    of = f" of {names[whys[0].versions[-1]]}" if whose else ""
    title = f"{' against '.join(names[v] for v in reversed(whys[0].versions))}: why"
    about = Report(title, (), about="why")
    whys = [replace(why, versions=tuple(names[v] for v in why.versions)) for why in whys]
    tables = [(_metrics(w),) if (details or explain) and (w.metrics or w.machine) else () for w in whys]
    if len(whys) == 1 or not any(w.metrics or w.machine for w in whys):
        return replace(about, headline=headline(whys[0], of), tables=tables[0], notes=tuple(_notes(whys)))
    machine, named = sum(w.machine is not None for w in whys), sum(bool(w.goes_with) for w in whys)
    several, metric = among or plural(len(whys), "benchmark"), whys[0].metric
    answer = f"Why{of}: in {named} of {several} another metric goes with {metric}"
    if machine:
        more = f", in {named} another metric" if named else ""
        answer = f"Why{of}: in {machine} of {several} the machine's two speeds go with {metric}{more}"
    risk = f"(risk {percent(whys[0].alpha)} in each)" if any(w.metrics for w in whys) else ""
    return replace(
        about,
        headline=(Text(answer, "strong", risk),),
        tables=(_benchmarks(whys, everything=everything),),
        notes=tuple(_notes(whys)),
        sections=tuple(
            replace(about, title=w.benchmark, headline=headline(w), tables=table)
            for w, table in zip(whys, tables, strict=True)
            if table
        ),
    )


def _notes(whys: Sequence[Why]) -> Iterator[Text]:
    if any(why.shifted for why in whys):
        yield Text("Neighbouring runs are alike; the test allows for that.", "dim")
    reasons: dict[str, dict[str, None]] = {}
    for why in whys:
        for name, reason in why.left_out:
            if reason != "the same in every run":
                reasons.setdefault(reason, {})[name] = None
    for reason, names in reasons.items():
        yield Text(f"Left out: {enumerate_names(list(names), 4)} ({reason}).", "warning")


def _benchmarks(whys: Sequence[Why], *, everything: bool) -> Table:
    """A row a benchmark, the largest shares first."""
    column, named = benchmark_column([why.benchmark for why in whys])
    columns = (column, Column("goes with"), *right("share"), Column("at equal state"), Column("", drop=1))
    rows = []
    for why in sorted(whys, key=_clearness):
        first = next(iter(why.named), None)
        if first is None:
            cells: tuple[Cell | str, ...] = (Cell("nothing shown", "dim"), "", "", "")
        else:
            state = first.states[_named_state(first.states)] if first.states else None
            runs = f"{_level(first, state)} ({_shares(why, state)})" if state else ""
            of = "" if first.share is None else percent(first.share, 2)
            cells = (
                _name(first),
                of,
                span(first.within, *_words(why)) if first.within else "",
                Cell(runs, "dim"),
            )
        message = sentence(why, first) if first else _nothing(why)
        kind = "explained" if first else "with nothing shown"
        rows.append(
            Row.of(named(why.benchmark), *cells, name=why.benchmark, message=f"why: {message}", kind=kind)
        )
    return folded(Table.of(columns, rows), "explained", everything=everything)


def _clearness(why: Why) -> tuple[bool, float]:
    first = next(iter(why.named), None)
    return first is None, -((first and first.share) or 0.0)


def _metrics(why: Why) -> Table:
    """A row a metric: how it goes with what is explained, and what of the speedup goes with its states."""
    columns = (
        Column("metric", names=True),
        *right("correlation", "between states"),
        *right("p"),
        Column("states", drop=2),
        *right("share"),
        Column("at equal state", drop=1),
    )
    rows = []
    tested = why.metrics if why.machine is None else (why.machine, *why.metrics)
    for m in tested:
        style: Style = "strong"
        unit, test = "", ("", "", "")
        if isinstance(m, GoesWith):
            style = "strong" if m.pvalue <= why.alpha else "dim"
            unit, test = m.unit, (f"{m.correlation:.2f}", percent(m.between, 2), pvalue(m.pvalue))
        states = ", ".join(value_of(s.level, unit) for s in m.states)
        share = "" if m.share is None else percent(m.share, 2)
        within = span(m.within, *_words(why)) if m.within else ""
        rows.append(Row.of(Cell(_name(m), style), *test, states, share, within, name=_name(m)))
    return Table.of(columns, rows)


def _words(why: Why) -> tuple[str, str]:
    """The words for less and more of a metric."""
    return ("faster", "slower") if why.unit == "s" else ("better", "worse")


def _named_state(states: Sequence[StateOfRuns]) -> int:
    """The state that differs from the mean of all runs, where it differs in its weight, the most."""

    def moved(k: int) -> float:
        weights = [sum(s.shares) / len(s.shares) for s in states]
        times = [next(t for t in s.means if not math.isnan(t)) for s in states]
        middle = sum(w * t for w, t in zip(weights, times, strict=True))
        return abs((max(states[k].shares) - min(states[k].shares) + 1e-9) * (times[k] - middle))

    return max(range(len(states)), key=moved)


def _shares(why: Why, state: StateOfRuns) -> str:
    """How often each version is in a state: ``"28 % of a, 9 % of b"``."""
    return ", ".join(f"{case_share(s)} of {v}" for s, v in zip(state.shares, why.versions, strict=True))


def _level(m: ByStates, state: StateOfRuns) -> str:
    """The typical value of a state: ``"with about 2,101 minor faults"``."""
    if not isinstance(m, GoesWith):
        return f"at the machine's {'slower' if state.level > 1.0 else 'faster'} speed"
    value = value_of(state.level, m.unit)
    return f"with {_name(m)} {value}" if m.unit else f"with about {value} {_name(m)}"


def _name(m: ByStates) -> str:
    if not isinstance(m, GoesWith):
        return "the machine's two speeds"
    return f"{m.metric.replace('-', ' ')}{' (a part of time)' if m.part else ''}"


def _next(why: Why, name: str) -> str:
    """The experiment that would say more."""
    experiments = (what for parts, what in _NEXT if any(part in name.lower() for part in parts))
    return next(experiments, _NOT_RECORDED if why.nested else _BUILDS)


def beside(reports: Sequence[Report], whys: Mapping[str, Sequence[Why]], **shown: Any) -> Iterator[Report]:
    """The answers of a comparison with what they go with: of one benchmark in its sheet, else after all."""
    made = [report(list(of), whose=len(whys) > 1, **shown) for of in whys.values() if of]
    alone = len(reports) == len(made) == 1 and all(len(of) == 1 for of in whys.values())
    if not alone:
        yield from reports
        yield from made
        return
    (sheet,), (why,) = reports, made
    yield _within(sheet, why, [replace(why, headline=(), notes=()) for _ in why.tables])


def _within(sheet: Report, part: Report, sections: Iterable[Report]) -> Report:
    """A sheet with the answer of a part behind its own."""
    first, *rest = sheet.headline
    return replace(
        sheet,
        headline=(first, *part.headline, *rest),
        notes=(*sheet.notes, *part.notes),
        sections=(*sections, *sheet.sections),
    )


def over_report(
    answers: Sequence[OverInputs],
    problems: Sequence[str] = (),
    *,
    everything: bool,
    details: bool,
) -> Report:
    """One benchmark input by input, or several in a row each and input by input in ``details``."""
    first = answers[0]
    notes = tuple(Text(f"Left out: {problem}", "warning") for problem in problems)
    about = Report(f"over {first.parameter}", (), notes=notes, about="over")
    sheets = (
        replace(about, headline=tuple(_sentences(one)), tables=(_inputs(one, everything=everything),))
        for one in answers
    )
    if len(answers) == 1:
        return next(sheets)
    answer = f"Over {first.parameter}: {plural(len(answers), 'benchmark')}"
    asked = words.asked(first.inputs[0].comparison.protocol, first.alpha)
    parts = zip(sheets, _names(answers), strict=True) if details else ()
    return replace(
        about,
        headline=(Text(answer, "strong", asked),),
        tables=(_families(answers, everything=everything),),
        sections=tuple(replace(sheet, title=name, notes=()) for sheet, name in parts),
    )


def _sentences(of: OverInputs) -> Iterator[Text]:
    names = called([of.reference, of.candidate])
    sized = [one for one in of.inputs if one.size is not None]
    which = f"{of.benchmark} over {of.parameter}" if of.benchmark else f"Over {of.parameter}"
    if len(sized) > 1:
        ends = f"{_ratio(of, sized[0])}, {_ratio(of, sized[-1])}"
    else:
        ends = plural(len(of.inputs), "input")
    asked = words.asked(of.inputs[0].comparison.protocol, of.alpha)
    yield Text(f"{which}: {names[of.candidate]} against {names[of.reference]}: {ends}", "strong", asked)
    if of.slope is not None:
        yield Text(f"{_trend(of)}{_crossing(of)}.")
    yield Text(f"For inputs like these: {_like_these(of)}.", words.STYLES[of.verdict])


def _ratio(of: OverInputs, one: Input) -> str:
    return f"{_change(one.comparison)} at {of.parameter} = {one.value}"


def _change(c: Comparison) -> str:
    """The ratio of one input, where a difference is shown."""
    kinds = words.verdict_words(*words.gain_and_loss(c))
    return words.natural(c) if c.verdict in words.CHANGED else kinds[c.verdict]


def _trend(of: OverInputs) -> str:
    """The change of the speedup for a tenfold parameter."""
    assert of.slope is not None
    tenfold = _tenfold(of.slope)
    changes = f"{_interval(tenfold)} for each tenfold {of.parameter}"
    if of.slope.low > 0.0:
        return f"The speedup grows: {changes}"
    return f"The speedup falls: {changes}" if of.slope.high < 0.0 else f"No trend is shown: {changes}"


def _tenfold(slope: Estimate) -> Estimate:
    value, low, high = (10.0 ** min(max(v, -300.0), 300.0) for v in (slope.value, slope.low, slope.high))
    return Estimate(value, low, high, slope.confidence)


def _crossing(of: OverInputs) -> str:
    if of.crossing is None:
        return ""
    at, low, high = map(_size, (of.crossing.value, of.crossing.low, of.crossing.high))
    return f"; it crosses 1 at about {of.parameter} = {at} ({low} to {high})"


def _size(value: float) -> str:
    """With two digits, as sizes are written."""
    return f"{float(f'{value:.2g}'):,.0f}" if 100.0 <= value < 1e12 else f"{value:.2g}"


def _interval(estimate: Estimate) -> str:
    low, high = estimate.ends
    return f"{factor(estimate.value)} [{factor(low, -1, 3)}, {factor(high, 1, 3)}]"


def _like_these(of: OverInputs) -> str:
    better_worse = words.gain_and_loss(of.inputs[0].comparison)
    change = words.observed(of.like_these.value, *better_worse)
    if of.verdict is Verdict.UNDECIDED:
        return f"undecided ({change})"
    bound = of.like_these.low if of.verdict is Verdict.FASTER else inverse(of.like_these.high)
    return f"{change}, at least {factor(bound, -1, 3)}"


def _inputs(of: OverInputs, *, everything: bool) -> Table:
    """A row an input, in order."""
    voice = Voice(*words.gain_and_loss(of.inputs[0].comparison))
    rows = (replace(voice.row(one.comparison, (one.value,)), kind="inputs") for one in of.inputs)
    columns = (*right(of.parameter), *version_columns(of.reference, of.candidate), *voice.columns)
    return folded(Table.of(columns, rows), "inputs", everything=everything)


def beside_over(sheets: Sequence[Report], over: Report) -> Iterator[Report]:
    """A comparison with inputs in place of its rows; behind it where there are several."""
    if len(sheets) != 1:
        yield from (*sheets, over)
        return
    yield replace(_within(sheets[0], over, over.sections), tables=over.tables)


def _names(answers: Sequence[OverInputs]) -> list[str]:
    """Names of benchmarks, candidates or both, as needed to distinguish them."""
    if len({one.candidate for one in answers}) == 1:
        return [one.benchmark for one in answers]
    one_benchmark = len({one.benchmark for one in answers}) == 1
    return [one.candidate if one_benchmark else f"{one.benchmark} ({one.candidate})" for one in answers]


def _families(answers: Sequence[OverInputs], *, everything: bool) -> Table:
    names = _names(answers)
    column, named = benchmark_column(names)
    rows = []
    for one, name in zip(answers, names, strict=True):
        sized = [i for i in one.inputs if i.size is not None] or list(one.inputs)
        ends = (_change(i.comparison) for i in (sized[0], sized[-1]))
        trend = "" if one.slope is None else _interval(_tenfold(one.slope))
        crossing = "" if one.crossing is None else _size(one.crossing.value)
        cells: list[Cell | str] = [named(name), *ends, trend, crossing, _like_these(one)]
        rows.append(Row.of(*cells, name=name, kind="benchmarks"))
    columns = (
        column,
        *right("smallest", "largest"),
        Column("each tenfold" if any(one.slope for one in answers) else ""),
        *right("crosses 1 at" if any(one.crossing for one in answers) else ""),
        Column("inputs like these"),
    )
    return folded(Table.of(columns, rows, repeats=1), "benchmarks", everything=everything)
