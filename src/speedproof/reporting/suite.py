"""Two versions on a suite: the sheet that a person reads in ten lines.

The answer comes first, then what the data cannot know, then the times with what is proven; more on request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import details as detailed
from speedproof.reporting import pair, words
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, folded, hint_of_all, right
from speedproof.reporting.names import benchmark_column, labels, shortened, spoken
from speedproof.reporting.notes import (
    beside_medians,
    caveats,
    session_floor,
    told_of_sessions,
    two_speeds,
    undermining,
)
from speedproof.reporting.numbers import level, percent, plural, share, values
from speedproof.reporting.pair import OUTCOMES, opposite, otherwise, sentence, turned
from speedproof.reporting.records import records

_MANY = 12
"""Benchmarks from which on only the clearest are shown."""
_AT_ENDS = 5
_BANDS = {"over 5 %": 0.05, "2 to 5 %": 0.02, "below 2 %": 0.0}
_TITLE, _BRIEF = 16, 9


def report(
    result: SuiteComparison, *, everything: bool = False, details: bool = False, explain: bool = False
) -> Report:
    """A comparison of two versions on one metric."""
    title = f"{result.candidate} against {result.reference}: {result.metric}"
    heads = result.headlines
    about = Report(title, (), command="compare", data=result)
    if not heads:
        nothing = Text("No benchmark was measured with both versions.", "bad")
        return replace(about, headline=(nothing,), notes=tuple(leftovers(result)))
    about = replace(about, records=partial(records, result), about=result.metric)
    if single_runs(result):
        return _single_runs(result, about)
    made = pair.report(result, heads[0]) if len(heads) == 1 else _several(result, everything)
    given = [option for option, on in (("--details", details), ("--explain", explain)) if on]
    return replace(
        about,
        headline=(
            *made.headline,
            *caveats(result.caveats),
            *(() if len(heads) == 1 and told_of_sessions(heads[0]) else session_floor(heads)),
            *two_speeds(result.machine, *spoken([result.reference, result.candidate])),
        ),
        tables=made.tables,
        notes=(*made.notes, *leftovers(result)),
        hints=tuple(hint for hint in made.hints if not any(option in hint for option in given)),
        sections=tuple(detailed.sections(result, details=details, explain=explain)),
        good=all(c.verdict is not Verdict.SLOWER for c in heads),
    )


def _several(result: SuiteComparison, everything: bool) -> Report:
    """A suite: counts, the numbers of the whole, the clearest benchmarks."""
    heads = result.headlines
    kinds = words.verdict_words(*words.gain_and_loss(heads[0]))
    old, new = spoken([result.reference, result.candidate])
    many = len(heads) > _MANY
    shaken = result.machine is not None
    counts = words.counts_of(heads)
    asked = asked_at(heads[0].protocol, result.alpha, shaken=shaken)
    answer = answered(result.metric, f"{new} against {old}", counts, kinds, asked)
    whole = list(_whole(result, kinds))
    changed = any(c.verdict in words.CHANGED for c in heads)
    table = _benchmarks(result, heads, kinds, folds=many and not everything)
    told = {row.name for row in table.rows if not row.folded}
    return Report(
        "",
        (answer, *(whole if many else ())),
        (*((bands(_banded(heads), kinds, shaken=shaken),) if many and changed else ()), table),
        (
            *beside_medians(c for c in heads if c.benchmark in told and c.verdict in words.CHANGED),
            *(() if many else whole),
            *undermining(heads),
        ),
        (*hint_of_all("benchmark", table), "--details: other protocols, HPT", "--explain: checks"),
    )


def asked_at(protocol: str, alpha: float, *, shaken: bool) -> str:
    """Which question was answered at which confidence; none is stated of what the machine's speeds have shaken."""
    return f"({words.asked_of(protocol)}, {'not proven' if shaken else level(1 - alpha)})"


def answered(
    metric: str, of: str, counts: Mapping[Verdict, int], kinds: Mapping[Verdict, str], asked: str
) -> Text:
    """The answer about many benchmarks."""
    return Text(f"{words.metric_first(metric)}{of}: {words.counted(counts, kinds)}", "strong", asked)


