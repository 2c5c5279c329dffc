"""The mixtures and the changes of a whole corpus, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from speedproof.reporting.model import Cell, Column, Report, Row, Style, Table, Text, right
from speedproof.reporting.names import short_names
from speedproof.reporting.numbers import factor, percent, plural
from speedproof.reporting.words import of_metric
from speedproof.stats.change_scan import LEAST

if TYPE_CHECKING:
    from speedproof.corpus.changes import CorpusChanges
    from speedproof.corpus.model import CorpusModels

_SHOWN = 7


def _left_out(failures: tuple[str, ...]) -> Iterator[Text]:
    for reason in failures[:3]:
        yield Text(f"Left out: {reason}", "bad")


def modelled(found: CorpusModels, versions: Sequence[str] = ()) -> Report:
    """What ``speedproof corpus model`` shows."""
    several = sum(count for modes, count in found.modes.items() if modes > 1)
    headline = [
        Text(f"{several} of {plural(found.samples, 'sample')} have several modes", "strong"),
        *_left_out(found.failures),
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
        hints=(f"Every row: speedproof corpus query {found.answers} 'FROM answers'",),
        command="corpus model",
        data=found,
    )


def changed(found: CorpusChanges, versions: Sequence[str] = (), *, everything: bool = False) -> Report:
    """What ``speedproof corpus changes`` shows, the latest changes first."""
    of = f"{found.series} series of {plural(found.versions, 'version')}"
    many = plural(len(found.changes), "change")
    headline = [
        Text(f"{many} in {of}" if found.changes else f"No change is shown in {of}", "strong"),
        Text(f"Of corpora without a change at most {percent(1 - found.confidence)} would show one.", "dim"),
        *_left_out(found.failures),
    ]
    notes = []
    if found.longest < LEAST:
        told = f"A change shows from {LEAST} versions on one machine on"
        notes.append(Text(f"{told}; no series here has over {found.longest}."))
    shown = found.changes if everything else found.changes[:_SHOWN]
    short = short_names([*versions, *(c.version for c in shown)])
    rows = []
    for c in shown:
        grew = c.factor >= 1.0
        least = c.low if grew else 1.0 / c.high
        style: Style = "bad" if c.slower else "good"
        size = factor(c.factor if grew else 1.0 / c.factor)
        row = Row.of(
            short[c.version],
            Cell(c.benchmark, "strong"),
            Cell(f"{size} {of_metric(found.metric)[c.slower]}", style),
            factor(least, -1) if least > 1.0 else "-",
            c.machine,
            name=c.benchmark,
            kind=style,
        )
        rows.append(row)
    columns = (
        Column("version"),
        Column("benchmark", names=True),
        Column("change"),
        *right("at least", drop=1),
        Column("machine", drop=2),
    )
    if len(found.changes) > len(shown):
        notes.append(Text(f"... {len(found.changes) - len(shown)} earlier changes: --all"))
    return Report(
        f"corpus {found.corpus}",
        tuple(headline),
        (Table.of(columns, rows),) if rows else (),
        tuple(notes),
        command="corpus changes",
        data=found,
        good=not any(c.slower for c in found.changes),
    )
