"""Charts: they show the numbers that were given, in every format, and say what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speedproof import plots
from speedproof.errors import UsageError
from speedproof.mixture.goodness import ks_distance
from speedproof.mixture.model import MixtureModel

pytest.importorskip("altair")
MODEL = MixtureModel([0.6, 0.4], [10.0, 14.0], [0.3, 0.5])
X = MODEL.rvs(120, seed=1)


def data(layer: dict[str, Any]) -> list[dict[str, Any]]:
    return list(layer["data"]["values"])


def test_histogram_has_area_one_and_the_components_add_up() -> None:
    layers = plots.histogram(X, MODEL, axis="time (ms)", title="a").to_dict()["layer"]
    bars, rug, *components, whole = layers
    area = sum((b["high"] - b["low"]) * b["density"] for b in data(bars))
    assert area == pytest.approx(1.0)
    assert len(data(rug)) == X.size
    total = np.sum([[p["density"] for p in data(c)] for c in components], axis=0)
    np.testing.assert_allclose(total, [p["density"] for p in data(whole)], rtol=1e-9)
    assert len(components) == 2


def test_histogram_of_a_constant_sample_and_of_no_model() -> None:
    assert len(plots.histogram([2.0] * 5).to_dict()["layer"]) == 2


def test_large_samples_are_thinned_in_the_rug_only() -> None:
    x = np.random.default_rng(1).normal(size=20_000)
    bars, rug = plots.histogram(x).to_dict()["layer"]
    assert len(data(rug)) == 5000
    assert data(rug)[0]["x"] == x.min()
    assert data(rug)[-1]["x"] == x.max()
    assert len(data(bars)) == 80


def test_rule_of_the_distribution_functions_is_the_ks_distance() -> None:
    rule = data(plots.cumulative(X, MODEL).to_dict()["layer"][2])[0]
    assert abs(rule["F"] - rule["to"]) == pytest.approx(ks_distance(X, MODEL))


def test_run_order_keeps_the_order_and_colours_by_component() -> None:
    points = data(plots.run_order(X, MODEL).to_dict())
    assert [p["value"] for p in points] == X.tolist()
    assert [p["run"] for p in points] == list(range(1, X.size + 1))
    assert [int(p["component"]) - 1 for p in points] == MODEL.labels(X).tolist()


def test_violins_show_medians_and_symmetric_outlines() -> None:
    chart = plots.violins({"old": X, "it's new": X + 1}, [MODEL, MODEL]).to_dict()
    outline, marks = chart["layer"]
    assert [m["value"] for m in data(marks)] == [np.median(X), np.median(X + 1)]
    for point in data(outline):
        place = 0 if point["version"] == "old" else 1
        assert point["right"] - place == pytest.approx(place - point["left"])


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("html", b"<!")]
)
def test_every_format_is_written(tmp_path: Path, ending: str, start: bytes) -> None:
    path = tmp_path / f"chart.{ending}"
    plots.save(plots.run_order(X, MODEL), path)
    content = path.read_bytes()
    assert content.lstrip().startswith(start)
    if ending == "html":  # it works without a network
        assert b"<script src=" not in content


def test_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"chart\.bmp: a chart is written as \.svg, \.png, \.pdf, \.html"):
        plots.save(plots.run_order(X), tmp_path / "chart.bmp")


def test_missing_altair_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(plots, "import_module", missing)
    with pytest.raises(UsageError, match=r"charts need altair.*pip install 'speedproof\[plots\]'"):
        plots.histogram(X)


def test_charts_are_plain_json() -> None:
    assert json.loads(plots.histogram(X, MODEL).to_json())["title"] == ""
