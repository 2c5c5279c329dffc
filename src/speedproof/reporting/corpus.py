"""A corpus in words: what it holds, what a query gives, its comparisons and its mixtures."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from speedproof.data.names import enumerate_names
from speedproof.protocols.questions import QUESTIONS
from speedproof.protocols.results import Verdict
from speedproof.reporting import suite
from speedproof.reporting.cells import cut_left, width_of
from speedproof.reporting.details import of_all
from speedproof.reporting.hpt import conclusion
from speedproof.reporting.model import Cell, Column, Report, Row, Table, Text, most_of, right
from speedproof.reporting.names import benchmark_column, short_names, shortened, spoken
from speedproof.reporting.notes import beside_medians, caveats, held_against, risk_of_many, two_speeds
from speedproof.reporting.numbers import factor, percent, plural
from speedproof.reporting.suite import answered, asked_at, bands, held_jointly, proven, row, version_columns
from speedproof.reporting.words import gain_and_loss, geometric_mean, verdict_words

if TYPE_CHECKING:
    from speedproof.corpus.conclude import Conclusion
    from speedproof.corpus.info import CorpusInfo
    from speedproof.corpus.model import CorpusModels
    from speedproof.corpus.partial import Seen
    from speedproof.protocols.suite import SuiteComparison

_UP, _DOWN = Verdict.FASTER, Verdict.SLOWER
_LINE = 80
_WHOLE = 76


def size_of(count: int) -> str:
    """A number of bytes."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"


def _fits(names: Sequence[str]) -> bool:
    """Whether names, and how many more there are, are one line."""
    return width_of(", ".join(names)) <= _LINE - len("Tags:  and 100 more")


def contents(found: CorpusInfo) -> Report:
    """What ``speedproof corpus info`` shows."""
    of = f"{plural(found.benchmarks, 'benchmark')} in {plural(len(found.versions), 'version')}"
    size = f"{found.values:,} values, {size_of(found.bytes)}"
    headline = [Text(f"{plural(found.rows, 'sample')} of {of}: {size}", "strong")]
    if not found.complete:
        headline.append(Text("The build was cut short; the same command goes on with it.", "warning"))
    names = [name for name, _ in found.versions]
    whole = max(map(width_of, names), default=0) <= _WHOLE
    facts = {
        "Read from": plural(found.inputs, "file"),
        "Stored in": f"{plural(found.files, 'Parquet file')}, schema {found.schema}",
        "Versions": enumerate_names(names if whole else short_names(names).values(), 6),
        "Metrics": enumerate_names(name for name, _ in found.metrics),
        "Values a sample": f"{found.least:g} to {found.most:g}, half have {found.middle:g} or more",
        "Machines": str(found.machines) if found.machines else "",
        "Sessions": str(found.sessions),
        "Tags": enumerate_names(found.tags, next((k for k in range(8, 1, -1) if _fits(found.tags[:k])), 1)),
    }
    if found.least == found.most:
        facts["Values a sample"] = f"{found.least:g}"
    facing = [Text(f"{name}: {value}") for name, value in facts.items() if value and found.rows]
    query = f"speedproof corpus query {shlex.quote(found.name)}"
    notes = [Text(f"Units are mixed in {b} ({m}): {u}", "warning") for b, m, u in found.mixed[:3]]
    if len(found.mixed) > 3:
        notes.append(Text(f"... and in {len(found.mixed) - 3} more", "warning"))
    if not whole:
        notes.append(Text(f"SQL knows them whole: {query} 'SELECT DISTINCT version FROM corpus'", "dim"))
    notes += _pooled(found)
    if found.rejects:
        notes.append(Text(f"Not read: {plural(found.rejects, 'file')} or parts of files:", "warning"))
        for file, place, reason in found.rejected:
            why = ": ".join(part for part in (place, reason) if part)
            told = [f"  {file}: {why}"]
            if width_of(told[0]) > _LINE:  # a name is never broken
                cut = width_of(file) > _LINE - 3
                told = [f"  {'…' if cut else ''}{cut_left(file, _LINE - 4 if cut else _LINE)}:", f"    {why}"]
            notes += [Text(line, "dim") for line in told]
        if found.rejects > len(found.rejected):
            notes.append(Text(f"  All: {query} 'FROM rejects'", "dim"))
    title, below = f"corpus {found.name}", (*facing, *notes)
    return Report(title, tuple(headline), notes=below, command="corpus info", data=found)


