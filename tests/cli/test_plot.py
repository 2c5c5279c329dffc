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
def test_versions_share_a_picture_and_benchmarks_do_not(tmp_path: Path, kind: str, label: str) -> None:
    """A picture of a benchmark holds all its versions, but for the order; several benchmarks get names."""
    files = [
        table(tmp_path / f"{v}.csv", dict.fromkeys(("sort", "hash it"), (1.0, 1.1, 1.25, 1.3)))
        for v in ("old", "new")
    ]
    code, _, err = speedproof("plot", *files, "--kind", kind, "-o", str(tmp_path / "x.svg"))
    versions = ["new", "old"] if kind == "order" else [""]
    names = [f"x-{b}-{v}".rstrip("-") + ".svg" for b in ("hash-it", "sort") for v in versions]
    assert (code, sorted(path.name for path in tmp_path.glob("x*.svg"))) == (0, names)
    assert err.count("wrote") == len(names)
    text = (tmp_path / names[-1]).read_text(encoding="utf-8")
    assert all(label.format(version) in text for version in ("old", "new"))


@pytest.mark.slow
def test_a_version_without_a_mixture_is_drawn_all_the_same(tmp_path: Path) -> None:
    """A constant sample has a histogram, and the remark says why it has no curve."""
    files = [write(tmp_path / "a.txt", MODEL.rvs(30, 1)), write(tmp_path / "flat.txt", [3.0] * 10)]
    target = tmp_path / "x.svg"
    code, _, err = speedproof("plot", *files, "-o", str(target))
    assert code == 0
    assert "flat: n = 10, median 3" in target.read_text(encoding="utf-8")
    assert "(flat): no mixture, so no curve of it: all 10 values are equal" in err
    for kind in ("violins", "density", "cdf", "order"):
        assert speedproof("plot", *files, "--kind", kind, "-o", str(target))[0] == 0
    assert "a probability plot needs four values or more that are not all equal" in refused(
        "plot", files[1], "--kind", "qq", "-o", str(target)
    )
    code, _, err = speedproof("plot", *files, "--kind", "qq", "-o", str(target))
    assert (code, "note: values flat: a probability plot needs four" in err) == (0, True)


def test_speedups_share_a_picture_by_candidate(tmp_path: Path) -> None:
    """All benchmarks of two versions; with three versions one picture a candidate."""
    times = np.linspace(1.0, 1.1, 20)
    factors = {"old": 1.0, "new": 0.5, "newer": 1.0}
    files = [
        table(tmp_path / f"{v}.csv", {"sort": of * times, "hash": of * times}) for v, of in factors.items()
    ]
    code, _, err = speedproof("plot", *files, "--kind", "forest", "-o", str(tmp_path / "f.svg"))
    assert code == 0, err
    assert sorted(path.name for path in tmp_path.glob("f*.svg")) == ["f-new.svg", "f-newer.svg"]
    text = (tmp_path / "f-new.svg").read_text(encoding="utf-8")
    assert all(word in text for word in ("sort", "hash", "speedup of new", "2 faster"))
    for words, told in (
        (("--only", "x", "-o", "f.svg"), "no benchmark matches"),
        (("-o", "f.gif"), "f.gif: a picture is"),
    ):
        assert told in refused("plot", *files, "--kind", "forest", *words)


@pytest.mark.parametrize(
    ("seconds", "unit"), [(3e-13, "ps"), (3e-8, "ns"), (3e-3, "ms"), (3e-22, "1e-22 s"), (9e306, "1e306 s")]
)
def test_an_axis_has_the_usual_unit_where_there_is_one(seconds: float, unit: str) -> None:
    suite = sp.Suite.of_samples({"v": seconds * np.linspace(1.0, 1.1, 10)}, unit="s")
    ((_, ax),) = sp.pictures(suite, kind="order")
    assert ax.get_ylabel() == f"time ({unit})"
