"""``speedproof plot`` as a user meets it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.mixture.model import MixtureModel

pytest.importorskip("altair")
MODEL = MixtureModel([0.5, 0.5], [10.0, 14.0], [0.3, 0.3])


def speedproof(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(argv, Console(out, err))
    return code, out.getvalue(), err.getvalue()


def write(path: Path, values: object) -> str:
    path.write_text("".join(f"{v!r}\n" for v in np.asarray(values, dtype=float).tolist()), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("kind", ["histogram", "cdf", "order", "violins"])
def test_every_kind_is_written(tmp_path: Path, kind: str) -> None:
    source = write(tmp_path / "t.txt", MODEL.rvs(60, 1))
    target = tmp_path / f"{kind}.svg"
    code, _, err = speedproof("plot", source, "--unit", "ms", "--kind", kind, "-o", str(target))
    assert code == 0
    assert "<svg" in target.read_text(encoding="utf-8")
    assert "time (ms)" in target.read_text(encoding="utf-8")
    assert f"wrote {target}" in err


def test_several_charts_get_names_of_their_own(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.txt", MODEL.rvs(30, 1)) for name in ("a", "b")]
    code, _, err = speedproof("plot", *files, "-o", str(tmp_path / "x.svg"))
    assert code == 0
    assert len(list(tmp_path.glob("x-*.svg"))) == 2
    assert err.count("wrote") == 2


def test_unknown_ending_is_refused_before_reading() -> None:
    code, _, err = speedproof("plot", "/nowhere", "-o", "chart.gif")
    assert code == 2
    assert "chart.gif: a chart is written as .svg, .png, .pdf, .html" in err
