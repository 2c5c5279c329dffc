"""CSV, TSV and LaTeX: read back by other readers, the same numbers and names come out."""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedproof.data.suite import Suite
from speedproof.protocols.suite import SuiteComparison
from speedproof.report.tabular import COLUMNS, delimited, escape_latex, latex

Made = tuple[SuiteComparison, Suite]


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("which", ["mixed", "hostile"])
def test_against_the_csv_reader(which: str, delimiter: str, request: pytest.FixtureRequest) -> None:
    """Python's reader gives back every name and every number, bit for bit."""
    result, _ = request.getfixturevalue(which)
    rows = list(csv.DictReader(io.StringIO(delimited([result], delimiter)), delimiter=delimiter))
    assert len(rows) == len(result.comparisons)
    assert tuple(rows[0]) == COLUMNS
    for row, c in zip(rows, result.comparisons, strict=True):
        assert (row["benchmark"], row["protocol"], row["verdict"]) == (c.benchmark, c.protocol, c.verdict)
        assert (row["reference"], row["candidate"]) == (result.reference, result.candidate)
        for name, value in (
            ("speedup", c.speedup.value),
            ("low", c.speedup.low),
            ("high", c.speedup.high),
            ("pvalue", c.pvalue),
            ("reference_mean", c.reference.mean),
            ("candidate_deviation", c.candidate.deviation),
        ):
            assert row[name] == "" if math.isnan(value) else float(row[name]) == value
        assert int(row["reference_n"]) == c.reference.n


def test_numbers_at_the_edges(mixed: Made) -> None:
    """An unknown bound is empty, an end without a limit is inf, a tiny time keeps its digits."""
    rows = {(r["benchmark"], r["protocol"]): r for r in csv.DictReader(io.StringIO(delimited([mixed[0]])))}
    assert rows["one", "mean"]["low"] == ""
    assert "inf" in {r["high"] for r in rows.values()}
    assert 1e-9 < float(rows["tiny", "mean"]["reference_mean"]) < 3e-9


_UNESCAPED = {
    "textbackslash{}": "\\", "{": "{", "}": "}", "$": "$", "&": "&", "#": "#", "_": "_", "%": "%",
    "textasciitilde{}": "~", "textasciicircum{}": "^", "textless{}": "<", "textgreater{}": ">", "textbar{}": "|",
    "textquotedbl{}": '"', "textasciigrave{}": "`", "textquotesingle{}": "'", "textmu{}": "µ",
}  # fmt: skip


def _as_latex_prints(source: str) -> str:
    """What the few commands that may occur print; anything else that is special is an error."""
    out, place = "", 0
    while place < len(source):
        if source.startswith("{-}", place):
            out, place = out + "-", place + 3
        elif source.startswith(r"$\pm$", place):
            out, place = out + "±", place + 5
        elif source[place] == "\\":
            found = re.match(r"\\([a-z]+\{\}|[{}$&#_%])", source[place:])
            assert found is not None, source[place:]
            out, place = out + _UNESCAPED[found[1]], place + len(found[0])
        else:
            assert source[place] not in "{}$&#_%~^<>|\"`'-", source[place:]
            out, place = out + source[place], place + 1
    return out


@given(st.text(max_size=40))
def test_latex_prints_any_name_as_it_is(text: str) -> None:
    """Nothing special is left unescaped; control characters become spaces."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    assert _as_latex_prints(escape_latex(text)) == printable


@pytest.mark.parametrize("which", ["mixed", "hostile"])
def test_latex_rows_have_a_cell_a_column(which: str, request: pytest.FixtureRequest) -> None:
    """Each line of the table separates as many cells as the head says, whatever the names."""
    result, _ = request.getfixturevalue(which)
    text = latex([result])
    body = text.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
    lines = [line for line in body.splitlines() if line.endswith(r"\\")]
    assert len(lines) == 1 + len(result.benchmarks)
    assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {7}


def test_latex_compiles(hostile: Made, tmp_path: Path) -> None:
    """LaTeX itself accepts the table."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no LaTeX here")
    table = "".join(c if ord(c) < 128 or c == "\n" else "?" for c in latex([hostile[0]]))
    source = (
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,textcomp}\begin{document}"
        f"{table}\\end{{document}}"
    )
    (tmp_path / "a.tex").write_text(source, encoding="utf-8")
    subprocess.run(
        [program, "-halt-on-error", "-interaction=nonstopmode", "a.tex"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
