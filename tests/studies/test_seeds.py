"""The papers' experiments run: every printed number agrees or is a misprint that is explained."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[2]


def seeds(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "studies.seeds", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stdout, done.stderr


def stored(out: Path, row: str) -> dict[str, object]:
    result: dict[str, object] = json.loads((out / "rows" / f"{row}.json").read_text(encoding="utf-8"))[
        "result"
    ]
    return result


def test_the_quick_version(tmp_path: Path) -> None:
    """All rows run; nothing that a paper prints differs without a reason; what is absent is said to be."""
    code, out, err = seeds("--out", str(tmp_path))
    assert code == 0, err
    assert " 0 differ; " in out
    page = (tmp_path / "seeds.md").read_text(encoding="utf-8")
    html = (tmp_path / "seeds.html").read_text(encoding="utf-8")
    papers = ("Touati 2009", "Touati, Worms, Briais 2013", "Chen et al. 2015", "Worms and Touati 2016")
    places = [page.index(f"## {paper}") for paper in papers]
    assert places == sorted(places)
    for text in (page, html):
        assert "Mazouz.csv.xz is not in --data" in text
        assert "KDataSets" in text
    for row in (tmp_path / "rows").glob("*.json"):
        result = json.loads(row.read_text(encoding="utf-8"))["result"]
        assert result["lines"] or result["missing"], row.name
        for line in result["lines"]:
            assert line["why"] or line["outcome"] != "misprint", line
        for name, _ in result["figures"]:
            assert (tmp_path / name).read_text(encoding="utf-8").startswith("<?xml")
            assert f'src="{name}"' in html
    # Rows that are there are not run again, but for one that is asked to be.
    code, again, err = seeds("--out", str(tmp_path))
    assert (code, again) == (0, out)
    assert "already run" in err
    assert "[" not in err.partition("already run")[2].partition("wrote")[0]


def test_data_that_is_not_committed(tmp_path: Path) -> None:
    """The public files are read in their original form: here one of their shape, with a known answer."""
    rng = np.random.default_rng(1)
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    rows = [
        f"{program},{compiler},{affinity},{threads},{rng.normal(base, 0.01)}"
        for program in ("swim", "art")
        for compiler, base in (("gcc", 2.0), ("icc", 1.0))
        for affinity in ("none", "compact")
        for threads in (2, 4)
        for _ in range(35)
    ]
    content = "program,compiler,affinity,threads,time\n" + "\n".join(rows) + "\n"
    (data / "Mazouz.csv.xz").write_bytes(lzma.compress(content.encode()))
    only = ("--only", "2013-table1", "--only", "varcore-figures2-4", "--data", str(data), "--out", str(out))
    code, _, err = seeds(*only)
    assert code == 0, err
    lines = stored(out, "2013-table1")["lines"]
    assert isinstance(lines, list)
    assert len(lines) == 4
    assert all(line["ours"] == "0, 0, 0 of 4" for line in lines if line["what"].startswith("gcc to icc"))
    assert len(list(out.glob("varcore-swim-*.svg"))) == 2
    for name, factor in (("x", 2), ("y", 1)):
        values = "\n".join(f"{factor * v:g}" for v in rng.normal(10, 1, 40))
        (data / f"{name}.txt").write_text(values, encoding="utf-8")
    (data / "ten.csv").write_text("Name,Sample1,Sample2,ConfLevel,Coef\na,x.txt,y.txt,,\n", encoding="utf-8")
    scores = [f"{suite},{v}" for suite in ("CINT2006", "CFP2006") for v in np.exp(rng.normal(3, 1, 200))]
    text = "Benchmark,Result\n" + "\n".join(scores) + "\nCFP2006,--\n"
    (data / "cpu2006-results-20140206.csv").write_text(text, encoding="utf-8")
    assert (
        seeds("--only", "2013-tool", "--only", "hpt-table1", "--data", str(data), "--out", str(out))[0] == 0
    )
    lines = stored(out, "hpt-table1")["lines"]
    assert isinstance(lines, list)
    assert [line["why"] for line in lines] == ["200 results", ""] * 2
    pvalues = [float(line["ours"].split()[2].rstrip(",")) for line in lines]
    assert max(pvalues[::2]) < 1e-6 < 0.01 < min(pvalues[1::2])  # log-normal, and not normal
    lines = stored(out, "2013-tool")["lines"]
    assert isinstance(lines, list)
    assert lines[-1]["what"] == "ten.csv of --data"
    assert lines[-1]["ours"] == "1 of 1 accelerated in median at 95 %"
    # The data have changed: what was found is not reused.
    (data / "Mazouz.csv.xz").unlink()
    _, out_text, _ = seeds(*only)
    assert "2 of 2 experiments lack what they need" in out_text


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    for arguments, message in (
        (("--only", "nothing"), "no row is called nothing"),
        (("--data", str(tmp_path / "absent")), "no such folder"),
    ):
        code, _, err = seeds("--out", str(tmp_path), *arguments)
        assert code == 2
        assert message in err
    code, out, _ = seeds("--list", "--only", "hpt-*")
    assert code == 0
    assert out.startswith("hpt-table1")