def _pooled(found: CorpusInfo) -> Iterator[Text]:
    """That versions pool files of different builds, commits or machines, and the remedy."""
    if not found.pooled:
        return
    one = len(found.pooled) == 1
    who = shortened(found.pooled, 24)[0] if one else plural(len(found.pooled), "version")
    fields = ", ".join(found.apart[:2]) + (", ..." if len(found.apart) > 2 else "")
    yield Text(f"! {who} pool{'s' if one else ''} files that differ in {fields}.", "warning")
    if found.everywhere:
        yield Text(f"  Tell them apart: corpus build --by {shlex.quote(','.join(found.apart))}", "warning")
    else:
        yield Text("  Give each its version: speedproof corpus build NAME=PATH ... -o DIR", "warning")


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], total: int) -> Report:
    """What ``speedproof corpus query`` shows on a terminal: the first rows."""
    numbers = {name for name in columns if rows and all(isinstance(row[name], int | float) for row in rows)}
    cells = ([_said(row[name]) for name in columns] for row in rows)
    shown = Table.of((Column(name, right=name in numbers) for name in columns), cells)
    more = (Text(f"... {total - len(rows)} more rows: --all"),) if total > len(rows) else ()
    return Report("", (), (shown,), more, command="corpus query")


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"[{', '.join(_said(v) for v in value[:3])}, ... {len(value)}]"
    return str(value)


def of_few(found: Conclusion, result: SuiteComparison, *, details: bool, pairs: int = 0) -> Report:
    """What ``speedproof corpus compare`` shows of so few comparisons that it is the sheet of files."""
    made = suite.report(result, details=details)
    lacking = _lacking(found.wholes[0][2].seen, spoken([result.reference, result.candidate]))
    return replace(
        made,
        title=f"corpus {found.corpus}: {found.metric}",
        notes=(*made.notes, *_apart(found, pairs), *lacking),
        hints=(_every_row(found), *(() if details else (_DETAILS,))),
        command="corpus compare",
        data=found,
        records=None,
    )


def _apart(found: Conclusion, pairs: int) -> Iterator[Text]:
    """How many of the pairs that were asked for have nothing to compare."""
    if pairs > found.versions:
        more = pairs - found.versions
        yield Text(f"{more} more pairs of versions have no benchmark in common.", "dim")


def _every_row(found: Conclusion) -> str:
    return f"Every row: speedproof corpus query {shlex.quote(found.answers)} 'FROM answers'"


_DETAILS = "--details: other protocols, HPT"


def comparisons(
    found: Conclusion,
    versions: Sequence[str] = (),
    *,
    details: bool = False,
    everything: bool = False,
    drawn: Mapping[tuple[str, str, str], dict[str, Any]] | None = None,
    pairs: int = 0,
) -> Report:
    """What ``speedproof corpus compare`` shows: the answer as of two versions, then the clearest changes.

    ``versions`` are all of the corpus, among which names must stay distinct. ``drawn`` are panels for a page, by
    both versions and the benchmark. ``pairs`` says how many pairs of versions were asked for, where that is known.
    """
    unread = [Text(f"Left out: {reason}", "bad") for reason in found.failures[:3]]
    if len(found.failures) > 3:
        unread.append(Text(f"... and {len(found.failures) - 3} more parts", "bad"))
    title = f"corpus {found.corpus}: {found.metric}"
    if not found.comparisons:
        nothing = Text("No benchmark was measured with both versions.", "bad")
        return Report(title, (nothing, *unread), data=found)
    better, worse = gain_and_loss(found.clearest[0]) if found.clearest else ("faster", "slower")
    kinds = verdict_words(better, worse)
    short = short_names([*versions, *(name for of_pair in found.wholes for name in of_pair[:2])])
    old, new, whole = found.wholes[0]
    of_two = (short[old], short[new]) if found.versions == 1 else ()
    of = " against ".join(of_two[::-1]) or f"{plural(found.versions, 'pair')} of versions"
    counts = found.counts[found.headline]
    shaken = found.machine is not None
    asked = asked_at(found.headline, found.alpha, shaken=shaken)
    headline = [answered(found.metric, of, counts, kinds, asked), *unread]
    means = whole.geometric_means if of_two else None
    if means is not None and math.isfinite(means.these.value):
        known_of = means.benchmarks, whole.seen.pairs
        headline.append(Text(geometric_mean(means.these, better, worse, known_of)))
    headline += [
        held_jointly(found.alpha, joint.counts, kinds)
        for joint in found.joint
        if (joint.protocol, joint.method) == (found.headline, "holm") and not shaken
    ]
    if of_two:
        known = whole.caveats
        headline += caveats([replace(c, versions=tuple(short.get(v, v) for v in c.versions)) for c in known])
        if found.sessions is not None:
            count, *reaches = found.sessions
            headline.append(held_against(reaches, count, found.comparisons, 1 - found.alpha))
        headline += two_speeds(found.machine, *of_two)
    room = most_of({v: counts[v] for v in found.bands})  # more of one direction where the other has few
    few = [c for v, most in room.items() for c in [c for c in found.clearest if c.verdict is v][:most]]
    clearest = found.clearest if everything else few
    shown = Counter(c.verdict for c in clearest)
    rest = [f"{counts[v] - shown[v]} {word}" for v, word in kinds.items() if counts[v] > shown[v]]
    notes = [Text(f"... and {', '.join(rest)}", "dim")] if rest and clearest else []
    notes += beside_medians(clearest)
    if found.undermined:
        many = plural(found.undermined, "benchmark" if of_two else "comparison")
        notes.append(risk_of_many(many, {kind.title: count for kind, count in found.undermining}))
    notes += _apart(found, pairs)
    notes += _lacking(whole.seen, of_two)
    every_row = _every_row(found)
    if drawn is not None:
        notes.append(Text(every_row, "dim"))
    hints = [every_row]
    if len(clearest) < len(found.clearest):
        hints.append("--all: the largest changes, up to a hundred")
    if not details:
        hints.append(_DETAILS)
    column, named = benchmark_column([c.benchmark for c in clearest])
    first = (Column("from"), Column("to"), *right("before", "after"))
    columns = (column, *(version_columns(*of_two) if of_two else first), *proven(shaken=shaken))
    rows = []
    for c in clearest:
        sides = (c.reference.label, c.candidate.label)
        names = () if of_two else (Cell(short[name]) for name in sides)
        made = row(c, (named(c.benchmark), *names), kinds)
        panel = drawn.get((*sides, c.benchmark)) if drawn else None
        rows.append(replace(made, outcome="", message="", panel=panel))
    return Report(
        title,
        tuple(headline),
        (bands(found.bands, kinds, shaken=shaken), Table.of(columns, rows)) if rows else (),
        tuple(notes),
        hints=tuple(hints),
        sections=(_details(found, kinds, of_two),) if details else (),
        command="corpus compare",
        data=found,
        good=not counts[Verdict.SLOWER],
    )


