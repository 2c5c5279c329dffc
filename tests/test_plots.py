"""Charts: they show the numbers that were given, in every format, and say what is missing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speedproof import plots
from speedproof.errors import UsageError
from speedproof.mixture.goodness import ks_distance
from speedproof.mixture.model import MixtureModel
from speedproof.plots import grammar

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


def bars_of(panel: dict[str, Any]) -> list[dict[str, Any]]:
    return data(panel["layer"][0])


def domain_of(panel: dict[str, Any]) -> list[float]:
    return list(panel["layer"][0]["encoding"]["x"]["scale"]["domain"])


def test_a_few_values_far_out_are_counted_and_not_drawn() -> None:
    """The bars hold the share of the values inside the axis; the subtitle counts those beyond."""
    x = np.concatenate([X, [60.0, 140.0, -90.0]])
    chart = plots.histogram(x, MODEL).to_dict()
    low, high = domain_of(chart)
    assert low < X.min()
    assert high > X.max()
    assert high - low < 1.1 * np.ptp(X)
    area = sum((b["high"] - b["low"]) * b["density"] for b in bars_of(chart))
    assert area == pytest.approx(X.size / x.size)
    assert chart["title"]["subtitle"] == [
        "1 of 123 values, down to -90, lie beyond the axis and are not drawn",
        "2 of 123 values, up to 140, lie beyond the axis and are not drawn",
    ]
    for layer in chart["layer"][1:]:
        assert all(low <= point["x"] <= high for point in data(layer))
    assert "subtitle" not in plots.histogram(X, MODEL).to_dict()["title"]


def test_windows_of_random_samples() -> None:
    """What is left out is far out, little, and at the ends; what spreads by itself is rarely cut."""
    rng = np.random.default_rng(1)
    cut = 0
    for _ in range(500):
        n = int(rng.integers(2, 300))
        x = rng.normal(10, 1, n) + (rng.random(n) < rng.choice([0, 0.01, 0.3])) * rng.choice([3, 30, 300])
        low, high = plots.window(x)
        inside = x[(x >= low) & (x <= high)]
        assert {low, high} == {inside.min(), inside.max()}
        for beyond in (x[x < low], x[x > high]):
            assert beyond.size <= max(2, 0.02 * n)
            if beyond.size:
                cut += 1
                assert min(abs(beyond - low).min(), abs(beyond - high).min()) > np.ptp(inside)
    assert cut > 20
    for draw in (rng.normal, rng.uniform, rng.exponential):
        for n in (8, 10, 30, 300):
            kept = [plots.window(x) == (x.min(), x.max()) for x in (draw(size=n) for _ in range(200))]
            assert sum(kept) >= 190


def test_versions_are_compared_on_one_axis() -> None:
    """All panels span the same values, each counts what lies beyond, and the first one's median is in each."""
    samples = {"old": X, "new": np.append(X - 3, 500.0), "flat": np.full(9, 12.0)}
    chart = plots.comparison(samples, [MODEL, MODEL, None], axis="time (ms)", title="t").to_dict()
    panels = chart["vconcat"]
    assert {tuple(domain_of(p)) for p in panels} == {tuple(domain_of(panels[0]))}
    low, high = domain_of(panels[0])
    assert low <= X.min() - 3
    assert X.max() <= high < 500
    for panel, (name, x) in zip(panels, samples.items(), strict=True):
        assert panel["title"]["text"] == f"{name}: n = {x.size}, median {np.median(x):.4g}"
        beyond = int(np.sum((x < low) | (x > high)))
        assert len(panel["title"].get("subtitle", [])) == bool(beyond)
        area = sum((b["high"] - b["low"]) * b["density"] for b in bars_of(panel))
        assert area == pytest.approx(1 - beyond / x.size)
        rule, own = panel["layer"][-2:]
        assert data(rule)[0]["x"] == np.median(X)
        assert data(own)[0]["x"] == np.median(x)
        assert min(b["high"] - b["low"] for b in bars_of(panel)) > (high - low) / 150
    titles = [p["layer"][0]["encoding"]["x"].get("title") for p in panels]
    assert titles == [None, None, "time (ms)"]


def test_a_needle_does_not_flatten_the_bars() -> None:
    """A component of a single value would be thousands of times as high as any bar."""
    needle = MixtureModel([1 / 120, 119 / 120], [10.0, 12.0], [1e-6, 2.0])
    layers = plots.histogram(X, needle).to_dict()["layer"]
    tallest = max(b["density"] for b in data(layers[0]))
    assert max(p["density"] for p in data(layers[-1])) < 2.5 * tallest


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

    monkeypatch.setattr(grammar, "import_module", missing)
    with pytest.raises(UsageError) as caught:
        plots.histogram(X)
    text, _, packages = str(caught.value).partition(": pip install ")
    assert text == "charts need altair, which is not installed"
    # The packages themselves: from a clone there is no speedproof on an index that an extra could be asked of.
    extras = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    wanted = extras["optional-dependencies"]["plots"]
    assert packages.split() == [requirement.partition(">=")[0] for requirement in wanted]


def test_charts_are_plain_json() -> None:
    assert json.loads(plots.histogram(X, MODEL).to_json())["title"] == {"text": ""}
