"""What a session of `run` found: the same sheet as for files, by the test that may be looked at at any time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from speedproof.conclude.claims import SessionQuestion
from speedproof.conclude.looks import CandidateResult
from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Assumption
from speedproof.data.suite import Suite
from speedproof.data.units import format_value
from speedproof.protocols.in_blocks import NO_NUMBER
from speedproof.protocols.results import SEQUENTIAL, WITHHELD, Comparison, SuiteRanking, Verdict
from speedproof.protocols.units import summarise
from speedproof.reporting import sheet
from speedproof.reporting.model import Cell, Report, Table, Text, right
from speedproof.reporting.names import common_prefix, enumerate_names, labels, width_of
from speedproof.reporting.notes import failed
from speedproof.reporting.numbers import percent, plural, rough, sparkline
from speedproof.reporting.words import observed, of_metric, span

_NAMED = 5
# Where the system counts whole ticks, a column may hold nothing else.
_NO_TIME = format_value(0.0, "s")


def report(
    findings: Sequence[CandidateResult],
    question: SessionQuestion,
    results: Sequence[SuiteComparison],
    rankings: Mapping[str, SuiteRanking] | None = None,
    judged: Report | None = None,
    undecided: Sequence[Comparison | None] = (),
    *,
    spent: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
    builds: tuple[int, bool] | None = None,
    load: str = "",
) -> Report:
    """The ending of a session: what a comparison of its file says, or its policies, and how that came to be.

    ``judged`` is the sheet of the policies, ``undecided`` what these leave open.
    """
    heads = [c for result in results for c in result.headlines]
    if judged is not None:
        made = judged
    elif not heads:
        return Report("", (Text("Undecided: no complete block was measured.", "bad"),))
    else:
        (made,) = sheet.reports(results, rankings)
        undecided = [c for c in heads if c.verdict is Verdict.UNDECIDED]
        if len(findings) == 1 and spent:
            made = replace(made, tables=(_with_spent(made.tables[0], findings[0], spent), *made.tables[1:]))
    notes: list[Text] = [*made.notes, *_warnings(findings, {*_SAID, *failed(heads)})]
    notes += _of_builds(findings, *builds) if builds and findings else []
    # It favours no side, and may be why a session has come to nothing.
    if load and any(c is None or c.needed != WITHHELD for c in undecided):
        notes.append(Text(f"! The load was {load}: on an idle machine fewer runs are enough.", "warning"))
    if judged is None:
        once = question.rules.fixed or any(c.test != SEQUENTIAL for c in heads)
        notes.append(Text(_risks(findings, question, once=once), "dim"))
    return replace(made, notes=tuple(notes), hints=(), records=None)


_SAID = (Assumption.ONE_LAYOUT, Assumption.BLOCK_SYMMETRY, Assumption.STEADY_SPEEDUP)
"""What the sheet says of the runs, where the test that it shows assumes it."""


def _warnings(findings: Sequence[CandidateResult], said: Collection[Assumption]) -> Iterator[Text]:
    """What else happened while they were measured and speaks against them; of several benchmarks its gist."""
    seen = [(f.benchmark, check) for f in findings for check in f.warnings if check.kind not in said]
    benchmarks = [f.benchmark for f in findings]
    if len(set(benchmarks)) < 2:
        for message in dict.fromkeys(check.message for _, check in seen):
            yield Text(f"! {message[:1].upper()}{message[1:]}.", "warning")
    elif seen := [(name, check) for name, check in seen if check.kind.undermines in ("risk", "question")]:
        start = len(common_prefix(benchmarks))
        names = enumerate_names(dict.fromkeys(benchmark[start:] for benchmark, _ in seen), _NAMED)
        kinds = ", ".join(dict.fromkeys(check.kind.violated for _, check in seen))
        yield Text(f"! In {names} the true risk may be larger: {kinds}.", "warning")


def spent_of(suite: Suite) -> dict[tuple[str, str], dict[str, str]]:
    """The medians of processor time, by benchmark and version."""
    medians: dict[tuple[str, str], dict[str, str]] = {}
    for name in ("user", "system"):
        for (key, version), sample in suite.samples.items():
            if key.metric == name:
                shown = format_value(summarise(sample).median, sample.unit)
                medians.setdefault((key.benchmark, version), {})[name] = shown
    return medians


def _with_spent(
    table: Table, finding: CandidateResult, spent: Mapping[tuple[str, str], Mapping[str, str]]
) -> Table:
    """The sheet of both sides with their processor time before the number of runs."""
    sides = [spent.get((finding.benchmark, side), {}) for side in (finding.reference, finding.candidate)]
    names = [
        name
        for name in ("user", "system")
        if all(name in side for side in sides) and any(side[name] != _NO_TIME for side in sides)
    ]
    if table.columns[-1].title != "runs" or len(table.rows) != len(sides):
        return table  # one run a side: plain ratios
    rows = (
        replace(row, cells=(*row.cells[:-1], *(Cell(side[name]) for name in names), row.cells[-1]))
        for row, side in zip(table.rows, sides, strict=True)
    )
    return Table.of((*table.columns[:-1], *right(*names, drop=3), table.columns[-1]), rows)


def _of_builds(findings: Sequence[CandidateResult], count: int, varied: bool) -> Iterator[Text]:
    """A remark on the builds: what they represent, and whether all were measured."""
    measured = min(f.result.blocks for f in findings)
    lost = measured < count
    if lost and any(f.result.untested for f in findings):
        missing = f"Pairs of builds measured so far: {measured} of {count}; --resume measures the others."
        yield Text(missing, "warning")
        return
    layouts = "All builds have one layout: this is said of them; {seed} in --build varies it."
    if varied:
        layouts = "Every block has builds of its own, layouts varied: this is said of the code."
    yield Text(layouts, "dim")
    if lost:
        yield Text(f"Complete pairs: {measured} of {count}; runs of the others failed.", "warning")


def _risks(findings: Sequence[CandidateResult], question: SessionQuestion, *, once: bool) -> str:
    """The scope of the stated risk."""
    alpha, benchmarks = question.rules.alpha, len({f.benchmark for f in findings})
    controls = {f.benchmark for f in findings} & {*question.unaffected}
    units = "builds" if question.rules.fixed else "runs"
    how = "tested once, at the end" if once else "looked at after each"
    if max(f.result.alpha for f in findings) < alpha:
        risk = f"Blocks of {units}, {how}; all candidates share the risk: {percent(alpha)} a direction."
    else:
        pairs = f"{plural(findings[0].result.blocks, 'pair')} of {units}" if benchmarks == 1 else "Pairs"
        each = "" if benchmarks == 1 else " a benchmark"
        risk = f"{pairs} in random order, {how}; risk {percent(alpha)} each way{each}."
    if len(controls) > 1:
        risk = f"{risk.removesuffix('.')}; the {len(controls)} that the change cannot touch count as one."
    return risk


_NAME = 30


def standing(findings: Sequence[CandidateResult], left: int | None = None) -> list[str]:
    """The state of each candidate, and the runs it needs in all, as its sheet states them.

    Of so many blocks that are `left` to be tested once, nothing is known before.
    """
    names = labels(list(dict.fromkeys(n for f in findings for n in (f.reference, f.candidate))), _NAME)[1:]
    return [
        f"{name}: {_known(f, left)}, {_end(f, left)}"
        for name, f in zip(names, findings, strict=True)
        if not math.isnan(f.estimate)
    ]


def _known(f: CandidateResult, left: int | None) -> str:
    """Between which factors the speedup lies; until one of them is known, what is seen."""
    words = of_metric(f.metric)
    so_far = f"{observed(f.estimate, *words)} so far"
    if left is not None:
        return so_far
    bounded = f.result.low > 0 or f.result.high < math.inf
    shown = span(f.certified, *words) if bounded else so_far
    return f"{shown}, undecided" if f.verdict is Verdict.UNDECIDED else shown


def _end(f: CandidateResult, left: int | None) -> str:
    if left is not None:
        return f"{plural(left, 'run')} of each to go"
    if f.reason:
        return f.reason
    if f.blocks_to_go == 0:
        return "enough is known"
    if math.isnan(f.blocks_to_go):
        return "too early to say how many more"
    if math.isfinite(f.blocks_to_go):
        return f"about {rough(math.ceil(f.result.blocks + f.blocks_to_go))} runs of each in all"
    return NO_NUMBER


def bars(recent: Mapping[str, Sequence[float]], *, seconds: bool) -> list[str]:
    """A line a version: the median of its recent values, and these as bars."""
    names = labels(list(recent), _NAME)
    width = max(map(width_of, names), default=0)
    lines = []
    for name, values in zip(names, recent.values(), strict=True):
        middle = sorted(values)[len(values) // 2] if values else math.nan
        shown = format_value(middle, "s") if seconds else f"{middle:.4g}"
        padding = " " * (width - width_of(name))
        lines.append(f"  {name}{padding}  {shown if values else '-':>9}  {sparkline([*values])}")
    return lines
