"""What a session of `run` found: the same sheet as for files, by the test that may be looked at at any time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from speedproof.data.notes import Assumption
from speedproof.data.session_file import control_name
from speedproof.data.suite import Suite
from speedproof.data.units import format_value
from speedproof.options import HEADLINE
from speedproof.protocols.gate import of_session
from speedproof.protocols.negative_controls import differs
from speedproof.protocols.results import Comparison
from speedproof.protocols.sequential import TEST, WITHHELD, CandidateResult
from speedproof.protocols.stopping import SessionQuestion, StopRules
from speedproof.protocols.suite import SuiteComparison
from speedproof.protocols.summaries import Summary, summarise
from speedproof.reporting import gate, sheet, versions
from speedproof.reporting.model import Cell, Report, Table, Text, right
from speedproof.reporting.names import common_prefix, enumerate_names
from speedproof.reporting.numbers import percent, plural
from speedproof.reporting.words import direction, interval

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
    absent: Mapping[str, Sequence[str]] | None = None,
    load: str = "",
) -> Report:
    """The ending of a session; ``sheets`` are what its runs say of each candidate, as files of them would."""
    rules = question.rules
    if builds:
        counts = {
            (f.benchmark, side): f.result.blocks for f in findings for side in (f.reference, f.candidate)
        }
        sides = {k: replace(s, repeated="build", n=counts.get(k, s.n)) for k, s in sides.items()}
    results = _results(findings, sides, rules, sheets)
    held = [f for f in findings if f.outcome]
    lacking = absent or {}
    judged = rules.demand is not None and bool(held or lacking)
    if judged:
        means = [c for sheet in sheets for c in sheet.comparisons if c.protocol == "mean"]
        made = gate.report(of_session(findings, sides, rules, lacking, means))
    elif not results:
        return Report("", (Text("Undecided: no complete block was measured.", "bad"),), command="run")
    else:
        made = sheet.report(results[0]) if len(results) == 1 else versions.report(results)
    several = len({f.benchmark for f in findings}) > 1
    once = rules.fixed or any(c.test != TEST for result in results for c in result.headlines)
    # The gate's sheet has told what it withholds.
    told = {Assumption.NOISE_FLOOR} if rules.demand else set()
    warnings = list(_warnings(findings, several, told))
    why = [
        Text(f"{f.candidate}: no single speedup fits all pairs.", "dim")
        for f in findings
        if f.result.contradictory
    ]
    if len(findings) == 1 and spent and not rules.demand:
        made = replace(made, tables=(_with_spent(made.tables[0], findings[0], spent), *made.tables[1:]))
    return replace(
        made,
        headline=(*_differing(findings, question), *made.headline),
        notes=(
            *(_apart(findings, sides) if rules.demand else ()),
            *made.notes,
            *dict.fromkeys((*why, *warnings)),
            *(_of_builds(findings, *builds) if builds and findings else []),
            *(_of_load(held if rules.demand else findings, load) if load else []),
            *([] if rules.demand else [Text(_risks(findings, question, once=once), "dim")]),
        ),
        hints=(f"This verdict again: speedproof run --review {file}",) if file else (),
        command="run",
        data=tuple(findings),
        records=None,
    )


def _warnings(
    findings: Sequence[CandidateResult], several: bool, told: Collection[Assumption]
) -> Iterator[Text]:
    """What speaks against the assumptions; of several benchmarks its gist, with their names."""
    found = [(f.benchmark, check) for f in findings for check in f.warnings if check.kind not in told]
    if not several:
        for message in dict.fromkeys(check.message for _, check in found):
            yield Text(f"! {message[:1].upper()}{message[1:]}.", "warning")
        return
    if found:
        prefix = common_prefix([f.benchmark for f in findings])
        names = dict.fromkeys(benchmark[len(prefix) :] for benchmark, _ in found)
        titles = dict.fromkeys(check.kind.title for _, check in found)
        yield Text(f"! Not met in {enumerate_names(names, _NAMED)}: {', '.join(titles)}.", "warning")


def spent_of(suite: Suite) -> dict[tuple[str, str], dict[str, str]]:
    """The medians of processor time, by benchmark and version."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name in ("user", "system"):
        for (key, version), sample in suite.samples.items():
            if key.metric == name:
                shown = format_value(summarise(sample).median, sample.unit)
                found.setdefault((key.benchmark, version), {})[name] = shown
    return found


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
    """What cannot differ, which no policy judges."""
    told = [
        f"{f.candidate if f.candidate == control_name(f.reference) else f.benchmark} "
        f"({interval(f.certified)})"
        for f in findings
        if not f.outcome and (f.benchmark, f.candidate) in sides and not math.isnan(f.estimate)
    ]
    if told:
        yield Text(f"Not judged: {enumerate_names(told, _NAMED)}.", "dim")


