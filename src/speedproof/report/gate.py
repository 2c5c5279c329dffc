"""The gate's answer as text for a terminal or a log, and as a Markdown summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from speedproof.protocols.comparison import UNDERMINING
from speedproof.protocols.gate import GateResult, GateRow
from speedproof.protocols.gate_claims import Outcome
from speedproof.report.blocks import Block, Cell, Column, Fitted, Style, Table, Text
from speedproof.report.conclusions import SHORT
from speedproof.report.wording import bounds, percent, plural, pvalue

__all__ = ["gate_blocks", "gate_conclusion", "gate_markdown", "gate_risks"]

_STYLES: dict[Outcome, Style] = {Outcome.PASS: "good", Outcome.FAIL: "bad", Outcome.UNDECIDED: "doubt"}
_MARKS = {Outcome.PASS: "+", Outcome.FAIL: "-", Outcome.UNDECIDED: "?"}
_ORDER = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)
_ASKED = {
    "not worse": "not worse by more than the margin",
    "improvement": "better",
    "equivalence": "equivalent within the margin",
}
_OPPOSITES = {
    "regression": "a regression beyond the margin",
    "slowdown": "a slowdown",
    "difference": "a difference beyond the margin",
}
_MOST_NAMED = 8
_MOST_LISTED = 40
_MOST_ROWS = 100  # GitHub refuses comments above 65,536 characters
_LEGEND = (
    "+ pass: what is asked is proven  - fail: the opposite is proven  ? undecided  ! true risk unknown; "
    "in brackets the certified bounds"
)


def gate_conclusion(result: GateResult) -> str:
    """The gate's answer in plain sentences.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Returns
    -------
    str
        Outcome, counts and the names of the benchmarks that matter.
    """
    total = len(result.rows)
    parts = []
    if result.absent:
        names = list(dict.fromkeys(absent.benchmark for absent in result.absent))
        lacked = plural(len(names), "benchmark")
        parts.append(
            f"{lacked} of {result.reference} cannot be compared in {result.candidate}: {_names(names)}"
        )
    failing = [row for row in result.rows if row.outcome is Outcome.FAIL]
    for name in dict.fromkeys(row.contradicted.name for row in failing):
        rows = [row for row in failing if row.contradicted.name == name]
        parts.append(
            f"{_OPPOSITES[name]} is proven on {len(rows)} of {_count(result, total)}: {_names(_named(rows))}"
        )
    if result.outcome is Outcome.PASS:
        parts.append(_passed(result))
    undecided = [row for row in result.rows if row.outcome is Outcome.UNDECIDED]
    if undecided:
        if result.outcome is Outcome.UNDECIDED:
            passing = result.count(Outcome.PASS)
            parts.append(f"what is asked is proven on {passing} of {_count(result, total)}")
        parts.append(f"undecided on {len(undecided)} of {total}: {_names(_named(undecided))}")
    return f"{result.outcome.value.upper()}: {'; '.join(parts)}."


def _passed(result: GateResult) -> str:
    groups = Counter(row.required.name for row in result.rows)
    total = len(result.rows)
    if len(groups) == 1:
        where = f"all {_count(result, total)}" if total > 1 else _named(result.rows)[0]
        what = f"{_ASKED[result.rows[0].required.name]} on {where}"
    else:
        what = " and ".join(f"{_ASKED[name]} on {_count(result, n)}" for name, n in groups.items())
    return f"{result.candidate} is proven {what}, in {result.rules.protocol}"


def _count(result: GateResult, count: int) -> str:
    """A number of rows: of benchmarks, or of their metrics where there are several."""
    several = len({row.comparison.metric for row in result.rows}) > 1
    return plural(count, "benchmark metric" if several else "benchmark")


def _named(rows: Sequence[GateRow]) -> list[str]:
    """Benchmarks of rows; the metric is named where the rows are not all of one."""
    several = len({row.comparison.metric for row in rows}) > 1
    return [
        f"{row.comparison.benchmark} ({row.comparison.metric})" if several else row.comparison.benchmark
        for row in rows
    ]


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def gate_risks(result: GateResult) -> str:
    """What the gate's answers risk, in plain sentences.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Returns
    -------
    str
        For a false pass and for a false fail.
    """
    alpha, total = result.rules.alpha, len(result.rows)
    one = f"A false pass has a risk of at most {percent(alpha)}, however many benchmarks there are"
    if total < 2:
        return f"{one}; so has a false fail."
    if result.rules.multiplicity == "holm":
        return f"{one}; a false fail one of {percent(alpha)} over all {total} together (Holm's correction)."
    if result.rules.multiplicity == "bh":
        return (
            f"{one}; of the benchmarks that fail an expected share of {percent(alpha)} at most does so falsely "
            "(Benjamini and Hochberg's correction, for benchmarks that are independent or go together)."
        )
    return (
        f"{one}; a false fail one of {percent(alpha)} for each benchmark, up to "
        f"{percent(min(1.0, alpha * total))} over all {total} (no correction)."
    )


def _doubts(result: GateResult) -> Iterator[str]:
    """That these risks are not the true ones, where runs depend on each other or were tampered with."""
    doubtful = sum(bool(row.comparison.doubts) for row in result.rows)
    if doubtful:
        yield (
            f"In {doubtful} of {_count(result, len(result.rows))}, marked !, the runs are not what the tests "
            f"assume ({_tally(result, undermining=True)}): the true risk is unknown and may be far larger."
        )


def _tally(result: GateResult, *, undermining: bool) -> str:
    """Kinds of checks that did not hold, each with the number of its benchmarks."""
    found = {
        (SHORT.get(check.kind, check.kind), i)
        for i, row in enumerate(result.rows)
        for check in row.comparison.failed_checks
        if (check.kind in UNDERMINING) == undermining
    }
    counts = Counter(word for word, _ in sorted(found) if word)
    return ", ".join(f"{word} on {count}" for word, count in counts.items())


def gate_blocks(result: GateResult) -> Iterator[Block]:
    """The whole gate.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Yields
    ------
    Text or Fitted
        The conclusion, the table with failing benchmarks first, what is absent, what would decide.
    """
    yield Text(f"gate: {result.candidate} against {result.reference}", "strong")
    yield Text(gate_conclusion(result), _STYLES[result.outcome])
    if result.rows:
        yield Text(gate_risks(result), "dim")
        yield from (Text(text, "doubt") for text in _doubts(result))
        yield Text("")
        yield _table(result)
        yield Text(_LEGEND, "dim")
    yield from _listed("Missing, which fails the gate:", _absences(result), "bad")
    yield from _listed("What to mind:", [*_remarks(result), *_assumptions(result)], "")
    if result.added:
        yield Text("")
        yield Text(
            f"New in {result.candidate}, without bearing: {_names(result.added)} "
            f"({plural(len(result.added), 'benchmark')}).",
            "dim",
        )
    if result.ignored:
        yield Text("")
        yield Text(f"Ignored by the settings: {_names(result.ignored)}.", "dim")


def _listed(title: str, lines: list[str], style: Style) -> Iterator[Block]:
    if not lines:
        return
    yield Text("")
    yield Text(title)
    for line in lines[:_MOST_LISTED]:
        yield Text(f"  {line}", style)
    if len(lines) > _MOST_LISTED:
        yield Text(f"  and {len(lines) - _MOST_LISTED} more", style)


def _absences(result: GateResult) -> list[str]:
    several = len({absent.metric for absent in result.absent}) > 1
    return [
        f"{absent.benchmark}{f' ({absent.metric})' if several else ''}: {absent.reason}"
        for absent in result.absent
    ]


def _remarks(result: GateResult) -> list[str]:
    """What would decide, told once for all benchmarks of which the same is to be said."""
    by_text: dict[str, list[str]] = {}
    rows = _sorted(result)
    for name, row in zip(_named(rows), rows, strict=True):
        parts = [row.remark] if row.remark else []
        needed = row.comparison.needed
        if needed is not None:
            sides = ((needed.reference, result.reference), (needed.candidate, result.candidate))
            runs = [f"{plural(count, 'run')} of {side}" for count, side in sides if count is not None]
            wanted = f"about {' and '.join(runs)} would be needed: " if runs else ""
            parts.append(f"{wanted}{needed.reason}")
        if parts:
            by_text.setdefault("; ".join(parts), []).append(name)
    return [f"{_names(names)}: {text}" for text, names in by_text.items()]


def _assumptions(result: GateResult) -> list[str]:
    """Which other assumptions did not hold, and on how many benchmarks."""
    found = _tally(result, undermining=False)
    return [f"did not hold: {found}; 'speedproof compare' says what to do"] if found else []


def _sorted(result: GateResult) -> list[GateRow]:
    """Failing benchmarks first, then undecided ones; the reference's order within each."""
    return sorted(result.rows, key=lambda row: _ORDER.index(row.outcome))