def _lacking(seen: Seen, versions: Sequence[str]) -> Iterator[Text]:
    for name, count in zip(versions, (seen.only_reference, seen.only_candidate), strict=False):
        if count:
            yield Text(f"Only in {name}: {plural(count, 'benchmark')}", "warning")
    if seen.incomparable and versions:
        more = f" (and {seen.incomparable - 1} more)" if seen.incomparable > 1 else ""
        yield Text(f"Left out: {seen.problems[0]}{more}", "warning")


def _details(found: Conclusion, kinds: Mapping[Verdict, str], of_two: Sequence[str]) -> Report:
    """Every protocol with what holds together, the proportions, the whole of the suite."""
    joint = {(j.protocol, j.method): j.counts for j in found.joint}
    proportions = dict(found.accelerated)
    rows = []
    for protocol, counts in found.counts.items():
        kept = [joint.get((protocol, method)) for method in ("holm", "benjamini-hochberg")]
        held = ("-" if own is None else f"{own.get(_UP, 0)} / {own.get(_DOWN, 0)}" for own in kept)
        share = proportions[protocol].proportion if protocol in proportions else None
        told = f"{percent(share.value)} [{percent(share.low)}, {percent(share.high)}]" if share else "-"
        rows.append(Row.of(QUESTIONS[protocol].title, *(str(counts[v]) for v in kinds), *held, told))
    columns = (
        Column("protocol"),
        *right(*kinds.values()),
        *right("Holm", drop=1),
        *right("BH", drop=2),
        *right("share faster", drop=3),
    )
    notes: list[Text] = []
    if of_two:
        whole = found.wholes[0][2]
        notes += of_all(whole.geometric_means, whole.overall, kinds[Verdict.FASTER], kinds[Verdict.SLOWER])
        if found.hpt is not None:
            told = conclusion(found.hpt, *of_two, shaken=found.machine is not None)
            notes.append(Text(told))
            notes.append(Text(f"  {plural(found.hpt.benchmarks, 'benchmark')}, {found.hpt.method}", "dim"))
    return Report("All protocols", (), (Table.of(columns, rows),), tuple(notes))


def modelled(found: CorpusModels, versions: Sequence[str]) -> Report:
    """What ``speedproof corpus model`` shows."""
    several = sum(count for modes, count in found.modes.items() if modes > 1)
    headline = [
        Text(f"{several} of {plural(found.samples, 'sample')} have several modes", "strong"),
        *(Text(f"Left out: {reason}", "bad") for reason in found.failures[:3]),
    ]
    if found.failed:
        headline.append(Text(f"{plural(found.failed, 'sample')} cannot be modelled.", "warning"))
    if found.tested:
        told = f"The fit is rejected at 5 % for {found.rejected} of {found.tested} that were tested"
        headline.append(Text(f"{told} ({percent(found.rejected / found.tested, 2)})."))
    most = max((*found.components, *found.modes), default=0)
    numbers = range(1, most + 1)
    counts = Table.of(
        (Column("samples with"), *right(*map(str, numbers))),
        (
            Row.of(name, *(str(own.get(k, 0)) for k in numbers))
            for name, own in (("components", found.components), ("modes", found.modes))
        ),
    )
    short = short_names([*versions, *(version for _, version, *_ in found.several)])
    apart = Table.of(
        (Column("modes furthest apart", names=True), Column("version"), *right("modes", "last over first")),
        (
            (Cell(benchmark, "strong"), short[version], str(modes), factor(ratio))
            for benchmark, version, modes, ratio in found.several
        ),
    )
    return Report(
        f"corpus {found.corpus}",
        tuple(headline),
        (counts, *((apart,) if found.several else ())),
        hints=(f"Every row: speedproof corpus query {shlex.quote(found.answers)} 'FROM answers'",),
        command="corpus model",
        data=found,
    )
