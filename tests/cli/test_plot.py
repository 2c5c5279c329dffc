"""``speedproof plot`` as a user meets it."""

from pathlib import Path

import numpy as np
import pytest
from tests.command import refused, speedproof, table, write

import speedproof as sp
from speedproof.mixture.model import MixtureModel

pytest.importorskip("matplotlib")
MODEL = MixtureModel([0.5, 0.5], [10.0, 14.0], [0.3, 0.3])


@pytest.mark.parametrize(("kind", "label"), [
    ("histogram", "{}: n = 4, median 1.175"), ("density", "{} (4 runs)"), ("cdf", "{} (4 runs)"), ("order", ""),
])  # fmt: skip
def test_versions_share_a_picture_and_benchmarks_do_not(kind: str, label: str) -> None:
    """A picture of a benchmark holds all its versions, but for the order; several benchmarks get names."""
    values = dict.fromkeys(("sort", "hash it"), (1.0, 1.1, 1.25, 1.3))
    files = [table(f"{v}.csv", values) for v in ("old", "new")]
    code, _, err = speedproof("plot", *files, "--kind", kind, "-o", "x.svg")
    versions = ["new", "old"] if kind == "order" else [""]
    names = [f"x-{b}-{v}".rstrip("-") + ".svg" for b in ("hash-it", "sort") for v in versions]
    assert (code, err.count("wrote"), sorted(map(str, Path().glob("x*.svg")))) == (0, len(names), names)
    text = Path(names[-1]).read_text(encoding="utf-8")
    assert all(label.format(version) in text for version in ("old", "new"))


@pytest.mark.slow
def test_a_version_without_a_mixture_is_drawn_all_the_same() -> None:
    """A constant sample has a histogram, and the remark says why it has no curve."""
    files = [write("a.txt", MODEL.rvs(30, 1)), write("flat.txt", [3.0] * 10)]
    code, _, err = speedproof("plot", *files, "-o", "x.svg")
    assert (code, "(flat): no mixture, so no curve of it: all 10 values are equal" in err) == (0, True)
    assert "flat: n = 10, median 3" in Path("x.svg").read_text(encoding="utf-8")
    for kind in ("violins", "density", "cdf", "order", "qq"):
        code, _, err = speedproof("plot", *files, "--kind", kind, "-o", "x.svg")
        assert (code, "note: values flat: a probability plot needs four" in err) == (0, kind == "qq")
    told = "a probability plot needs four values or more that are not all equal"
    assert told in refused("plot", files[1], "--kind", "qq", "-o", "x.svg")


def test_speedups_share_a_picture_by_candidate() -> None:
    factors = {"old": 1.0, "new": 0.5, "newer": 1.0}
    files = [
        table(f"{v}.csv", dict.fromkeys(("sort", "hash"), of * np.linspace(1.0, 1.1, 20)))
        for v, of in factors.items()
    ]
    code, _, err = speedproof("plot", *files, "--kind", "forest", "-o", "f.svg")
    assert code == 0, err
    assert sorted(map(str, Path().glob("f*.svg"))) == ["f-new.svg", "f-newer.svg"]
    text = Path("f-new.svg").read_text(encoding="utf-8")
    assert all(word in text for word in ("sort", "hash", "speedup of new", "2 faster"))
    for words, told in (
        (("--only", "x", "-o", "f.svg"), "no benchmark matches"),
        (("-o", "f.gif"), "f.gif: a picture is"),
    ):
        assert told in refused("plot", *files, "--kind", "forest", *words)


@pytest.mark.parametrize(("kind", "option"), [
    ("forest", "--max-components 3"), ("qq", "--max-components 3"), ("cdf", "--reference old"),
])  # fmt: skip
def test_what_no_picture_shows_is_refused(kind: str, option: str) -> None:
    files = [table(f"{v}.csv", {"sort": (1.0, 1.1, 1.25, 1.3)}) for v in ("old", "new")]
    told = refused("plot", *files, "--kind", kind, *option.split(), "-o", "x.svg")
    assert told.strip().endswith(f"leave out {option}")


@pytest.mark.parametrize(
    ("largest", "unit"),
    [(3e-13, "ps"), (3e-8, "ns"), (3e-3, "ms"), (3e-22, "1e-22 s"), (1e15, "1e15 s"), (9e306, "1e306 s")],
)
def test_an_axis_has_the_usual_unit_where_there_is_one(largest: float, unit: str) -> None:
    suite = sp.Suite.of_samples({"v": largest * np.linspace(0.9, 1.0, 10)}, unit="s")
    ((_, ax),) = sp.pictures(suite, kind="order")
    assert ax.get_ylabel() == f"time ({unit})"
    factor = {"ps": 1e-12, "ns": 1e-9, "ms": 1e-3}.get(unit) or float(unit.split()[0])
    assert max(np.max(line.get_ydata()) for line in ax.lines) == pytest.approx(largest / factor, rel=1e-12)