def _outcome(row: GateRow) -> str:
    return f"{_MARKS[row.outcome]}{'!' if row.comparison.doubts else ' '}{row.outcome.value}"


def _asked(row: GateRow) -> str:
    """The hypothesis without its subject, which is the column before."""
    return row.required.hypothesis.replace(" < speedup < ", " to ").removeprefix("speedup ")


def _also(row: GateRow) -> str:
    """Proven claims beyond what the policy asked; an improvement says that it is not worse."""
    told = {row.required.name, row.contradicted.name, "not worse"}
    return ", ".join(name for name in row.claims_proven() if name not in told)


def _runs(row: GateRow) -> str:
    n, m = row.comparison.reference.n, row.comparison.candidate.n
    return str(n) if n == m else f"{n}, {m}"


def _table(result: GateResult) -> Fitted:
    rows = _sorted(result)
    columns = {
        "benchmark": Column("benchmark"),
        "outcome": Column("outcome"),
        "runs": Column("runs", right=True),
        "speedup": Column(f"speedup of {result.rules.protocol}"),
        "asked": Column("asked"),
        "p": Column("p", right=True),
        "p fail": Column("p of opposite", right=True),
        "also": Column("also proven"),
    }
    cells = [
        {
            "benchmark": Cell(name),
            "outcome": Cell(_outcome(row), _STYLES[row.outcome]),
            "runs": Cell(_runs(row)),
            "speedup": Cell(bounds(row.comparison.speedup)),
            "asked": Cell(_asked(row)),
            "p": Cell(pvalue(row.required.adjusted)),
            "p fail": Cell(pvalue(row.contradicted.adjusted)),
            "also": Cell(_also(row)),
        }
        for name, row in zip(_named(rows), rows, strict=True)
    ]

    def variant(*without: str, wraps: bool = False) -> Table:
        kept = [name for name in columns if name not in without]
        titles = {**columns, "benchmark": Column("benchmark", wraps=wraps)}
        return Table(tuple(titles[n] for n in kept), tuple(tuple(row[n] for n in kept) for row in cells))

    return Fitted(
        (
            variant(),
            variant("p fail"),
            variant("p", "p fail"),
            variant("p", "p fail", "runs"),
            variant("p", "p fail", "runs", "also"),
            variant("p", "p fail", "runs", "also", wraps=True),
            variant("p", "p fail", "runs", "also", "asked", wraps=True),
        )
    )