def _differing(findings: Sequence[CandidateResult], question: SessionQuestion) -> Iterator[Text]:
    """What differs that cannot, before everything else: builds of one source, what the change does not touch."""
    withheld = "No smaller verdict is given."
    if question.rules.demand:
        withheld = "Nothing nearer than that to the margin is decided."
    found = [(f, direction(f.estimate)) for f in findings if differs(f)]
    for f, told in found:
        if question.control and f.candidate == control_name(f.reference):
            again = f"{f.reference}, built again from the same source, is {told} ({f.benchmark})"
            yield Text(f"The noise floor is not met: {again}. {withheld}", "bad")
    for f, told in found:
        if f.benchmark in question.unaffected:
            other = f"is {told}: something else differs"
            yield Text(f"{f.benchmark}, which the change cannot touch, {other}. {withheld}", "bad")


def _of_builds(findings: Sequence[CandidateResult], count: int, varied: bool) -> Iterator[Text]:
    """What the builds stand for, and whether all were measured."""
    measured = min(f.result.blocks for f in findings)
    lost = measured < count
    if lost and any(f.result.pvalue_faster == f.result.pvalue_slower == 1.0 for f in findings):
        told = f"Pairs of builds measured so far: {measured} of {count}; --resume measures the others."
        yield Text(told, "warning")
        return
    layouts = "all of one layout: this is said of these builds; {seed} in --build varies it"
    if varied:
        layouts = "layouts varied: this is said of the code"
    yield Text(f"Every block has builds of its own, {count} of each, {layouts}.", "dim")
    if lost:
        few = any(2.0**-f.result.blocks > f.result.alpha for f in findings)
        told = ", too few to prove anything" if few else ""
        yield Text(f"Pairs that count: {measured} of {count}{told}; runs of the others failed.", "warning")


def _of_load(findings: Sequence[CandidateResult], load: str) -> Iterator[Text]:
    """Why a session that others disturbed may have come to nothing; it favours no side."""
    if any((f.outcome or f.verdict) == "undecided" and f.reason != WITHHELD for f in findings):
        yield Text(f"! The load was {load}: without other programs fewer runs tell.", "warning")


def _risks(findings: Sequence[CandidateResult], question: SessionQuestion, *, once: bool) -> str:
    """What the risk covers, and what it does not."""
    alpha, benchmarks = question.rules.alpha, len({f.benchmark for f in findings})
    controls = {f.benchmark for f in findings} & {*question.unaffected}
    units = "builds" if question.rules.fixed else "runs"
    how = "tested once, at the end" if once else "looked at after each"
    if max(f.result.alpha for f in findings) < alpha:
        told = f"Blocks of {units}, {how}; all candidates share the risk: {percent(alpha)} a direction."
    else:
        pairs = f"{plural(findings[0].result.blocks, 'pair')} of {units}" if benchmarks == 1 else "Pairs"
        each = "" if benchmarks == 1 else " a benchmark"
        told = f"{pairs} in random order, {how}; risk {percent(alpha)} each way{each}."
    if len(controls) > 1:
        told = f"{told.removesuffix('.')}; the {len(controls)} that the change cannot touch count as one."
    return told


def _results(
    findings: Sequence[CandidateResult],
    sides: Mapping[tuple[str, str], Summary],
    rules: StopRules,
    sheets: Sequence[SuiteComparison],
) -> list[SuiteComparison]:
    """What the runs say of each candidate, with the findings in the place of its verdicts.

    They are the same but where candidates share the risk or a negative control withholds something: then nothing
    is said of all benchmarks together.
    """
    by_candidate: dict[tuple[str, str, str], list[Comparison]] = {}
    for f in findings:
        if (c := f.comparison(sides, rules.alpha)) is not None:
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
                others = [c for c in files.comparisons if c.protocol != HEADLINE]
                whole = replace(
                    files,
                    comparisons=(*heads, *others),
                    controlled=files.controlled if heads == list(files.headlines) else (),
                    # Said of the session's own verdicts.
                    caveats=tuple(c for c in files.caveats if c.kind is not Assumption.ONE_LAYOUT),
                )
        results.append(whole)
    return results


def _same(finding: Comparison, row: Comparison) -> Comparison:
    """The row of the sheet where it says what the finding says."""
    alike = (finding.verdict, finding.speedup) == (row.verdict, row.speedup)
    return row if alike else finding