def held_jointly(alpha: float, counts: Mapping[Verdict, int], kinds: Mapping[Verdict, str]) -> Text:
    """How many verdicts hold together at one risk."""
    claims = [(v, word) for v, word in kinds.items() if v is not Verdict.UNDECIDED]
    kept = ", ".join(f"{counts[v]} {word}" for v, word in claims if counts.get(v)) or "none"
    return Text(f"At a joint risk of {percent(alpha)} (Holm): {kept}")


def bands(
    counts: Mapping[Verdict, Sequence[int]], kinds: Mapping[Verdict, str], *, shaken: bool = False
) -> Table:
    """How many were proven to have changed by how much."""
    rows = (Row.of(Cell(kinds[v], words.STYLES[v]), *map(str, numbers)) for v, numbers in counts.items())
    return Table.of((Column("shown by" if shaken else "proven by"), *right(*_BANDS)), rows)


def _banded(heads: Sequence[Comparison]) -> dict[Verdict, list[int]]:
    """By verdict, how many bounds lie in each band."""
    found = {}
    for verdict in (Verdict.SLOWER, Verdict.FASTER):
        bounds = [words.effect(c).bound for c in heads if c.verdict is verdict]
        above = [sum(b - 1 >= least for b in bounds) for least in _BANDS.values()]
        above[-1] = len(bounds)  # also where no bound is proven
        found[verdict] = [n - before for before, n in zip([0, *above], above, strict=False)]
    return found


def _whole(result: SuiteComparison, kinds: Mapping[Verdict, str]) -> Iterator[Text]:
    """The geometric mean, and how many verdicts hold together."""
    means, protocol = result.geometric_means, result.headlines[0].protocol
    if means is not None and math.isfinite(means.these.value):
        known_of = means.benchmarks, means.benchmarks + len(means.left_out)
        gain_loss = words.gain_and_loss(result.headlines[0])
        yield Text(words.geometric_mean(means.these, *gain_loss, known_of))
    for found in result.controlled if result.machine is None else ():
        if (found.method, found.protocol) == ("holm", protocol):
            yield held_jointly(found.alpha, {v: found.count(v) for v in kinds}, kinds)


def _benchmarks(
    result: SuiteComparison, heads: Sequence[Comparison], kinds: Mapping[Verdict, str], *, folds: bool
) -> Table:
    """A row a benchmark, by what is proven of it."""
    column, named = benchmark_column([c.benchmark for c in heads])
    answers = result.by_benchmark
    order = [Verdict.SLOWER, Verdict.FASTER] if folds else [Verdict.FASTER, Verdict.SLOWER]
    order += [Verdict.EQUIVALENT, Verdict.UNDECIDED]
    shaken = result.machine is not None
    rows = [
        row(c, (named(c.benchmark),), kinds, answers[c.benchmark], result.margin, shaken=shaken)
        for c in sorted(heads, key=lambda c: (order.index(c.verdict), _clearness(c)))
    ]
    clear = [kinds[v] for v in order[:2]]
    return Table.of(
        (column, *version_columns(result.reference, result.candidate), *proven(shaken=shaken)),
        folded(rows, *clear, everything=not folds),
    )


def proven(*, shaken: bool = False) -> tuple[Column, ...]:
    """After the times: what changed, by how much at least, and what speaks against it."""
    told = "shown" if shaken else "proven"
    return Column("change"), Column(f"{told} at least", brief=told), Column("")


def version_columns(*versions: str) -> tuple[Column, ...]:
    """A column of numbers for each version."""
    titles = zip(labels(versions, _TITLE), labels(versions, _BRIEF), strict=True)
    # A title with an ellipsis saves a few columns and costs the name.
    return tuple(
        Column(title, right=True, brief="" if "…" in brief and "…" not in title else brief)
        for title, brief in titles
    )


def _clearness(c: Comparison) -> float:
    """Losses and gains each with the clearest first."""
    bound = words.effect(c).bound if c.verdict in words.CHANGED else 0.0
    return -1.0 if math.isnan(bound) else -bound


