"""How speedups change over inputs: sentences for one benchmark, a row each for several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from speedproof.protocols.inputs import Input, OverInputs
from speedproof.protocols.results import Verdict
from speedproof.reporting import words
from speedproof.reporting.model import Column, Report, Row, Table, Text, folded, right
from speedproof.reporting.names import benchmark_column, called, factor, level, plural
from speedproof.reporting.rows import Voice, version_columns
from speedproof.stats.estimate import Estimate


def report(
    answers: Sequence[OverInputs],
    problems: Sequence[str] = (),
    *,
    everything: bool = False,
    details: bool = False,
    explain: bool = False,
) -> Report:
    """One benchmark input by input, or several in a row each and input by input in ``details``."""
    first = answers[0]
    notes = tuple(Text(f"Left out: {problem}", "warning") for problem in problems)
    about = Report(
        f"over {first.parameter}", (), notes=notes, command="compare", data=tuple(answers), about="over"
    )
    if len(answers) == 1:
        return replace(
            about, headline=tuple(_sentences(first)), tables=(_inputs(first, everything=everything),)
        )
    return replace(
        about,
        headline=(
            Text(f"Over {first.parameter}: {plural(len(answers), 'benchmark')}", "strong", _asked(first)),
        ),
        tables=(_benchmarks(answers, everything=everything),),
        sections=tuple(
            replace(
                about,
                title=name,
                headline=tuple(_sentences(one)),
                tables=(_inputs(one, everything=everything),),
                notes=(),
            )
            for one, name in zip(answers, _names(answers), strict=True)
            if details or explain
        ),
    )


def _asked(of: OverInputs) -> str:
    return f"({words.asked_of(of.inputs[0].comparison.protocol)}, {level(1 - of.alpha)})"


def _sentences(of: OverInputs) -> Iterator[Text]:
    names = called([of.reference, of.candidate])
    sized = [one for one in of.inputs if one.size is not None]
    which = f"{of.benchmark} over {of.parameter}" if of.benchmark else f"Over {of.parameter}"
    ends = (
        f"{_ratio(of, sized[0])}, {_ratio(of, sized[-1])}"
        if len(sized) > 1
        else plural(len(of.inputs), "input")
    )
    yield Text(f"{which}: {names[of.candidate]} against {names[of.reference]}: {ends}", "strong", _asked(of))
    if of.slope is not None:
        yield Text(f"{_trend(of)}{_crossing(of)}.")
    yield Text(f"For inputs like these: {_like_these(of)}.", words.STYLES[of.verdict])


def _ratio(of: OverInputs, one: Input) -> str:
    ratio = words.direction(one.comparison.speedup.value, *words.gain_and_loss(one.comparison))
    return f"{ratio} at {of.parameter} = {one.value}"


def _trend(of: OverInputs) -> str:
    """By how much the speedup changes where the parameter is ten times as large."""
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
    bound = of.like_these.low if of.verdict is Verdict.FASTER else words.inverse(of.like_these.high)
    return f"{change}, at least {factor(bound, -1, 3)}"


def _inputs(of: OverInputs, *, everything: bool) -> Table:
    """A row an input, in order."""
    voice = Voice(*words.gain_and_loss(of.inputs[0].comparison))
    rows = [voice.row(one.comparison, (one.value,), ()) for one in of.inputs]
    columns = (*right(of.parameter), *version_columns(of.reference, of.candidate), *voice.columns)
    return Table.of(
        columns, folded([replace(row, kind="inputs") for row in rows], "inputs", everything=everything)
    )


def beside(sheets: Sequence[Report], over: Report) -> Iterator[Report]:
    """A comparison with inputs in place of its rows; behind it where there are several."""
    if len(sheets) != 1:
        yield from (*sheets, over)
        return
    first, *rest = sheets[0].headline
    yield replace(
        sheets[0],
        headline=(first, *over.headline, *rest),
        tables=over.tables,
        notes=(*sheets[0].notes, *over.notes),
        sections=(*over.sections, *sheets[0].sections),
    )


def _names(answers: Sequence[OverInputs]) -> list[str]:
    """Of benchmarks, of candidates, or of both, as it takes to tell them apart."""
    if len({one.candidate for one in answers}) == 1:
        return [one.benchmark for one in answers]
    one_benchmark = len({one.benchmark for one in answers}) == 1
    return [one.candidate if one_benchmark else f"{one.benchmark} ({one.candidate})" for one in answers]


def _benchmarks(answers: Sequence[OverInputs], *, everything: bool) -> Table:
    names = _names(answers)
    column, named = benchmark_column(names)
    rows = []
    for one, name in zip(answers, names, strict=True):
        sized = [i for i in one.inputs if i.size is not None] or list(one.inputs)
        better_worse = words.gain_and_loss(one.inputs[0].comparison)
        rows.append(
            Row.of(
                named(name),
                *(words.direction(i.comparison.speedup.value, *better_worse) for i in (sized[0], sized[-1])),
                "" if one.slope is None else _interval(_tenfold(one.slope)),
                "" if one.crossing is None else _size(one.crossing.value),
                _like_these(one),
                name=name,
                kind="benchmarks",
            )
        )
    columns = (
        column,
        *right("smallest", "largest"),
        Column("each tenfold" if any(one.slope for one in answers) else ""),
        *right("crosses 1 at" if any(one.crossing for one in answers) else ""),
        Column("inputs like these"),
    )
    return Table.of(columns, folded(rows, "benchmarks", everything=everything), repeats=1)
