"""``speedproof suite``: the Speedup-Test of a configuration, with the original tool's files."""

from __future__ import annotations

import math

from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.options import open_unit_interval, pages
from speedproof.cli.outputs import check_outputs, write_pages
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Record, Suite
from speedproof.errors import UsageError
from speedproof.formats import ReadOptions, read
from speedproof.protocols.findings import DEFAULT_LEVEL
from speedproof.protocols.pair import Rules
from speedproof.protocols.results import Verdict
from speedproof.protocols.speedup_test_tool import Entry, SuiteReport, report_suite
from speedproof.protocols.suites import Location
from speedproof.report.blocks import Block, Cell, Column, Table, Text
from speedproof.report.speedup_test_files import report_lines, warning_lines, write_files
from speedproof.report.wording import STYLES, bounds, level, ratio

__all__ = ["COMMAND", "run"]


COMMAND = Command(
    (
        "Run the Speedup-Test on a configuration of the original tool, a CSV file with the columns "
        "Name,Sample1,Sample2,ConfLevel,Coef. Sample files are found beside the configuration, then in the "
        "working directory."
    ),
    (
        "  speedproof suite config.csv                                 print the report\n"
        "  speedproof suite config.csv --confidence 0.95 -o results    write results.report, .out, ...\n"
        "  speedproof suite config.csv --weight fraction               weigh benchmarks by their time\n"
        "  speedproof suite config.csv --original                      what the tool of 2010 computed"
    ),
    [
        Argument("config", metavar="CONFIG.csv", help="the configuration; - reads standard input"),
        Option(
            "--confidence",
            "--conf-level",
            parse=open_unit_interval,
            metavar="LEVEL",
            help="confidence level of every benchmark; without it each row's ConfLevel, else the highest "
            "level at which the speedup is significant",
        ),
        Option(
            "--weight",
            choices=["custom", "equal", "fraction"],
            default="custom",
            help="weights in the overall gain: the Coef column (default), all equal, or the reference's "
            "times",
        ),
        Option(
            "--precision",
            parse=open_unit_interval,
            default=0.05,
            metavar="R",
            help="half width for the number of benchmarks needed (default: 0.05)",
        ),
        Option(
            "-o",
            "--output",
            metavar="PREFIX",
            help="write PREFIX.report, .out, .warning and .error; --original writes CONFIG.report, ... without it",
        ),
        Option("--original", flag=True, help="follow the tool of 2010 instead of the article"),
        Option("--always-welch", flag=True, help="mean: never pool variances after an F test"),
        Option(
            "--ks-rule", choices=["legacy", "r422"], default="legacy", help="median: see 'compare --help'"
        ),
        Option("--unit", metavar="UNIT", help="unit of numbers whose file names none"),
        Option("--json", flag=True, help="write everything as JSON"),
        *pages(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out."""
    check_outputs(args)
    if args.original and (args.always_welch or args.ks_rule != "legacy"):
        raise UsageError("--original has its own rules; leave --always-welch and --ks-rule out")
    records = list(read(args.config, format="speedup-test", options=ReadOptions(unit=args.unit)))
    suite = Suite.from_records((r.version or "" if isinstance(r, Record) else "", r) for r in records)
    fields = {r.benchmark: dict(r.fields) for r in records if isinstance(r, Record)}
    pairing = suite.pair("Sample1", "Sample2")
    entries = [_entry(p.key, p.reference, p.candidate, fields[p.key.benchmark]) for p in pairing.pairs]
    problems = [*(str(s) for s in suite.skipped if not s.expected), *pairing.problems]
    if not entries:
        detail = "".join(f"\n  {problem}" for problem in problems)
        raise UsageError(f"{args.config}: no benchmark of this configuration can be read{detail}")
    report = report_suite(
        entries,
        Rules(always_welch=args.always_welch, ks_rule=args.ks_rule),
        confidence=args.confidence,
        weighting=args.weight,
        precision=args.precision,
        original=args.original,
    )
    prefix = args.output
    if prefix is None and args.original and not args.json and args.config != "-":
        prefix = args.config.removesuffix(".csv")  # the tool always wrote its files
    if prefix is not None:
        paths = write_files(prefix, report, args.config, problems)
        console.remark(f"wrote {', '.join(str(path) for path in paths)}")
    blocks: list[Block] = [Text(line) for line in report_lines(report, args.config)]
    blocks += [Text(""), _table(report)]
    if not report.original:
        legend = f"In brackets: bounds certified at each row's own level, or at {DEFAULT_LEVEL:g}."
        if any(own is not None and own < 0.5 for own in report.levels):
            legend += " Of levels below one half they are those of one minus the level."
        blocks.append(Text(legend, "dim"))
    taken = write_pages(args, blocks, console)
    if args.json:
        from speedproof.report.json import to_json

        console.out.write(to_json("suite", [report]))
    elif not taken:
        console.show(blocks)
    for line in warning_lines(report, problems):
        console.err.write(f"{line}\n")
    for note in dict.fromkeys(note for sample in suite.samples.values() for note in sample.notes):
        console.remark(f"note: {note}")
    return 0


def _entry(key: Key, x: Sample, y: Sample, fields: dict[str, str]) -> Entry:
    remarks = []
    level, weight = _number(fields.get("ConfLevel")), _number(fields.get("Coef"))
    if fields.get("ConfLevel") and (level is None or not 0 < level < 1):
        hint = f" (do you mean {level / 100:g}?)" if level is not None and 1 < level < 100 else ""
        remarks.append(
            f"ConfLevel {fields['ConfLevel']!r} is no level between 0 and 1{hint}; taken as missing"
        )
        level = None
    if fields.get("Coef") and weight is None:
        remarks.append(f"Coef {fields['Coef']!r} is no number; taken as missing")
    return Entry(key.benchmark, x, y, level, weight, tuple(remarks))


def _number(text: str | None) -> float | None:
    if not text or text == "NA":
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _table(report: SuiteReport) -> Table:
    locations: tuple[Location, ...] = ("mean", "median")
    columns = [Column("benchmark"), Column("min", right=True)]
    for location in locations:
        columns += [Column(f"speedup of {location}"), Column("significant"), Column("at level", right=True)]
    rows = []
    for row in report.rows:
        cells = [Cell(row.name), Cell(ratio(row.speedups["min"]))]
        for location, finding in zip(locations, (row.mean, row.median), strict=True):
            speedup = bounds(finding.bounds) if finding.bounds else ratio(row.speedups[location])
            style = STYLES[Verdict.FASTER if finding.significant else Verdict.UNDECIDED]
            shown = "-" if math.isnan(finding.confidence) else level(finding.confidence)
            cells += [Cell(speedup), Cell("yes" if finding.significant else "no", style), Cell(shown)]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows))
