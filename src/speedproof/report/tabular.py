"""The table of comparisons for other programs: CSV or TSV with every number, LaTeX for a paper."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from speedproof.data.units import format_values
from speedproof.protocols.results import Comparison, Summary, Verdict
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.wording import MARKS, bounds, chance, percent

__all__ = ["COLUMNS", "delimited", "latex", "table"]

Value = str | int | float | None

COLUMNS = (
    "reference", "candidate", "metric", "unit", "benchmark", "protocol", "verdict", "speedup", "low", "high",
    "confidence", "state", "test", "pvalue", "pvalue_slower", "failed_checks", "doubts",
    *(f"{side}_{number}" for side in ("reference", "candidate")
      for number in ("n", "observations", "mean", "median", "minimum", "deviation", "mad", "needed")),
)  # fmt: skip
_TITLES = {
    "mean": "Speedup of mean",
    "typical": "Typical speedup",
    "median": "Speedup of median",
    "single run": "$P$[faster run]",
    "touati2009": "2009 protocol",
}
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "-": "{-}",  # no ligature: "--fast" keeps two hyphens
    "µ": r"\textmu{}", "±": r"$\pm$",
}  # fmt: skip


def delimited(results: Sequence[SuiteComparison], delimiter: str = ",") -> str:
    """One line for each benchmark and protocol, with all digits.

    Parameters
    ----------
    results : sequence of SuiteComparison
        Of any metrics.
    delimiter : str
        A comma for CSV, a tab for TSV.

    Returns
    -------
    str
        A line of column names, then the rows; an empty cell where there is no number, ``inf`` for an end that
        nothing is known about. Values are in the base unit, which the column ``unit`` names.

    Examples
    --------
    >>> delimited([]).split(",")[:5]
    ['reference', 'candidate', 'metric', 'unit', 'benchmark']
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    columns, rows = table(results)
    writer.writerow(columns)
    writer.writerows([_text(value) for value in row] for row in rows)
    return text.getvalue()


def table(results: Sequence[SuiteComparison]) -> tuple[tuple[str, ...], list[list[Value]]]:
    """The same as names of columns and rows of values; NaN and None where there is no number."""
    return COLUMNS, [_row(result, c) for result in results for c in result.comparisons]


def _row(result: SuiteComparison, c: Comparison) -> list[Value]:
    needed = (c.needed.reference, c.needed.candidate) if c.needed else (None, None)
    return [
        result.reference,
        result.candidate,
        c.metric,
        c.reference.unit,
        c.benchmark,
        c.protocol,
        c.verdict.value,
        c.speedup.value,
        c.speedup.low,
        c.speedup.high,
        c.speedup.confidence,
        c.state.value,
        c.test,
        c.pvalue,
        c.pvalue_slower,
        "; ".join(check.name for check in c.failed_checks),
        "; ".join(check.name for check in c.doubts),
        *_side(c.reference, needed[0]),
        *_side(c.candidate, needed[1]),
    ]


def _side(side: Summary, needed: int | None) -> Iterator[Value]:
    yield from (
        side.n,
        side.observations,
        side.mean,
        side.median,
        side.minimum,
        side.deviation,
        side.mad,
        needed,
    )


def _text(value: Value) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value if isinstance(value, str) else repr(value)


def latex(results: Sequence[SuiteComparison]) -> str:
    r"""A booktabs table for each comparison of two versions, to be included in a paper.

    Parameters
    ----------
    results : sequence of SuiteComparison
        Of any metrics.

    Returns
    -------
    str
        Needs ``\usepackage{booktabs}`` and ``\usepackage{textcomp}``. Names are escaped, bounds rounded away
        from the claim.

    Examples
    --------
    >>> print(latex([]), end="")
    % Written by speedproof. Needs \usepackage{booktabs} and \usepackage{textcomp}.
    """
    lines = ["% Written by speedproof. Needs \\usepackage{booktabs} and \\usepackage{textcomp}."]
    for result in results:
        if result.comparisons:
            lines += _latex_table(result)
    return "\n".join(lines) + "\n"


def _latex_table(result: SuiteComparison) -> Iterator[str]:
    x, y = escape_latex(result.reference), escape_latex(result.candidate)
    protocols = result.protocols
    confidence = escape_latex(percent(1 - result.alpha))
    yield r"\begin{table}"
    yield r"\centering"
    yield (
        rf"\caption{{{y} against {x}: {escape_latex(result.metric)}. In brackets the certified bounds, each at "
        rf"confidence {confidence}; $+$ faster, $-$ slower, $=$ equivalent, ? undecided, ! true risk unknown.}}"
    )
    yield rf"\begin{{tabular}}{{lrrr{'l' * len(protocols)}}}"
    yield r"\toprule"
    titles = [_TITLES.get(p, f"Speedup ({escape_latex(p)})") for p in protocols]
    yield " & ".join(["Benchmark", "Runs", x, y, *titles]) + r" \\"
    yield r"\midrule"
    by_name: dict[str, dict[str, Comparison]] = {}
    for comparison in result.comparisons:
        by_name.setdefault(comparison.benchmark, {})[comparison.protocol] = comparison
    for name, found in by_name.items():
        first = next(iter(found.values()))
        a, b = first.reference, first.candidate
        location = "median" if first.protocol == "median" else "mean"
        runs = str(a.n) if a.n == b.n else f"{a.n}, {b.n}"
        values = format_values([getattr(a, location), getattr(b, location)], a.unit)
        cells = [_latex_speedup(found[p]) if p in found else "" for p in protocols]
        yield " & ".join([escape_latex(name), runs, *map(escape_latex, values), *cells]) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _latex_speedup(c: Comparison) -> str:
    text = chance(c.speedup) if c.protocol == "single run" else bounds(c.certified)
    mark = "?" if c.verdict is Verdict.UNDECIDED else f"${MARKS[c.verdict]}$"
    doubt = "!" if c.doubts else ""
    return f"{mark}{doubt}~{escape_latex(text)}".replace("inf]", "$\\infty$]")


def escape_latex(text: str) -> str:
    r"""A text as LaTeX prints it.

    Examples
    --------
    >>> print(escape_latex("100%_sure {a} --fast"))
    100\%\_sure \{a\} {-}{-}fast
    """
    return "".join(_LATEX.get(c, c if c.isprintable() else " ") for c in text)
