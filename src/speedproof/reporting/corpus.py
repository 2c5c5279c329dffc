"""A corpus in words: what it holds, what a query gives, its comparisons and its mixtures."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from speedproof.conclude.suite import LEAST_FOR_HPT, SuiteComparison
from speedproof.data.names import enumerate_names
from speedproof.data.units import format_value
from speedproof.options import DETAILS
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Verdict
from speedproof.reporting import sheet, words
from speedproof.reporting.details import NO_SCORES, of_all
from speedproof.reporting.hpt import conclusion as outperforms
from speedproof.reporting.model import MANY, Cell, Column, Report, Row, Table, Text, folded, right
from speedproof.reporting.names import benchmark_column, short_names, shortened, spoken, width_of
from speedproof.reporting.notes import caveats, risk_of_many, said_below, sessions_differ, two_speeds
from speedproof.reporting.numbers import factor, percent, plural
from speedproof.reporting.rows import Voice, version_columns

if TYPE_CHECKING:
    from speedproof.corpus.conclude import Conclusion
    from speedproof.corpus.model import CorpusModels
    from speedproof.corpus.read import CorpusInfo

_WHOLE = 76  # columns of a name


def contents(info: CorpusInfo) -> Report:
    """What ``speedproof corpus info`` shows."""
    of = f"{plural(info.benchmarks, 'benchmark')} in {plural(len(info.versions), 'version')}"
    size = f"{info.values:,} values, {format_value(info.bytes, 'B', 3)}"
    headline = [Text(f"{plural(info.rows, 'sample')} of {of}: {size}", "strong")]
    if not info.complete:
        headline.append(Text("The build was cut short; the same command goes on with it.", "warning"))
    names = [name for name, _ in info.versions]
    whole = max(map(width_of, names), default=0) <= _WHOLE
    facts = {
        "Read from": plural(info.inputs, "file"),
        "Stored in": f"{plural(info.files, 'Parquet file')}, schema {info.schema}",
        "Versions": enumerate_names(names if whole else short_names(names).values(), 100),
        "Metrics": enumerate_names(name for name, _ in info.metrics),
        "Machines": str(info.machines) if info.machines else "",
        "Sessions": str(info.sessions),
        "Tags": enumerate_names(info.tags, 8),
    }
    facing = [Text(f"{name}: {value}") for name, value in facts.items() if value]
    query = f"speedproof corpus query {shlex.quote(info.name)}"
    notes = [Text(f"Units are mixed in {b} ({m}): {u}", "warning") for b, m, u in info.mixed[:3]]
    if len(info.mixed) > 3:
        notes.append(Text(f"... and in {len(info.mixed) - 3} more", "warning"))
    notes += _pooled(info)
    if info.rejects:
        notes.append(Text(f"Not read: {plural(info.rejects, 'file')} or parts of files:", "warning"))
        for file, place, reason in info.rejected:
            why = ": ".join(part for part in (place, reason) if part)
            notes.append(Text(f"  {file}: {why}", "dim"))
        if info.rejects > len(info.rejected):
            notes.append(Text(f"  All: {query} 'FROM rejects'", "dim"))
    title, below = f"corpus {info.name}", (*facing, *notes)
    return Report(title, tuple(headline), notes=below)


def _pooled(info: CorpusInfo) -> Iterator[Text]:
    """That versions pool files of different builds, commits or machines, and the remedy."""
    if not info.pooled:
        return
    one = len(info.pooled) == 1
    who = shortened(info.pooled, 24)[0] if one else plural(len(info.pooled), "version")
    fields = ", ".join(info.apart[:2]) + (", ..." if len(info.apart) > 2 else "")
    yield Text(f"! {who} pool{'s' if one else ''} files that differ in {fields}.", "warning")
    yield Text("  Tell them apart: corpus build --by FIELD, or NAME=PATH ...", "warning")


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], total: int) -> Report:
    """What ``speedproof corpus query`` shows on a terminal: the first rows."""
    numbers = {name for name in columns if rows and all(isinstance(row[name], int | float) for row in rows)}
    cells = ([_said(row[name]) for name in columns] for row in rows)
    shown = Table.of((Column(name, right=name in numbers) for name in columns), cells)
    more = (Text(f"... {total - len(rows)} more rows: --all"),) if total > len(rows) else ()
    return Report("", (), (shown,), more)


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"[{', '.join(_said(v) for v in value[:3])}, ... {len(value)}]"
    return str(value)


def fits_one_sheet(conclusion: Conclusion) -> bool:
    """Whether the sheet of two versions holds all comparisons."""
    return conclusion.pairs == 1 and conclusion.comparisons <= MANY and not conclusion.failures


def _of_few(conclusion: Conclusion, result: SuiteComparison, *, details: bool) -> Report:
    """The sheet of files."""
    made = sheet.report(result, details=details)
    lacking = _lacking(conclusion, spoken([result.reference, result.candidate]))
    return replace(
        made,
        title=f"corpus {conclusion.corpus}: {conclusion.metric}",
        notes=(*made.notes, *_apart(conclusion), *lacking),
        hints=(_every_row(conclusion.answers), _DETAILS),
        records=None,
    )


def _apart(conclusion: Conclusion) -> Iterator[Text]:
    """How many of the pairs that were asked for have nothing to compare."""
    if conclusion.apart:
        yield Text(f"{conclusion.apart} more pairs of versions have no benchmark in common.", "dim")


def _every_row(answers: str) -> str:
    return f"Every row: speedproof corpus query {shlex.quote(answers)} 'FROM answers'"


_DETAILS = "--details: other protocols, HPT"


def compared(
    conclusion: Conclusion,
    few: SuiteComparison | None,
    *,
    details: bool = False,
    everything: bool = False,
    drawn: Mapping[tuple[str, str, str], dict[str, Any]] | None = None,
) -> Report:
    """What ``speedproof corpus compare`` shows: the answer as of two versions, then the clearest changes.

    Of so ``few`` that one sheet holds all it is the sheet of files. ``drawn`` are panels for a page, by both
    versions and the benchmark.
    """
    if few is not None:
        return _of_few(conclusion, few, details=details)
    unread = [Text(f"Left out: {reason}", "bad") for reason in conclusion.failures[:3]]
    if len(conclusion.failures) > 3:
        unread.append(Text(f"... and {len(conclusion.failures) - 3} more parts", "bad"))
    title = f"corpus {conclusion.corpus}: {conclusion.metric}"
    if not conclusion.comparisons:
        nothing = Text("No benchmark was measured with both versions.", "bad")
        return Report(title, (nothing, *unread))
    some = next(iter(conclusion.shown.values()), None)
    gain_and_loss = words.gain_and_loss(some[0]) if some else words.of_metric(conclusion.metric)
    counts = conclusion.counts[conclusion.headline]
    decided = conclusion.comparisons - counts[Verdict.UNDECIDED]
    all_shown = 0 < decided == conclusion.undermined
    voice = Voice(*gain_and_loss, conclusion.margin, all_shown or bool(conclusion.machines))
    short = short_names(conclusion.versions)
    first = conclusion.results[0]
    of_two = (short[first.reference], short[first.candidate]) if conclusion.pairs == 1 else ()
    one_run = conclusion.single_runs
    table = _clearest(conclusion, voice, of_two, short, drawn or {}, everything=everything)
    notes = []
    seen_above = conclusion.headline if of_two else ""  # by the caveats of two versions
    undermining = {k: n for k, n in conclusion.undermining if said_below(k, seen_above)}
    if undermining:
        many = plural(conclusion.undermined, "benchmark" if of_two else "comparison")
        notes.append(risk_of_many(many, {kind.violated: count for kind, count in undermining.items()}))
    notes += [*_apart(conclusion), *_lacking(conclusion, of_two)]
    every_row = _every_row(conclusion.answers)
    if drawn is not None:
        notes.append(Text(every_row, "dim"))
    hides = any(row.folded for row in table.rows)
    headline = [sheet.ONE_RUN] if one_run else list(_answer(conclusion, voice, of_two))
    return Report(
        title,
        (*headline[:1], *unread, *headline[1:]),
        (*((voice.bands(conclusion.bands),) if conclusion.bands else ()), table),
        tuple(notes),
        hints=(every_row, *(["--all: the largest changes, up to a hundred"] if hides else []), _DETAILS),
        sections=(_details(conclusion, voice, of_two),) if details else (),
        good=not conclusion.proven[conclusion.headline][Verdict.SLOWER],
    )


def _answer(conclusion: Conclusion, voice: Voice, of_two: Sequence[str]) -> Iterator[Text]:
    """The counts, the numbers of the whole, and what the data cannot know."""
    of = " against ".join(of_two[::-1]) or f"{plural(conclusion.pairs, 'pair')} of versions"
    asked = voice.asked(conclusion.headline, conclusion.alpha)
    yield voice.answer(conclusion.metric, of, conclusion.counts[conclusion.headline], asked)
    whole = conclusion.results[0]
    means = whole.geometric_means if of_two else None
    if means is not None:
        yield voice.geometric_mean(means.these, means.benchmarks, conclusion.comparisons)
    for joint in () if voice.shaken else conclusion.controlled:
        if (joint.protocol, joint.method) == (conclusion.headline, "holm"):
            yield voice.jointly(joint, whole.headlines)
    if not of_two:
        if conclusion.machines:
            shaken = f"In {conclusion.machines} of {plural(conclusion.pairs, 'pair')} of versions"
            what = f"{shaken} the machine ran at two speeds: nothing of them is proven."
            yield Text(what, "warning")
        return
    names = dict(zip((whole.reference, whole.candidate), of_two, strict=True))
    yield from caveats(
        [replace(c, versions=tuple(names.get(v, v) for v in c.versions)) for c in whole.caveats]
    )
    if conclusion.sessions is not None:
        count, *reaches = conclusion.sessions
        yield sessions_differ(reaches, count, conclusion.comparisons, 1 - conclusion.alpha)
    yield from two_speeds(whole.machine, *of_two)


def _clearest(
    conclusion: Conclusion,
    voice: Voice,
    of_two: Sequence[str],
    short: Mapping[str, str],
    drawn: Mapping[tuple[str, str, str], dict[str, Any]],
    *,
    everything: bool,
) -> Table:
    """The rows of a sheet, between their versions where there are several pairs, and how many others there are."""
    counts, kinds = conclusion.counts[conclusion.headline], voice.kinds
    column, named = benchmark_column([name for name, *_ in conclusion.largest])
    first = version_columns(*of_two) or (Column("from"), Column("to"), *right("before", "after"))
    last = (Column(sheet.AS_MEASURED),) if conclusion.single_runs else voice.columns
    rows = []
    for (benchmark, old, new), (c, *against) in conclusion.shown.items():
        names = (named(benchmark), *(() if of_two else (short[old], short[new])))
        made = sheet.as_measured(c, names) if conclusion.single_runs else voice.row(c, names, against)
        rows.append(replace(made, outcome="", message="", panel=drawn.get((old, new, benchmark))))
    clear = [sheet.AS_MEASURED] if conclusion.single_runs else [kinds[v] for v in words.CHANGED[::-1]]
    of_kind = {sheet.AS_MEASURED: conclusion.comparisons}
    if not conclusion.single_runs:
        of_kind = {kinds[v]: counts[v] for v in (*words.CHANGED[::-1], Verdict.EQUIVALENT, Verdict.UNDECIDED)}
    there = Counter(row.kind for row in rows)
    rest = {kind: count - there[kind] for kind, count in of_kind.items() if count > there[kind]}
    return folded(Table.of((column, *first, *last), rows, rest=rest), *clear, everything=everything)


def _lacking(conclusion: Conclusion, versions: Sequence[str]) -> Iterator[Text]:
    whole, (*counts, problems) = conclusion.results[0], conclusion.lacking[0]
    counted = list(zip((whole.only_reference, whole.only_candidate), counts, strict=True))
    if versions:
        return sheet.leftovers(sheet.only_in(versions), counted, whole.problems, problems)
    reasons = [problem for of in conclusion.results for problem in of.problems]
    return sheet.leftovers(sheet.IN_SOME, [conclusion.in_some[::-1]], reasons[:1], 1)


def _details(conclusion: Conclusion, voice: Voice, of_two: Sequence[str]) -> Report:
    """Every protocol with what holds together, the proportions, the whole of the suite."""
    joint = {(j.protocol, j.method): j.counts for j in conclusion.controlled}
    accelerated, kinds = dict(conclusion.accelerated), voice.kinds
    rows, some = [], conclusion.proven != conclusion.counts
    for protocol, counts in conclusion.counts.items():
        proven = conclusion.proven[protocol] | {Verdict.UNDECIDED: counts[Verdict.UNDECIDED]}
        marked = [str(conclusion.comparisons - sum(proven.values()))] if some else []
        kept = [joint.get((protocol, method)) for method in ("holm", "bh")]
        held = ["-" if of is None else " / ".join(str(of.get(v, 0)) for v in words.CHANGED) for of in kept]
        share = accelerated[protocol].proportion if protocol in accelerated else None
        faster = f"{percent(share.value)} [{percent(share.low)}, {percent(share.high)}]" if share else "-"
        title = QUESTIONS[protocol].title
        rows.append(Row.of(title, *(str(proven[v]) for v in kinds), *marked, *held, faster))
    columns = (
        Column("protocol"),
        *right(*kinds.values()),
        *([Column("not proven (!)", right=True, brief="(!)")] if some else []),
        *right("Holm", drop=1),
        *right("BH", drop=2),
        *right("share faster", drop=3),
    )
    notes: list[Text] = []
    if of_two:
        whole = conclusion.results[0]
        notes += of_all(whole.geometric_means, whole.overall, voice)
        notes += _hpt(conclusion, voice, of_two) if {*DETAILS} <= {*conclusion.counts} else ()
    return Report("All protocols", (), (Table.of(columns, rows),), tuple(notes))


def _hpt(conclusion: Conclusion, voice: Voice, of_two: Sequence[str]) -> Iterator[Text]:
    """Its answer, or why it has none where everything was asked."""
    from speedproof.corpus.conclude import MOST_FOR_HPT

    if (hpt := conclusion.results[0].hpt) is not None:
        yield Text(outperforms(hpt, *of_two, shaken=voice.shaken))
        yield Text(f"  {plural(conclusion.comparisons, 'benchmark')}, {hpt.method}", "dim")
    elif conclusion.comparisons > MOST_FOR_HPT:
        most = f"there are more than {MOST_FOR_HPT:,} benchmarks; choose some with --where"
        yield Text(f"HPT is left out: {most}.", "warning")
    elif conclusion.comparisons >= LEAST_FOR_HPT and not conclusion.failures:
        yield NO_SCORES


def modelled(models: CorpusModels, versions: Sequence[str]) -> Report:
    """What ``speedproof corpus model`` shows."""
    several = sum(count for modes, count in models.modes.items() if modes > 1)
    headline = [
        Text(f"{several} of {plural(models.samples, 'sample')} have several modes", "strong"),
        *(Text(f"Left out: {reason}", "bad") for reason in models.failures[:3]),
    ]
    if models.failed:
        headline.append(Text(f"{plural(models.failed, 'sample')} cannot be modelled.", "warning"))
    if models.tested:
        rejected = f"The fit is rejected at 5 % for {models.rejected} of {models.tested} that were tested"
        headline.append(Text(f"{rejected} ({percent(models.rejected / models.tested, 2)})."))
    most = max((*models.components, *models.modes), default=0)
    numbers = range(1, most + 1)
    counts = Table.of(
        (Column("samples with"), *right(*map(str, numbers))),
        (
            Row.of(name, *(str(own.get(k, 0)) for k in numbers))
            for name, own in (("components", models.components), ("modes", models.modes))
        ),
    )
    short = short_names([*versions, *(version for _, version, *_ in models.several)])
    apart = Table.of(
        (Column("modes furthest apart", names=True), Column("version"), *right("modes", "last over first")),
        (
            (Cell(benchmark, "strong"), short[version], str(modes), factor(ratio))
            for benchmark, version, modes, ratio in models.several
        ),
    )
    return Report(
        f"corpus {models.corpus}",
        tuple(headline),
        (counts, *((apart,) if models.several else ())),
        hints=(_every_row(models.answers),),
    )
