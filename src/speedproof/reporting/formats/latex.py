"""Any report as booktabs tables, to be included in a paper."""

from __future__ import annotations

from collections.abc import Iterator

from speedproof.reporting.model import Reported, Table

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "-": "{-}",  # no ligature: "--fast" keeps two hyphens
    "µ": r"\textmu{}", "±": r"$\pm$", "…": r"\ldots{}", "∞": r"$\infty$",
}  # fmt: skip


def write(reported: Reported, target: str) -> str:
    r"""Reports as LaTeX."""
    lines = [r"% Written by speedproof. Needs \usepackage{booktabs} and \usepackage{textcomp}."]
    for report in (part for whole in reported.reports for part in whole.every()):
        said = report.headline[:1]
        caption = "; ".join(part for text in said for part in (text.text, text.aside) if part).replace(
            "; (", " ("
        )
        if report.title:
            caption = f"{report.title}. {caption}"
        for table in report.tables:
            lines += _table(table, caption if table is report.tables[-1] else "")
    return "\n".join(lines) + "\n"


def _table(table: Table, caption: str) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"\centering"
    if caption:
        yield rf"\caption{{{escape(caption)}}}"
    yield rf"\begin{{tabular}}{{{''.join('r' if column.right else 'l' for column in table.columns)}}}"
    yield r"\toprule"
    yield " & ".join(escape(column.title) for column in table.columns) + r" \\"
    yield r"\midrule"
    for row in table.rows:
        yield " & ".join(escape(cell.text) for cell in row.cells) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def escape(text: str) -> str:
    r"""A text as LaTeX prints it."""
    return "".join(_LATEX.get(c, c if c.isprintable() else " ") for c in text)
