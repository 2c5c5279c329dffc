"""``speedproof rank``: which version to run, by the chance that a single run beats all others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from speedproof.api.shown import risk_of
from speedproof.cli.command import Args, Argument, Command, Option, in_group
from speedproof.cli.console import Console
from speedproof.cli.inputs import (
    load,
    report_leftovers,
    select,
)
from speedproof.cli.options import mixture, open_unit_interval, pages, reading, selecting, whole
from speedproof.cli.outputs import check_outputs, write_pages
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.data.units import format_values
from speedproof.errors import DataError, UsageError
from speedproof.protocols.ranking import RunRanking, rank_runs
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.ranking import advice, place_cell, separation_blocks
from speedproof.stats.estimate import Estimate
from speedproof.stats.scaling import exponent

if TYPE_CHECKING:
    from speedproof.mixture.changes import ModeChanges

__all__ = ["COMMAND", "by_benchmark", "run"]


COMMAND = Command(
    (
        "For each benchmark: the chance that one run of a version beats one run of every other "
        "(counted in the samples, and by their mixtures), with bootstrap intervals; which "
        "versions are not told "
        "apart (?) and whose runs are not what the tests assume (!); which version to run often "
        "or rarely; for "
        "two versions, what happened to their states."
    ),
    (
        "  speedproof rank gcc.json clang.json icc.json\n"
        "  speedproof rank results/ --only 'json_*' --jobs 2\n"
        "  speedproof rank old.txt new.txt --unit ms --json"
    ),
    [
        Argument("files", metavar="FILE...", help="result files or folders", many=True),
        *selecting(),
        *mixture(),
        *in_group(
            "intervals",
            Option(
                "--resamples", parse=whole, default=200, metavar="N", help="bootstrap samples (default: 200)"
            ),
            Option(
                "--confidence", parse=open_unit_interval, default=0.95, metavar="LEVEL", help="default: 0.95"
            ),
        ),
        Option("--json", flag=True, help="write the ranking as JSON"),
        *pages(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.resamples < 10:
        raise UsageError("--resamples: an interval needs at least 10")
    suite = select(load(args.files, args), args, console)
    first, others = suite.sides(args.reference)
    taken_as = []
    if suite.commands:
        taken_as = [f"{len(suite.versions)} commands of {args.files[0]} are ranked as versions of one thing"]
        console.remark(f"note: {taken_as[0]}")
    found: list[_Found] = []
    rivals = by_benchmark(suite, (first, *others))
    with console.progress("ranking", len(rivals)) as ticker:
        for key, samples in rivals.items():
            try:
                found.append(_rank_one(key, samples, args))
            except DataError as error:
                console.remark(f"left out: {key.benchmark}: {error}")
            ticker.advance()
    report_leftovers(suite, console)
    if not found:
        raise UsageError("no benchmark could be ranked")
    blocks = [block for item in found for block in _blocks(item)]
    heading = [Text("Ranking by single runs", "strong"), *map(Text, taken_as)]
    taken = write_pages(args, [*heading, *blocks], console)
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("rank", [_as_json(item) for item in found]))
    elif not taken:
        console.show(blocks)
    return 0


def by_benchmark(suite: Suite, versions: tuple[str, ...]) -> dict[Key, dict[str, Sample]]:
    """Samples of all versions by benchmark; where each version has one only, whatever its name, they meet."""
    own = [suite.of(v) for v in versions]
    if all(len(samples) == 1 for samples in own):
        key = next(iter(own[0]))
        return {key: {v: next(iter(samples.values())) for v, samples in zip(versions, own, strict=True)}}
    return {
        key: {v: suite.samples[key, v] for v in versions if (key, v) in suite.samples} for key in suite.keys
    }


@dataclass(frozen=True, slots=True)
class _Found:
    """What there is to say of one benchmark."""

    key: Key
    unit: str
    ranking: RunRanking
    changes: ModeChanges | None


def _rank_one(key: Key, rivals: dict[str, Sample], args: Args) -> _Found:
    ranking = rank_runs(
        rivals,
        alpha=risk_of(args.confidence),
        K_max=args.components,
        resamples=args.resamples,
        seed=args.seed,
        jobs=args.jobs,
    )
    return _Found(key, next(iter(rivals.values())).unit, ranking, _changes(list(rivals.values()), args))


def _changes(samples: list[Sample], args: Args) -> ModeChanges | None:
    from speedproof.mixture.changes import compare_modes
    from speedproof.mixture.fit import fit

    if len(samples) != 2:
        return None
    shift = exponent(*(s.values for s in samples))
    x, y = (np.ldexp(s.values, shift) for s in samples)
    try:
        models = (fit(x, K_max=args.components).model, fit(y, K_max=args.components).model)
    except DataError:
        return None
    return compare_modes(x, y, models, seed=args.seed, confidence=args.confidence).shifted(-shift)


def _blocks(found: _Found) -> Iterator[Block]:
    columns = (
        Column("place", right=True), Column("version"), Column("n", right=True), Column("mean", right=True),
        Column("median", right=True), Column("modes", right=True), Column("best single run", right=True),
        Column("ties add", right=True), Column("by mixtures", right=True),
    )  # fmt: skip
    rows = []
    for v in found.ranking.versions:
        mean, median = format_values([v.mean, v.median], found.unit)
        rows.append(
            (
                place_cell(v, doubtful=bool(v.doubts)), Cell(v.version, "strong"), Cell(str(v.n)),
                Cell(mean), Cell(median), Cell("-" if v.modes is None else str(v.modes)), Cell(_chance(v.chance)),
                Cell(f"{100 * v.ties:.1f} %"), Cell(_chance(v.mixture_chance)),
            )
        )  # fmt: skip
    yield Table(columns, tuple(rows), f"{found.key.benchmark}: {found.key.metric}")
    yield from separation_blocks(found.ranking)
    yield Text(advice(found.ranking))
    if found.changes is not None:
        yield Text(f"states: {found.changes.conclusion}")
    yield Text("")


def _chance(e: Estimate | None) -> str:
    if e is None:
        return "-"
    return f"{100 * e.value:.1f} % [{100 * e.low:.1f}, {100 * e.high:.1f}]"


def _as_json(found: _Found) -> dict[str, object]:
    return {
        "benchmark": found.key.benchmark,
        "metric": found.key.metric,
        "unit": found.unit,
        "ranking": found.ranking,
        "advice": advice(found.ranking),
        "states": found.changes,
        "conclusion": found.changes.conclusion if found.changes else None,
    }