def row(
    head: Comparison,
    names: tuple[Cell, ...],
    kinds: Mapping[Verdict, str],
    answers: Sequence[Comparison] = (),
    margin: float | None = None,
    *,
    shaken: bool = False,
) -> Row:
    """Both times, the change, what is proven of it, and what speaks against it."""
    ends = words.located(head)
    old, new = values(ends, head.reference.unit)
    proven = Cell("")
    if head.quantity == "probability":
        told = Cell(words.wins(head), words.STYLES[head.verdict], spans=True)
    elif head.verdict is Verdict.UNDECIDED:
        brief = words.few(head)
        rest = [f"~ undecided ({brief})"] if brief else []
        why = words.needs(head)
        text = f"~ undecided ({why})" if why and brief else "~ undecided"
        told = Cell(text, "dim", (*rest, "~ undecided"), spans=True, speedup=head.certified)
    elif head.verdict is Verdict.EQUIVALENT:
        within = "" if margin is None else f" within {share(margin)}"
        told = Cell(f"= the same{within}", "", ("= the same",), spans=True, speedup=head.certified)
    else:
        told = Cell(words.change(head), words.STYLES[head.verdict], speedup=head.certified)
        bound = words.effect(head).bound
        proven = Cell(words.at_least(bound), key=None if math.isnan(bound) else bound)
    marks = ["!"] if head.undermining and head.verdict is not Verdict.UNDECIDED else []
    marks += [f"{otherwise(c)} {words.natural(c)}{words.slow_runs(c)}" for c in opposite(answers, head)]
    marks += ["medians: the other way"] if turned(head) else []
    return Row.of(
        *names,
        Cell(old, key=ends[0]),
        Cell(new, key=ends[1]),
        told,
        proven,
        Cell(" ".join(marks), "warning", spans=True),
        name=head.benchmark,
        outcome=OUTCOMES[head.verdict],
        message=sentence(head, margin, shaken=shaken),
        kind=kinds[head.verdict],
    )


def single_runs(result: SuiteComparison) -> bool:
    """Whether no benchmark was run more than once on either side."""
    return all(c.reference.observations == c.candidate.observations == 1 for c in result.headlines)


def _single_runs(result: SuiteComparison, about: Report) -> Report:
    """One run a side: ratios, and how to measure more; nothing is proven."""
    heads = result.headlines
    column, named = benchmark_column([c.benchmark for c in heads])
    rows = []
    for c in sorted(heads, key=lambda c: c.speedup.value if math.isfinite(c.speedup.value) else 0.0):
        times = values([c.reference.median, c.candidate.median], c.reference.unit)
        ratio = words.natural(c)
        told = f"{ratio} as measured, one run a side"
        rows.append(
            Row.of(
                named(c.benchmark),
                *times,
                ratio,
                name=c.benchmark,
                outcome="undecided",
                message=told,
                kind="as measured",
            )
        )
    last = len(rows) - _AT_ENDS
    if last - _AT_ENDS > 2:
        rows = [replace(r, kind="in between", folded=_AT_ENDS <= i < last) for i, r in enumerate(rows)]
    warning = (
        "One run a side proves nothing: nobody knows how much runs differ. Repeat both, in turns: "
        "speedproof run OLD_COMMAND NEW_COMMAND"
    )
    columns = (column, *version_columns(result.reference, result.candidate), Column("as measured"))
    return replace(about, headline=(Text(warning, "warning"),), tables=(Table.of(columns, rows),))


def leftovers(result: SuiteComparison) -> Iterator[Text]:
    """Benchmarks that one version lacks, and pairs that could not be compared, a line each."""
    versions = spoken([result.reference, result.candidate])
    for label, names in zip(versions, (result.only_reference, result.only_candidate), strict=True):
        if names:
            yield Text(f"Only in {label}: {_first_of(names)}", "warning")
    if result.problems:
        rest = len(result.problems) - 1
        more = f" (and {rest} more in the details)" if rest else ""
        yield Text(f"Left out: {result.problems[0]}{more}", "warning")


def _first_of(names: Sequence[str], room: int = 40) -> str:
    """How many there are, and as many of their names as fit."""
    shown: list[str] = []
    for name in shortened(names, room):
        if len(", ".join([*shown, name])) > room:
            break
        shown.append(name)
    dots = ", ..." if len(shown) < len(names) else ""
    return f"{plural(len(names), 'benchmark')} ({', '.join(shown)}{dots})"
