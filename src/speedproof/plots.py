"""Charts of samples and mixtures, in one grammar for SVG, PNG, PDF and HTML.

Each function takes values and models and returns an Altair chart; :func:`save` writes it. Altair and
vl-convert are the optional extra ``plots``; no browser is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from speedproof.errors import UsageError
from speedproof.mixture.model import MixtureModel

__all__ = ["check_output", "cumulative", "histogram", "run_order", "save", "violins"]

Floats = npt.NDArray[np.float64]
Chart = Any
"""An Altair chart; Altair is optional, and so are its types."""

FORMATS = ("svg", "png", "pdf", "html")
CLUSTERS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000", "#ee8866")
"""Colours of components, told apart by colour-blind readers (P. Tol's bright scheme and two more)."""

_LARGEST_INLINE = 5000
_GRID = 400


def _altair() -> Any:
    try:
        altair = import_module("altair")
        import_module("vl_convert")
    except ImportError as error:
        raise UsageError(
            f"charts need {error.name}, which is not installed: pip install 'speedproof[plots]'"
        ) from None
    return altair


def _grid(values: Floats, model: MixtureModel) -> Floats:
    """Places that show every component: even over the range, denser around each mean."""
    low = min(float(values.min()), float((model.means - 3 * model.sds).min()))
    high = max(float(values.max()), float((model.means + 3 * model.sds).max()))
    around = (model.means[:, None] + model.sds[:, None] * np.linspace(-4, 4, 81)).ravel()
    return np.unique(
        np.concatenate([np.linspace(low, high, _GRID), around[(around > low) & (around < high)]])
    )


def _rows(**columns: npt.ArrayLike) -> list[dict[str, Any]]:
    names = list(columns)
    lists = [np.asarray(c).tolist() for c in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _thinned(values: Floats) -> Floats:
    """At most as many values as a file should carry for a rug; the extremes stay."""
    if values.size <= _LARGEST_INLINE:
        return values
    return np.quantile(values, np.linspace(0, 1, _LARGEST_INLINE))


def histogram(
    values: npt.ArrayLike, model: MixtureModel | None = None, *, axis: str = "value", title: str = ""
) -> Chart:
    """Histogram as a density, the mixture and its components over it, a rug of the values below.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample, in the unit to show.
    model : MixtureModel, optional
        Its mixture, in the same unit.
    axis, title : str
        Texts.

    Returns
    -------
    Altair chart
        For :func:`save`.

    Raises
    ------
    UsageError
        Altair is not installed.
    """
    alt = _altair()
    x = np.asarray(values, dtype=np.float64)
    edges = _edges(x)
    counts, edges = np.histogram(x, bins=edges)
    density = counts / (x.size * np.diff(edges))
    bars = _rows(low=edges[:-1], high=edges[1:], density=density, floor=np.zeros(counts.size))
    place = alt.X("low:Q", title=axis, scale=alt.Scale(zero=False, nice=False))
    height = alt.Y("density:Q", title="density", scale=alt.Scale(zero=True))
    layers = [
        alt.Chart(alt.Data(values=bars))
        .mark_rect(color="#d5d5d5", stroke="white", strokeWidth=0.5)
        .encode(x=place, x2="high:Q", y=height, y2="floor:Q"),
        alt.Chart(alt.Data(values=_rows(x=_thinned(x))))
        .mark_tick(orient="vertical", color="#555555", thickness=0.8, size=9, opacity=0.6)
        .encode(x="x:Q", y=alt.value(295)),
    ]
    if model is not None:
        layers += _density_layers(alt, _grid(x, model), model)
    return alt.layer(*layers).properties(width=520, height=300, title=title)


def _edges(x: Floats) -> Floats:
    """At least 8 bins, at most 80; more than Freedman and Diaconis want, whose width several modes mislead."""
    spread = float(np.ptp(x))
    if spread == 0.0:
        return np.array([x[0] - 0.5, x[0] + 0.5])
    quartiles = np.quantile(x, [0.25, 0.75])
    width = 2.0 * float(quartiles[1] - quartiles[0]) / np.cbrt(x.size)
    wanted = max(spread / width if width > 0 else 80.0, 2.0 * np.sqrt(x.size))
    bins = int(np.clip(np.ceil(wanted), 8, 80))
    return np.linspace(x.min(), x.max(), bins + 1)


def _density_layers(alt: Any, grid: Floats, model: MixtureModel) -> list[Any]:
    lines = []
    for k, (w, mu, sd) in enumerate(zip(model.weights, model.means, model.sds, strict=True)):
        part = w * np.exp(-0.5 * ((grid - mu) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        data = alt.Data(values=_rows(x=grid, density=part))
        lines.append(
            alt.Chart(data)
            .mark_area(color=CLUSTERS[k % len(CLUSTERS)], opacity=0.4)
            .encode(x="x:Q", y="density:Q")
        )
    whole = alt.Data(values=_rows(x=grid, density=model.pdf(grid)))
    lines.append(alt.Chart(whole).mark_line(color="black", strokeWidth=1.8).encode(x="x:Q", y="density:Q"))
    return lines


def cumulative(values: npt.ArrayLike, model: MixtureModel, *, axis: str = "value", title: str = "") -> Chart:
    """Empirical against fitted distribution function, with the place of their largest distance.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample.
    model : MixtureModel
        Its mixture.
    axis, title : str
        Texts.

    Returns
    -------
    Altair chart
        For :func:`save`.
    """
    alt = _altair()
    x = np.sort(np.asarray(values, dtype=np.float64))
    places, counts = np.unique(x, return_counts=True)
    above = np.cumsum(counts) / x.size
    fitted = model.cdf(places)
    gaps = np.stack([np.abs(above - fitted), np.abs(above - counts / x.size - fitted)])
    side, at = np.unravel_index(int(gaps.argmax()), gaps.shape)
    step = float(above[at] - (counts[at] / x.size if side else 0.0))
    grid = _grid(x, model)
    empirical = _rows(
        x=np.concatenate([grid[:1], places, grid[-1:]]), F=np.concatenate([[0.0], above, [1.0]])
    )
    scale = alt.Scale(zero=False, nice=False)
    y = alt.Y("F:Q", title="share of runs at most", scale=alt.Scale(domain=[0, 1]))
    return (
        alt.layer(
            alt.Chart(alt.Data(values=empirical))
            .mark_line(interpolate="step-after", color=CLUSTERS[0], strokeWidth=1.6)
            .encode(x=alt.X("x:Q", title=axis, scale=scale), y=y),
            alt.Chart(alt.Data(values=_rows(x=grid, F=model.cdf(grid))))
            .mark_line(color="black", strokeWidth=1.4, strokeDash=[5, 3])
            .encode(x="x:Q", y="F:Q"),
            alt.Chart(alt.Data(values=[{"x": float(places[at]), "F": step, "to": float(fitted[at])}]))
            .mark_rule(color=CLUSTERS[1], strokeWidth=3)
            .encode(x="x:Q", y="F:Q", y2="to:Q"),
        )
        .properties(width=520, height=300, title=title)
        .resolve_scale(x="shared", y="shared")
    )


def run_order(
    values: npt.ArrayLike, model: MixtureModel | None = None, *, axis: str = "value", title: str = ""
) -> Chart:
    """Values in run order, coloured by their most probable component.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample in run order.
    model : MixtureModel, optional
        Its mixture.
    axis, title : str
        Texts.

    Returns
    -------
    Altair chart
        For :func:`save`.
    """
    alt = _altair()
    x = np.asarray(values, dtype=np.float64)
    label = np.zeros(x.size, dtype=np.int64) if model is None else model.labels(x)
    names = [str(k + 1) for k in range(1 if model is None else model.components)]
    data = _rows(run=np.arange(1, x.size + 1), value=x, component=[names[k] for k in label])
    colour = alt.Color(
        "component:N",
        scale=alt.Scale(domain=names, range=[CLUSTERS[k % len(CLUSTERS)] for k in range(len(names))]),
        legend=None if len(names) == 1 else alt.Legend(title="component"),
    )
    return (
        alt.Chart(alt.Data(values=data))
        .mark_circle(size=28, opacity=0.85)
        .encode(
            x=alt.X("run:Q", title="run", scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title=axis, scale=alt.Scale(zero=False)),
            color=colour,
        )
        .properties(width=520, height=300, title=title)
    )


def violins(
    samples: Mapping[str, npt.ArrayLike],
    models: Sequence[MixtureModel],
    *,
    axis: str = "value",
    title: str = "",
) -> Chart:
    """Densities of many versions side by side, with every median.

    Parameters
    ----------
    samples : mapping of str to array_like
        A sample of each version.
    models : sequence of MixtureModel
        Their mixtures, in the same order; each violin is a mixture's density, as wide as it is high.
    axis, title : str
        Texts.

    Returns
    -------
    Altair chart
        For :func:`save`.
    """
    alt = _altair()
    names = list(samples)
    outlines, marks = [], []
    for i, (values, model) in enumerate(zip(samples.values(), models, strict=True)):
        x = np.asarray(values, dtype=np.float64)
        grid = _grid(x, model)
        density = model.pdf(grid)
        half = 0.42 * density / density.max()
        outlines += _rows(value=grid, left=i - half, right=i + half, version=[names[i]] * grid.size)
        marks.append({"version": names[i], "place": i, "value": float(np.median(x))})
    labels = "[" + ",".join(repr(n) for n in names) + "][datum.value]"
    place = alt.X(
        "left:Q",
        title=None,
        scale=alt.Scale(domain=[-0.6, len(names) - 0.4], nice=False),
        axis=alt.Axis(
            values=list(range(len(names))),
            labelExpr=labels,
            grid=False,
            labelAngle=-30 if len(names) > 4 else 0,
        ),
    )
    value = alt.Y("value:Q", title=axis, scale=alt.Scale(zero=False))
    return alt.layer(
        alt.Chart(alt.Data(values=outlines))
        .mark_area(orient="horizontal", opacity=0.7, color=CLUSTERS[0])
        .encode(y=value, x=place, x2="right:Q", detail="version:N"),
        alt.Chart(alt.Data(values=marks))
        .mark_point(color="black", filled=True, size=36)
        .encode(y="value:Q", x=alt.X("place:Q")),
    ).properties(width=max(240, 90 * len(names)), height=320, title=title)


def check_output(path: str | Path) -> None:
    """Refuse a path that no chart can be written to, before anything is drawn.

    Raises
    ------
    UsageError
        An unknown ending, or Altair is not installed.
    """
    if Path(path).suffix.lower().lstrip(".") not in FORMATS:
        raise UsageError(f"{path}: a chart is written as .{', .'.join(FORMATS)}")
    _altair()


def save(chart: Chart, path: str | Path) -> None:
    """Write a chart to a file.

    Parameters
    ----------
    chart : Altair chart
        From a function of this module.
    path : str or Path
        Ends in ``.svg``, ``.png``, ``.pdf`` or ``.html``; the HTML page works without a network.

    Raises
    ------
    UsageError
        Another ending, or Altair is not installed.
    """
    check_output(path)
    ending = Path(path).suffix.lower().lstrip(".")
    options: dict[str, dict[str, Any]] = {"png": {"scale_factor": 2.0}, "html": {"inline": True}}
    chart.save(str(path), format=ending, **options.get(ending, {}))
