"""Two versions on a suite: the sheet that a person reads in ten lines.

The answer comes first, then what the data cannot know, then the times with what is proven; more on request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Comparison, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.reporting import details as detailed
from speedproof.reporting import pair
from speedproof.reporting.caveats import (
    beside_medians,
    caveats,
    session_floor,
    told_of_sessions,
    two_speeds,
    undermining,
)
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text
from speedproof.reporting.names import common_prefix, labels, shortened, spoken
from speedproof.reporting.numbers import level, percent, plural, share, values
from speedproof.reporting.pair import OUTCOMES, opposite, sentence, turned
from speedproof.reporting.records import records
from speedproof.reporting.words import (
    STYLES,
    asked_of,
    at_least,
    change,
    effect,
    few,
    gain_and_loss,
    geometric_mean,
    natural,
    needs,
    wins,
)

__all__ = ["OUTCOMES", "counted", "leftovers", "report", "single_runs", "version_columns"]

_MANY = 12
"""Benchmarks from which on only the clearest are shown."""
_SHOWN = 5
_BANDS = ((0.05, "over 5 %"), (0.02, "2 to 5 %"), (0.0, "below 2 %"))
_TITLE, _BRIEF = 16, 9
_CHANGED = (Verdict.FASTER, Verdict.SLOWER)


def report(
    result: SuiteComparison, *, everything: bool = False, details: bool = False, explain: bool = False
) -> Report:
    """A comparison of two versions on one metric."""
    sections = [
        *(detailed.details(result) if details else ()),
        *(detailed.explain(result) if explain else ()),
    ]
    title = f"{result.candidate} against {result.reference}: {result.metric}"
    heads = result.headlines
    if not heads:
        headline: tuple[Text, ...] = (Text("No benchmark was measured with both versions.", "bad"),)
        return Report(title, headline, notes=tuple(leftovers(result)), command="compare", data=result)
    if single_runs(result):
        return _single_runs(result, title)
    made = pair.report(result, heads[0]) if len(heads) == 1 else _several(result, everything)
    return Report(
        title=title,
        headline=(
            *made.headline,
            *caveats(result.caveats),
            *(() if len(heads) == 1 and told_of_sessions(heads[0]) else session_floor(heads)),
            *two_speeds(result.machine, *spoken([result.reference, result.candidate])),
        ),
        tables=made.tables,
        notes=(*made.notes, *leftovers(result)),
        hints=tuple(_not_given(made.hints, details=details, explain=explain)),
        sections=tuple(sections),
        command="compare",
        data=result,
        records=partial(records, result),
        about=result.metric,
        good=all(c.verdict is not Verdict.SLOWER for c in heads),
    )


def _not_given(hints: Sequence[str], *, details: bool, explain: bool) -> Iterator[str]:
    given = [option for option, on in (("--details", details), ("--explain", explain)) if on]
    return (hint for hint in hints if not any(option in hint for option in given))


def _several(result: SuiteComparison, everything: bool) -> Report:
    """A suite: counts, the numbers of the whole, the clearest benchmarks."""
    heads = result.headlines
    old, new = spoken([result.reference, result.candidate])
    many = len(heads) > _MANY
    what = "" if result.metric == "time" else f"{result.metric}: "
    asked = asked_of(heads[0].protocol)
    headline = [
        Text(
            f"{what}{new} against {old}: {counted(heads)}",
            "strong",
            f"({asked}, {level(1 - result.alpha)})",
        )
    ]
    whole = [*_geometric_mean(result, heads), *_joint(result, heads)]
    changed = any(c.verdict in _CHANGED for c in heads)
    tables = [_bands(heads)] if many and changed else []
    table = _benchmarks(result, heads, folds=many and not everything)
    tables.append(table)
    told = {row.name for row in table.rows if not row.folded}
    hints = ("--details: other protocols, HPT", "--explain: checks")
    return Report(
        "",
        (*headline, *(whole if many else ())),
        tuple(tables),
        (
            *beside_medians(c for c in heads if c.benchmark in told and c.verdict in _CHANGED),
            *(() if many else whole),
            *undermining(heads),
        ),
        ("--all: every benchmark", *hints) if many and not everything else hints,
    )


def counted(heads: Sequence[Comparison]) -> str:
    """How many benchmarks got which verdict: ``"3 faster, 1 slower, 2 undecided of 6"``."""
    better, worse = gain_and_loss(heads[0])
    words = {
        Verdict.FASTER: better,
        Verdict.SLOWER: worse,
        Verdict.EQUIVALENT: "the same",
        Verdict.UNDECIDED: "undecided",
    }
    counts = {v: sum(c.verdict is v for c in heads) for v in Verdict}
    order = sorted((Verdict.FASTER, Verdict.SLOWER), key=lambda v: -counts[v])
    shown = [v for v in (*order, Verdict.EQUIVALENT, Verdict.UNDECIDED) if counts[v]]
    return f"{', '.join(f'{counts[v]} {words[v]}' for v in shown)} of {len(heads)}"


def _geometric_mean(result: SuiteComparison, heads: Sequence[Comparison]) -> Iterator[Text]:
    means = result.geometric_means
    if means is None or not math.isfinite(means.these.value):
        return
    yield Text(geometric_mean(means.these, *gain_and_loss(heads[0])))


def _joint(result: SuiteComparison, heads: Sequence[Comparison]) -> Iterator[Text]:
    """How many verdicts hold together at one risk."""
    found = next(
        (c for c in result.controlled if c.method == "holm" and c.protocol == heads[0].protocol), None
    )
    if found is None:
        return
    better, worse = gain_and_loss(heads[0])
    words = {Verdict.FASTER: better, Verdict.SLOWER: worse, Verdict.EQUIVALENT: "the same"}
    kept = [f"{found.count(v)} {word}" for v, word in words.items() if found.count(v)]
    told = ", ".join(kept) or "none"
    yield Text(f"At a joint risk of {percent(found.alpha)} (Holm): {told}")


def _bands(heads: Sequence[Comparison]) -> Table:
    """How many were proven to have changed by how much."""
    better, worse = gain_and_loss(heads[0])
    rows = []
    for word, kind in ((worse, Verdict.SLOWER), (better, Verdict.FASTER)):
        bounds = [effect(c).bound for c in heads if c.verdict is kind]
        excess = [0.0 if math.isnan(b) else b - 1 for b in bounds]
        cells = [Cell(word, STYLES[kind])]
        most = math.inf
        for least, _ in _BANDS:
            cells.append(Cell(str(sum(least <= e < most for e in excess))))
            most = least
        rows.append(tuple(cells))
    columns = (Column("proven by"), *(Column(title, right=True) for _, title in _BANDS))
    return Table.of(columns, iter(rows))


def _benchmarks(result: SuiteComparison, heads: Sequence[Comparison], *, folds: bool) -> Table:
    """A row a benchmark, by what is proven of it."""
    names = [c.benchmark for c in heads]
    prefix = common_prefix(names)
    shown = {c.benchmark: c.benchmark[len(prefix) :] for c in heads}
    ordered = _ordered(heads, worst_first=folds)
    open_rows = _open(ordered) if folds else set(names)
    answers: dict[str, list[Comparison]] = {}
    for c in result.comparisons:
        answers.setdefault(c.benchmark, []).append(c)
    rows = [
        _row(c, answers[c.benchmark], shown[c.benchmark], result.margin, folded=c.benchmark not in open_rows)
        for c in ordered
    ]
    columns: tuple[Column, ...] = (
        Column(f"{prefix}…" if prefix else "", names=True),
        *version_columns(result.reference, result.candidate),
        Column("change"),
        Column("proven at least", brief="proven"),
        Column(""),
    )
    if not any(row.cells[-1].text for row in rows):
        columns = columns[:-1]
        rows = [Row(r.cells[:-1], r.name, r.outcome, r.message, r.kind, r.folded) for r in rows]
    return Table(columns, tuple(rows))


def version_columns(*versions: str) -> tuple[Column, ...]:
    """A column of numbers for each version."""
    titles = zip(labels(versions, _TITLE), labels(versions, _BRIEF), strict=True)
    # A title with an ellipsis saves a few columns and costs the name.
    return tuple(
        Column(title, right=True, brief="" if "…" in brief and "…" not in title else brief)
        for title, brief in titles
    )


def _ordered(heads: Sequence[Comparison], *, worst_first: bool) -> list[Comparison]:
    """By what is proven: losses and gains each with the clearest first, then what is not decided."""
    first = Verdict.SLOWER if worst_first else Verdict.FASTER
    second = Verdict.FASTER if worst_first else Verdict.SLOWER
    order = [first, second, Verdict.EQUIVALENT, Verdict.UNDECIDED]

    def clearness(c: Comparison) -> float:
        if c.verdict not in (first, second):
            return 0.0
        found = effect(c)
        return -(found.bound if not math.isnan(found.bound) else 1.0)

    return sorted(heads, key=lambda c: (order.index(c.verdict), clearness(c)))


def _open(ordered: Sequence[Comparison]) -> set[str]:
    """The clearest of either direction; more of one where the other has few."""
    found: set[str] = set()
    slower, faster = (
        [c.benchmark for c in ordered if c.verdict is v] for v in (Verdict.SLOWER, Verdict.FASTER)
    )
    of_slower = max(_SHOWN, 2 * _SHOWN - len(faster))
    of_faster = max(_SHOWN, 2 * _SHOWN - len(slower))
    found.update(slower[:of_slower], faster[:of_faster])
    return found


def _row(
    head: Comparison, answers: Sequence[Comparison], shown: str, margin: float | None, *, folded: bool
) -> Row:
    old, new = values([head.reference.median, head.candidate.median], head.reference.unit)
    if head.quantity == "probability":
        told = Cell(wins(head), STYLES[head.verdict], spans=True)
        proven = Cell("")
    elif head.verdict is Verdict.UNDECIDED:
        brief = few(head)
        rest = [f"~ undecided ({brief})"] if brief else []
        why = needs(head)
        text = f"~ undecided ({why})" if why and brief else "~ undecided"
        told = Cell(text, "dim", (*rest, "~ undecided"), spans=True, speedup=head.certified)
        proven = Cell("")
    elif head.verdict is Verdict.EQUIVALENT:
        within = "" if margin is None else f" within {share(margin)}"
        told = Cell(f"= the same{within}", "", ("= the same",), spans=True, speedup=head.certified)
        proven = Cell("")
    else:
        told = Cell(change(head), STYLES[head.verdict], speedup=head.certified)
        bound = effect(head).bound
        proven = Cell(at_least(bound), key=None if math.isnan(bound) else bound)
    marks = [f"{_where(c)}: {change(c)}" for c in opposite(answers, head)]
    if turned(head):
        marks.append("medians: the other way")
    if head.undermining and head.verdict is not Verdict.UNDECIDED:
        marks.insert(0, "!")
    words = {Verdict.FASTER: gain_and_loss(head)[0], Verdict.SLOWER: gain_and_loss(head)[1]}
    return Row(
        (
            Cell(shown, "strong"),
            Cell(old, key=head.reference.median),
            Cell(new, key=head.candidate.median),
            told,
            proven,
            Cell(" ".join(marks), "warning", spans=True),
        ),
        name=head.benchmark,
        outcome=OUTCOMES[head.verdict],
        message=sentence(head, margin),
        kind=words.get(head.verdict, "the same" if head.verdict is Verdict.EQUIVALENT else "undecided"),
        folded=folded,
    )


def _where(c: Comparison) -> str:
    return QUESTIONS[c.protocol].where.removeprefix("in ").removeprefix("by ")


def single_runs(result: SuiteComparison) -> bool:
    """Whether no benchmark was run more than once on either side."""
    return all(c.reference.observations == c.candidate.observations == 1 for c in result.headlines)


def _single_runs(result: SuiteComparison, title: str) -> Report:
    """One run a side: ratios, and how to measure more; nothing is proven."""
    heads = result.headlines
    prefix = common_prefix([c.benchmark for c in heads])
    columns = (
        Column(f"{prefix}…" if prefix else "", names=True),
        *version_columns(result.reference, result.candidate),
        Column("as measured"),
    )
    rows = []
    for c in sorted(heads, key=lambda c: c.speedup.value if math.isfinite(c.speedup.value) else 0.0):
        x, y = values([c.reference.median, c.candidate.median], c.reference.unit)
        ratio = natural(c)
        cells = (Cell(c.benchmark[len(prefix) :], "strong"), Cell(x), Cell(y), Cell(ratio))
        rows.append(
            Row(cells, c.benchmark, "undecided", f"{ratio} as measured, one run a side", "as measured")
        )
    middle = len(rows) - 2 * _SHOWN
    if middle > 2:
        rows = [
            Row(r.cells, r.name, r.outcome, r.message, "in between", folded=_SHOWN <= i < len(rows) - _SHOWN)
            for i, r in enumerate(rows)
        ]
    return Report(
        title,
        (
            Text(
                "One run a side proves nothing: nobody knows how much runs differ. Repeat both, in turns: "
                "speedproof run OLD_COMMAND NEW_COMMAND",
                "warning",
            ),
        ),
        (Table(columns, tuple(rows)),),
        command="compare",
        about=result.metric,
        data=result,
        records=partial(records, result),
    )


def leftovers(result: SuiteComparison) -> Iterator[Text]:
    """Benchmarks that one version lacks, and pairs that could not be compared, a line each."""
    versions = spoken([result.reference, result.candidate])
    for label, names in zip(versions, (result.only_reference, result.only_candidate), strict=True):
        if names:
            yield Text(f"Only in {label}: {_first_of(names)}", "warning")
    if result.problems:
        rest = len(result.problems) - 1
        more = f" (and {rest} more: --details)" if rest else ""
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