def gate_markdown(result: GateResult) -> str:
    """The gate in GitHub's Markdown, for a job summary or a comment.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Returns
    -------
    str
        Conclusion and the benchmarks that did not pass; all of them folded below. Names are code, so they can
        neither mention anybody nor become markup.
    """
    # Late, because it knows every kind of report and a gate needs its text alone most of the time.
    from speedproof.report.markdown import code

    total = len(result.rows)
    counts = ", ".join(f"{result.count(o)} {o.value}" for o in _ORDER if result.count(o))
    lines = [
        f"## Gate: {result.outcome.value}",
        "",
        f"{code(result.candidate)} against {code(result.reference)}, {_count(result, total)}"
        + (f": {counts}" if counts else "")
        + (f"; {len(result.absent)} missing, which fails the gate" if result.absent else "")
        + ".",
        "",
    ]
    lines += [f"- missing: {code(line)}" for line in _absences(result)[:_MOST_LISTED]]
    if len(result.absent) > _MOST_LISTED:
        lines.append(f"- and {len(result.absent) - _MOST_LISTED} more missing")
    if result.absent:
        lines.append("")
    rows = _sorted(result)
    open_rows = [row for row in rows if row.outcome is not Outcome.PASS]
    if open_rows:
        lines += [*_markdown_table(result, open_rows), ""]
    if total:
        lines += [
            f"<details><summary>All {_count(result, total)}</summary>",
            "",
            *_markdown_table(result, rows),
            "",
            "</details>",
            "",
        ]
    remarks = [*_remarks(result), *_assumptions(result)]
    if remarks:
        lines += ["<details><summary>What to mind</summary>", ""]
        lines += [f"- {code(line)}" for line in remarks[:_MOST_LISTED]]
        lines += ["", "</details>", ""]
    if total:
        lines += [gate_risks(result), "", *(f"**{text}**\n" for text in _doubts(result))]
    if result.ignored:
        lines += [f"Ignored by the settings: {', '.join(map(code, result.ignored[:_MOST_NAMED]))}"]
        if len(result.ignored) > _MOST_NAMED:
            lines[-1] += f" and {len(result.ignored) - _MOST_NAMED} more"
        lines += [""]
    return "\n".join(lines)


def _markdown_table(result: GateResult, rows: Sequence[GateRow]) -> list[str]:
    from speedproof.report.markdown import code

    lines = [
        f"| benchmark | outcome | runs | speedup of {result.rules.protocol} | asked | p | p of opposite |",
        "|---|---|---:|---|---|---:|---:|",
    ]
    lines += [
        f"| {code(name)} | {_outcome(row)} | {_runs(row)} | {bounds(row.comparison.speedup)} "
        f"| {code(row.required.hypothesis)} | {pvalue(row.required.adjusted)} "
        f"| {pvalue(row.contradicted.adjusted)} |"
        for name, row in zip(_named(rows)[:_MOST_ROWS], rows[:_MOST_ROWS], strict=True)
    ]
    if len(rows) > _MOST_ROWS:
        lines.append(f"| and {len(rows) - _MOST_ROWS} more | | | | | | |")
    return lines
