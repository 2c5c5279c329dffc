"""What a session of `run` found: the same sheet as for files, by the test that may be looked at at any time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from speedproof.data.notes import Assumption
from speedproof.data.session_file import control_name
from speedproof.data.suite import Suite
from speedproof.data.units import format_value
from speedproof.protocols.claims import SessionQuestion, StopRules
from speedproof.protocols.negative_controls import differs
from speedproof.protocols.results import SEQUENTIAL, Comparison, Verdict
from speedproof.protocols.sequential import NO_NUMBER, WITHHELD, CandidateResult
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.units import Summary, summarise
from speedproof.reporting import sheet, versions
from speedproof.reporting.model import Cell, Report, Table, Text, right
from speedproof.reporting.names import common_prefix, enumerate_names, labels, width_of
from speedproof.reporting.numbers import percent, plural, rough, sparkline
from speedproof.reporting.words import direction, observed, of_metric, span

_NAMED = 5
# Where the system counts whole ticks, a column may hold nothing else.
_NO_TIME = format_value(0.0, "s")


def report(
    findings: Sequence[CandidateResult],
    sides: Mapping[tuple[str, str], Summary],
    question: SessionQuestion,
    sheets: Sequence[SuiteComparison] = (),
    *,
    spent: Mapping[tuple[str, str], Mapping[str, str]] | None = None,
    file: str = "",
    builds: tuple[int, bool] | None = None,
    judged: Report | None = None,
    load: str = "",
) -> Report:
    """The ending of a session; ``sheets`` are what its runs say of each candidate, as files of them would.

    ``judged`` is what a policy says of them, where one was asked for.
    """
    rules = question.rules
    results = results_of(findings, sides, rules, sheets)
    if judged is not None:
        made = judged
    elif not results:
        return Report("", (Text("Undecided: no complete block was measured.", "bad"),))
    else:
        made = sheet.report(results[0]) if len(results) == 1 else versions.report(results)
    once = rules.fixed or any(c.test != SEQUENTIAL for result in results for c in result.headlines)
    notes: list[Text] = [*made.notes]
    if rules.demand:
        notes[:0] = _apart(findings, sides)
    elif len(findings) == 1 and spent:
        made = replace(made, tables=(_with_spent(made.tables[0], findings[0], spent), *made.tables[1:]))
    skewed = [f.candidate for f in findings if f.result.contradictory]
    why = [Text(f"{candidate}: no single speedup fits all pairs.", "dim") for candidate in skewed]
    heads = results[0].headlines if len(results) == 1 and not rules.demand else ()
    said = {check.kind for c in heads for check in {*c.failed_checks} - {*c.undermining} if len(heads) == 1}
    if rules.demand:
        said.add(Assumption.NOISE_FLOOR)
    notes += dict.fromkeys((*why, *_warnings(findings, said)))
    notes += _of_builds(findings, *builds) if builds and findings else []
    # It favours no side, and may be why a session has come to nothing.
    of_policy = [f for f in findings if f.outcome] if rules.demand else findings
    open_ones = [f for f in of_policy if (f.outcome or f.verdict) == "undecided" and f.reason != WITHHELD]
    if load and open_ones:
        notes.append(Text(f"! The load was {load}: on an idle machine fewer runs are enough.", "warning"))
    notes += [] if rules.demand else [Text(_risks(findings, question, once=once), "dim")]
    return replace(
        made,
        headline=(*_differing(findings, question), *made.headline),
        notes=tuple(notes),
        hints=(f"This verdict again: speedproof run --review {file}",) if file else (),
        records=None,
    )


def by_build(
    findings: Sequence[CandidateResult], sides: Mapping[tuple[str, str], Summary]
) -> dict[tuple[str, str], Summary]:
    """Summaries of sides that have a new build in every block, counted in builds."""
    counts = {(f.benchmark, of): f.result.blocks for f in findings for of in (f.reference, f.candidate)}
    return {k: replace(s, repeated="build", n=counts.get(k, s.n)) for k, s in sides.items()}


def _warnings(findings: Sequence[CandidateResult], said: Collection[Assumption]) -> Iterator[Text]:
    """What speaks against the assumptions and is not said by the sheet; of several benchmarks its gist."""
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


def _apart(findings: Sequence[CandidateResult], sides: Mapping[tuple[str, str], Summary]) -> Iterator[Text]:
    """A line on versions that cannot differ and are not judged."""
    unjudged = [
        f"{f.candidate if f.candidate == control_name(f.reference) else f.benchmark} ({span(f.certified)})"
        for f in findings
        if not f.outcome and (f.benchmark, f.candidate) in sides and not math.isnan(f.estimate)
    ]
    if unjudged:
        yield Text(f"Not judged: {enumerate_names(unjudged, _NAMED)}.", "dim")


def _differing(findings: Sequence[CandidateResult], question: SessionQuestion) -> Iterator[Text]:
    """Lines on differences between versions that cannot differ: two builds of one source, unaffected ones."""
    withheld = "No smaller verdict is given."
    if question.rules.demand:
        withheld = "Nothing nearer than that to the margin is decided."
    different = [(f, direction(f.estimate)) for f in findings if differs(f)]
    for f, which_way in different:
        if question.control and f.candidate == control_name(f.reference):
            again = f"{f.reference}, built again from the same source, is {which_way} ({f.benchmark})"
            yield Text(f"The noise floor is not met: {again}. {withheld}", "bad")
    for f, which_way in different:
        if f.benchmark in question.unaffected:
            other = f"is {which_way}: something else differs"
            yield Text(f"{f.benchmark}, which the change cannot touch, {other}. {withheld}", "bad")


def _of_builds(findings: Sequence[CandidateResult], count: int, varied: bool) -> Iterator[Text]:
    """A remark on the builds: what they represent, and whether all were measured."""
    measured = min(f.result.blocks for f in findings)
    lost = measured < count
    if lost and any(f.result.untested for f in findings):
        missing = f"Pairs of builds measured so far: {measured} of {count}; --resume measures the others."
        yield Text(missing, "warning")
        return
    layouts = "all of one layout: this is said of these builds; {seed} in --build varies it"
    if varied:
        layouts = "layouts varied: this is said of the code"
    yield Text(f"Every block has builds of its own, {count} of each, {layouts}.", "dim")
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


def results_of(
    findings: Sequence[CandidateResult],
    sides: Mapping[tuple[str, str], Summary],
    rules: StopRules,
    sheets: Sequence[SuiteComparison],
) -> list[SuiteComparison]:
    """The runs of each candidate as a comparison, with the sequential findings in place of its verdicts.

    They are the same but where candidates share the risk or a negative control withholds something: then nothing
    is said of all benchmarks together.
    """
    by_candidate: dict[tuple[str, str, str], list[Comparison]] = {}
    for f in findings:
        if (c := f.comparison(sides)) is not None:
            by_candidate.setdefault((f.reference, f.candidate, f.metric), []).append(c)
    results = []
    for names, comparisons in by_candidate.items():
        whole = SuiteComparison(
            *names, alpha=rules.alpha, margin=rules.margin, nested="process", comparisons=tuple(comparisons)
        )
        for files in sheets:
            if files.candidate == whole.candidate:
                rows = {c.benchmark: c for c in files.headlines}
                heads = [_same(c, rows.get(c.benchmark, c)) for c in comparisons]
                others = [c for c in files.comparisons if c.protocol != comparisons[0].protocol]
                whole = replace(
                    files,
                    comparisons=(*heads, *others),
                    controlled=files.controlled if heads == list(files.headlines) else (),
                    # A remark on the session's verdicts.
                    caveats=tuple(c for c in files.caveats if c.kind is not Assumption.ONE_LAYOUT),
                )
        results.append(whole)
    return results


def _same(finding: Comparison, row: Comparison) -> Comparison:
    """The row of the sheet where it says what the finding says."""
    alike = (finding.verdict, finding.speedup) == (row.verdict, row.speedup)
    return row if alike else replace(finding, quantiles=row.quantiles)


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
