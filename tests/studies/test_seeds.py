"""The papers' experiments: every printed number has a verdict, each can fail, and the page is what they give."""

import dis
import inspect
import json
import lzma
import math
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

pytest.importorskip("matplotlib")
import studies.seeds.run  # noqa: F401  (which registers the rows)
from studies.seeds.row import (
    AGREES,
    CONTRADICTION,
    DIFFERS,
    MISPRINT,
    NOT_AVAILABLE,
    ROWS,
    UNEXPLAINED,
    Line,
    over_roundings,
)
from studies.seeds.varcore import bootstrap

ROOT = Path(__file__).parents[2]
AUTHORS = ROOT.parent / "shared" / "data" / "eseur"


def seeds(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "studies.seeds", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stdout, done.stderr


def stored(out: Path, row: str = "*") -> list[Line]:
    """The lines of rows, as they were kept."""
    found = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "rows").glob(f"{row}.json"))
    ]
    return [
        Line(**{**line, "values": tuple(line["values"])}) for one in found for line in one["result"]["lines"]
    ]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quick version, without data that is not committed."""
    out = tmp_path_factory.mktemp("seeds")
    code, said, err = seeds("--out", str(out), "--page", str(out / "page.md"))
    assert code == 0, said + err
    assert said in (out / "seeds.md").read_text(encoding="utf-8").replace(" (quick version)", "")
    return out


def reached(code: CodeType, names: dict[str, Any]) -> set[str]:
    """Functions of speedproof that code names, itself or by functions of the studies."""
    found: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= reached(constant, names)
    for instruction in dis.get_instructions(code):
        named = names.get(instruction.argval) if instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL") else None
        function = inspect.unwrap(named) if callable(named) else None
        if not inspect.isfunction(function):
            continue
        if function.__module__.startswith("speedproof."):
            found.add(f"{function.__module__}.{function.__qualname__}")
        elif function.__module__.startswith("studies."):
            found |= reached(function.__code__, function.__globals__)
    return found


@pytest.mark.slow
def test_every_printed_number_has_a_verdict(quick: Path) -> None:
    """What differs has a reason and the right number; what is computed is computed by speedproof."""
    committed = sum(
        len(path.read_text(encoding="utf-8").splitlines()) - 1
        for path in (ROOT / "studies" / "seeds" / "printed").glob("*-20??.csv")
    )
    assert len(stored(quick)) == committed
    page = (quick / "page.md").read_text(encoding="utf-8")
    for name, row in ROWS.items():
        for line in stored(quick, name):
            assert line.paper, line
            assert line.verdict in (AGREES, MISPRINT, DIFFERS, NOT_AVAILABLE), line
            assert line.why or line.verdict == AGREES, line
            if line.values:
                assert reached(compile(line.call, "", "eval"), row.experiment.__globals__), line
                assert line.call in page
    for path in ("seeds.md", "seeds.html"):
        text = (quick / path).read_text(encoding="utf-8")
        for figure in quick.glob("*.svg"):
            assert figure.name in text


@pytest.mark.slow
def test_every_line_can_fail(quick: Path) -> None:
    """Whatever a call gives beyond the band of the number that it is held against turns the verdict."""
    turned = 0
    for line in (line for line in stored(quick) if line.values):
        low, high = line.interval(line.paper if line.verdict == AGREES else line.right)
        beyond = 1e-9 * max(abs(end) for end in (low, high) if math.isfinite(end))
        for end in (low - beyond, high + beyond):
            if math.isfinite(end) and not (line.draws and not 0 <= end <= 1):
                assert replace(line, values=(end,)).verdict != line.verdict, line
                turned += 1
        far = replace(line, values=(1e9,))
        expected = line.kind if line.right.startswith(">") else UNEXPLAINED
        assert far.verdict == (AGREES if math.isinf(high) and not line.right else expected), line
    for line in (line for line in stored(quick) if line.kind == CONTRADICTION):
        assert line.verdict == MISPRINT
        assert replace(line, right=line.paper).verdict == NOT_AVAILABLE
        turned += 1
    assert turned > 180


@pytest.mark.slow
def test_the_committed_page_is_what_is_found(quick: Path) -> None:
    """But for seconds and what is measured: ``make seeds SEEDS="--page docs/papers-results.md"`` renews it."""
    pages = []
    for path in (ROOT / "docs" / "papers-results.md", quick / "page.md"):
        lines = path.read_text(encoding="utf-8").splitlines()
        pages.append([re.sub(r", [\d.]+ s$", "", x) for x in lines if not x.startswith("On this machine")])
    assert pages[0] == pages[1]
    code, _, err = seeds("--out", str(quick))  # what was found is kept
    assert (code, "already run" in err) == (0, True)
    assert "[" not in err.partition("already run")[2].partition("wrote")[0]


@pytest.mark.slow
@pytest.mark.skipif(not AUTHORS.is_dir(), reason="the authors' samples are not here")
def test_the_authors_samples(tmp_path: Path) -> None:
    """A reader had these shares of the 72 public ones, by mclust's rules and by the default fit."""
    code, out, err = seeds(
        "--only", "varcore-samples", "--only", "2013-table1", "--data", str(AUTHORS), "--out", str(tmp_path)
    )
    assert code == 0, out + err
    values: defaultdict[str, list[float]] = defaultdict(list)
    for line in stored(tmp_path, "varcore-samples"):
        values[line.what] += line.values
        assert line.verdict == (AGREES if "largest" in line.what else DIFFERS)
    assert values["samples that Shapiro and Wilk reject at 5 %"] == pytest.approx([0.82], abs=0.005)
    assert values["the same at 10 %"] == pytest.approx([0.85], abs=0.005)
    assert values["components K, median"] == [3, 4]
    shares = [values[name][1] for name in ("one mode", "two modes", "three modes", "four modes or more")]
    assert shares == pytest.approx([0.181, 0.167, 0.083, 0.569], abs=0.0005)
    assert values["mixtures rejected at 5 %"][1] == pytest.approx(0.028, abs=0.0005)
    assert "Of 12 public pairs without affinity" in (tmp_path / "seeds.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_data_that_is_given(tmp_path: Path) -> None:
    """Other samples than the authors' are told from them: the page says so, and so does the exit code."""
    rng = np.random.default_rng(1)
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    fields = product(("swim", "art"), ("gcc", "icc"), ("no affinity", "compact"), (2, 4), range(35))
    rows = [f"{p},{c},{a},{t},{rng.normal(2.0 if c == 'gcc' else 1.0, 0.01)}" for p, c, a, t, _ in fields]
    content = "program,compiler,affinity,threads,time\n" + "\n".join(rows) + "\n"
    (data / "Mazouz.csv.xz").write_bytes(lzma.compress(content.encode()))
    scores = [f"{suite},{v}" for suite in ("int", "fp") for v in np.exp(rng.normal(3, 1, 40))]
    (data / "hpt-table1.csv").write_text("suite,score\n" + "\n".join(scores) + "\n", encoding="utf-8")
    names = ("varcore-samples", "hpt-table1", "2013-table1")
    only = [argument for name in names for argument in ("--only", name)]
    code, _, err = seeds(*only, "--data", str(data), "--out", str(out))
    assert code == 1, err
    page = (out / "seeds.md").read_text(encoding="utf-8")
    assert (
        "Of 4 public pairs without affinity, gcc to icc, rejected at risk .05, .2, .99: "
        "0, 0, 0 in mean; 0, 0, 0 in median." in page
    )
    assert len(list(out.glob("varcore-swim-*.svg"))) == 2
    raw, logs = stored(out, "hpt-table1")[:3], stored(out, "hpt-table1")[3:]
    assert [line.verdict for line in raw] == [AGREES] * 3  # log-normal scores are not normal
    assert [line.verdict for line in logs] == [UNEXPLAINED, UNEXPLAINED, AGREES]  # and all log-normal
    (data / "hpt-table1.csv").unlink()  # what was found is not reused
    seeds("--only", "hpt-table1", "--data", str(data), "--out", str(out))
    assert {line.verdict for line in stored(out, "hpt-table1")} == {NOT_AVAILABLE}


def printed(paper: str, *values: float, band: str = "", draws: int = 0) -> Line:
    return Line("", "", paper, band, "f()", "", "", "", values, draws)


def test_bands() -> None:
    """Half a unit of the last digit, 99.8 % of the draws of a share; what contradicts another is a misprint."""
    for paper, inside, outside in (
        ("0.341", 0.34146, 0.34151), ("5%", 0.0500004, 0.056), ("6e-6", 6.4e-6, 6.9e-6), (">70%", 0.71, 0.69),
        ("<0.05", 0.01, 0.06), ("-81.1%", -0.8105, -0.812), ("2.891931e-07", 2.8919312e-07, 2.892e-07),
    ):  # fmt: skip
        assert printed(paper, inside).verdict == AGREES
        assert printed(paper, outside).verdict == UNEXPLAINED
    for share, draws in ((0.05, 100), (0.455, 300), (0.9375, 2000)):
        low, high = printed(f"{100 * share}%", 0.0, band="n=inf", draws=draws).interval(f"{100 * share}%")
        counts = np.arange(draws + 1)
        inside = binom.pmf(counts[(counts / draws >= low) & (counts / draws <= high)], draws, share).sum()
        assert inside >= 0.998
        assert high - low < 8.5 * math.sqrt(share * (1 - share) / draws)
    for paper, right, verdict in (
        ("83.09%", "83.19%", MISPRINT), ("83.19%", "83.19%", NOT_AVAILABLE), ("56.2%", "56.3%", MISPRINT),
        ("1834", "1827", MISPRINT), ("14", "14", NOT_AVAILABLE), ("83.2%", "83.19%", NOT_AVAILABLE),
    ):  # fmt: skip
        assert replace(printed(paper), kind=CONTRADICTION, right=right).verdict == verdict


def test_ranges() -> None:
    """A bootstrap interval of a mean is the normal one's; a rounded number is tried at both of its ends."""
    values = np.random.default_rng(4).normal(7.0, 2.0, 400)
    low, high = bootstrap(np.mean, values)
    half = 3.29 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.2 * half)
    assert over_roundings(lambda a, b: a - b, "1.5", 1) == pytest.approx([0.45, 0.55])


@pytest.mark.slow
def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    for words, message in (
        (("--only", "nothing"), "no row is called"),
        (("--data", "absent"), "no such folder"),
    ):
        code, _, err = seeds("--out", str(tmp_path), *words)
        assert (code, message in err) == (2, True)
    code, out, _ = seeds("--list", "--only", "hpt-*")
    assert (code, out.startswith("hpt-table1")) == (0, True)
