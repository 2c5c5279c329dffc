"""The four files of the Speedup-Test's tool: PREFIX.report, .out, .warning and .error.

The ``.out`` file has the original's columns in its order and notation (R's write.csv: quoted names, TRUE and
FALSE, NA, 15 significant digits; speedups rounded to three digits), so that scripts that read it go on
working. The wording of the others is ours, the numbers are rounded as there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from speedproof.protocols.findings import DEFAULT_ALPHA, RowFinding
from speedproof.protocols.speedup_test_tool import SuiteReport
from speedproof.protocols.suites import RANDOM_SELECTION

_HIGHEST = 0.999999999999999

COLUMNS = (
    "Name",
    "SpeedupMin",
    "SpeedupMean",
    "IsMeanSignificant",
    "MeanConfLevel",
    "SpeedupMedian",
    "IsMedianSignificant",
    "MedianConfLevel",
    "CoefMin",
    "CoefMean",
    "CoefMedian",
)


def out_lines(report: SuiteReport) -> Iterator[str]:
    """The lines of the .out file."""
    yield ",".join(f'"{column}"' for column in COLUMNS)
    for row in report.rows:
        name = row.name.replace('"', '""')
        s, w = row.speedups, row.weights
        yield ",".join(
            (
                f'"{name}"',
                _number(round(s["min"], 3)),
                _number(round(s["mean"], 3)),
                *_significance(row.mean),
                _number(round(s["median"], 3)),
                *_significance(row.median),
                *(_number(w[location]) for location in ("min", "mean", "median")),
            )
        )


def _significance(finding: RowFinding) -> tuple[str, str]:
    # A level is never 1, however close: R would print 15 digits, and so does this.
    return str(finding.significant).upper(), _number(min(finding.confidence, _HIGHEST))


def _number(value: float, digits: int = 15) -> str:
    """As R writes it."""
    if not math.isfinite(value):
        return "NA" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    return f"{value:.{digits}g}"


def report_lines(report: SuiteReport, title: str) -> Iterator[str]:
    """The lines of the .report file, which is also what the command prints."""
    yield f"Speedup-Test of {title}"
    yield f"Protocols: {'as the tool of 2010 computed them' if report.original else 'of the 2013 article'}"
    if report.confidence is not None:
        yield f"Confidence level of every benchmark = {report.confidence:g}"
    else:
        yield "Confidence level: each benchmark's own, or the highest at which its speedup is significant"
    yield f"Weights: {report.weighting}" + "".join(f" ({remark})" for remark in report.remarks)
    if report.dominant is not None:
        name, part = report.dominant
        yield f"Warning: {name} alone makes up {100 * part:.3g} % of the weighted total of the means."
    for location, gain in report.overall.items():
        yield ""
        yield f"Overall gain (ExecutionTime={location}) = {_three(gain.gain)}"
        yield f"Overall speedup (ExecutionTime={location}) = {_three(gain.speedup)}"
    for protocol, found in report.accelerated.items():
        share = found.proportion
        yield ""
        yield (
            f"Accelerated benchmarks (speedup of the {protocol}): a/b = {found.accelerated}/{found.benchmarks} "
            f"= {_three(share.value)}"
        )
        if report.confidence is None and any(level is not None for level in report.levels):
            own = sorted({level for level in report.levels if level is not None})
            yield f"Each counts at its own level: {', '.join(f'{level:g}' for level in own)}" + (
                ", or its highest." if None in report.levels else "."
            )
        yield (
            f"Interval of the proportion at confidence level {share.confidence:g} "
            f"= [{_three(share.low)}; {_three(share.high)}]"
        )
        if any(level is None for level in report.levels):
            yield (
                "Warning: rows without a level of their own count as accelerated at their highest one, from 0.5 "
                "up; of benchmarks that did not change about half would."
            )
        if any(level is not None and level <= 0.5 for level in report.levels):
            yield "Warning: at a level of one half or less even a slower benchmark may count as accelerated."
        if not found.valid:
            validity = _three(found.validity)
            yield f"Warning: the interval may be inaccurate, since a - a^2/b = {validity} is not above 5."
        if found.benchmarks_needed > 0:
            yield (
                f"Benchmarks needed to know the proportion to within {found.precision:g}: "
                f"{found.benchmarks_needed}, selected at random."
            )
        findings = [(row.name, row.mean if protocol == "mean" else row.median) for row in report.rows]
        slower: dict[float, list[str]] = {}
        for (name, finding), level in zip(findings, report.levels, strict=True):
            if finding.slower and not finding.significant:
                slower.setdefault(1 - DEFAULT_ALPHA if level is None else level, []).append(name)
        for level, names in sorted(slower.items()):
            yield f"Slowed down (the {protocol} is significantly higher at level {level:g}): {', '.join(names)}"
    yield ""
    yield f"Remark: {RANDOM_SELECTION}"


def _three(value: float) -> str:
    return _number(round(value, 3), 6)


def warning_lines(report: SuiteReport, problems: Sequence[str]) -> Iterator[str]:
    """The lines of the .warning file: every remark under its benchmark."""
    for remark in report.remarks:
        yield f"weights: {remark}"
    for row in report.rows:
        if row.remarks:
            yield f"{row.name}:"
            for remark in row.remarks:
                yield f"  {remark}"
    for problem in problems:
        yield f"left out: {problem}"


def write_files(prefix: str, report: SuiteReport, title: str, problems: Sequence[str]) -> tuple[Path, ...]:
    """Write the four files; each appears whole or not at all."""
    contents = {
        ".report": report_lines(report, title),
        ".out": out_lines(report),
        ".warning": warning_lines(report, problems),
        # The tool of 2010 called weights that it could not use an error, and went on with equal ones.
        ".error": iter([*problems, *(f"weights: {remark}" for remark in report.remarks if report.original)]),
    }
    written = []
    for suffix, lines in contents.items():
        path = Path(prefix + suffix)
        unfinished = path.with_name(path.name + ".tmp")
        try:
            with unfinished.open("w", encoding="utf-8") as file:
                file.writelines(line + "\n" for line in lines)
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        written.append(path)
    return tuple(written)
