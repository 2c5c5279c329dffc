"""Histograms with their mixtures: of one sample, or of many versions on one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from speedproof.mixture.model import MixtureModel
from speedproof.plots.grammar import COLOURS, HEIGHT, WIDTH, Chart, Floats, Window, load_altair, places, rows

__all__ = ["comparison", "histogram", "window"]

_LARGEST_INLINE = 5000
_ROW = 90
_FEWEST = 8
_FEW = 0.02
_SQUEEZED = 6.0
_BARS = 130  # bars of one axis at most, so that each can be seen
_NEEDLE = 6.0  # deviations to a bar: the highest curve is then 2.4 times as high as its bar
_SPECK = 1e-100  # of the whole range: no axis can show it, in whatever unit
_MANY = 6


def window(values: npt.ArrayLike) -> Window:
    """The range to draw: all values, unless a few lie so far out that the others would fill less than a sixth.

    Parameters
    ----------
    values : array_like, shape (n,)
        The sample.

    Returns
    -------
    (float, float)
        From the smallest to the largest value drawn. At either end at most 2 % of the values may be left out
        (but two of twenty or more, one of eight), and only those that lie farther out than the others spread.
        The charts say how many.

    Examples
    --------
    >>> window([*range(1, 11), 500.0]), window([*range(1, 11), 20.0]), window([1.0, 2.0, 500.0])
    ((1.0, 10.0), (1.0, 20.0), (1.0, 500.0))
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    if x.size < _FEWEST:
        return float(x[0]), float(x[-1])
    most = max(2 if x.size >= 20 else 1, int(_FEW * x.size))
    high = -_nearest_end(-x[::-1], -float(x[most]), most)
    return _nearest_end(x, high, most), high


def _nearest_end(x: Floats, other: float, most: int) -> float:
    """The smallest of the sorted values to draw, when `other` is the largest and at most so many go."""
    for left_out in range(most, 0, -1):
        spread = other - x[left_out]
        if _SPECK * (other - x[0]) < spread < min((other - x[0]) / _SQUEEZED, x[left_out] - x[left_out - 1]):
            return float(x[left_out])
    return float(x[0])


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
        For :func:`save`. A few values far out are not drawn but counted, see :func:`window`. A component much
        narrower than a bar is drawn a sixth of a bar wide (one deviation).

    Raises
    ------
    UsageError
        Altair is not installed.
    """
    alt = load_altair()
    x = np.asarray(values, dtype=np.float64)
    seen = window(x)
    layers = _density(alt, x, model, seen, HEIGHT, axis)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=_title(alt, title, x, seen))


def comparison(
    samples: Mapping[str, npt.ArrayLike],
    models: Sequence[MixtureModel | None],
    *,
    axis: str = "value",
    title: str = "",
) -> Chart:
    """Histograms of many versions under each other on one axis, each with its mixture and the first one's median.

    Parameters
    ----------
    samples : mapping of str to array_like
        A sample of each version.
    models : sequence of MixtureModel or None
        Their mixtures, in the same order.
    axis, title : str
        Texts.

    Returns
    -------
    Altair chart
        For :func:`save`. The axis spans the windows of all samples, and each panel counts what lies beyond.
    """
    alt = load_altair()
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in samples.items()}
    windows = [window(x) for x in arrays.values()]
    seen = min(low for low, _ in windows), max(high for _, high in windows)
    medians = [float(np.median(x)) for x in arrays.values()]
    height = _ROW if len(arrays) <= _MANY else _ROW // 2
    panels: list[Chart] = []
    for (name, x), model, median in zip(arrays.items(), models, medians, strict=True):
        last = len(panels) == len(arrays) - 1
        marks = [
            alt.Chart(alt.Data(values=[{"x": medians[0]}]))
            .mark_rule(color="black", strokeDash=[4, 3])
            .encode(x="x:Q"),
            alt.Chart(alt.Data(values=[{"x": median}]))
            .mark_point(shape="triangle-down", color="black", filled=True, size=70, opacity=1)
            .encode(x="x:Q", y=alt.value(5)),
        ]
        layers = _density(alt, x, model, seen, height, axis if last else None)
        text = f"{name}: n = {x.size}, median {median:.4g}"
        panels.append(
            alt.layer(*layers, *marks).properties(
                width=WIDTH, height=height, title=_title(alt, text, x, seen, small=True)
            )
        )
    note = f"triangles: medians; dashed: the median of {next(iter(arrays))}"
    whole = alt.vconcat(*panels, spacing=8).resolve_scale(x="shared")
    return whole.properties(title=alt.TitleParams(title, subtitle=note, anchor="start"))


def _title(alt: Any, text: str, x: Floats, seen: Window, *, small: bool = False) -> Any:
    """A title that counts the values which are not drawn."""
    look: dict[str, Any] = {"fontSize": 11, "anchor": "start"} if small else {}
    ends = ((x[x < seen[0]], np.min, "down to"), (x[x > seen[1]], np.max, "up to"))
    beyond = [
        f"{values.size} of {x.size} values, {words} {farthest(values):.4g}, lie beyond the axis and are not drawn"
        for values, farthest, words in ends
        if values.size
    ]
    if beyond:
        look |= {"subtitle": beyond, "subtitleColor": "#bb3344"}
    return alt.TitleParams(text, **look)


def _density(
    alt: Any, x: Floats, model: MixtureModel | None, seen: Window, height: int, axis: str | None
) -> list[Any]:
    """Bars, rug and curves inside a window; without a text the axis is that of the panel below."""
    inside = x[(x >= seen[0]) & (x <= seen[1])]
    counts, edges = np.histogram(inside, bins=_edges(inside, (seen[1] - seen[0]) / _BARS))
    density = counts / (x.size * np.diff(edges))
    bars = rows(low=edges[:-1], high=edges[1:], density=density, floor=np.zeros(counts.size))
    margin = 0.02 * (seen[1] - seen[0]) or 0.5
    scale = alt.Scale(domain=[seen[0] - margin, seen[1] + margin], nice=False, zero=False)
    bare = {"axis": alt.Axis(labels=False, ticks=False)} if axis is None else {}
    place = alt.X("low:Q", title=axis, scale=scale, **bare)
    upright = {"title": "density"} if height == HEIGHT else {"axis": None}
    layers = [
        alt.Chart(alt.Data(values=bars))
        .mark_rect(color="#d5d5d5", stroke="white", strokeWidth=0.5)
        .encode(
            x=place,
            x2="high:Q",
            y=alt.Y("density:Q", scale=alt.Scale(zero=True), **upright),
            y2="floor:Q",
        ),
        alt.Chart(alt.Data(values=rows(x=_thinned(inside))))
        .mark_tick(orient="vertical", color="#555555", thickness=0.8, size=9, opacity=0.6)
        .encode(x="x:Q", y=alt.value(height - 5)),
    ]
    if model is not None:
        # A component of a value or two may be a needle that would flatten all bars.
        least = np.diff(edges).min() / _NEEDLE
        wide = MixtureModel(model.weights, model.means, np.maximum(model.sds, least))
        layers += _density_layers(alt, places(x, wide, (seen[0] - margin, seen[1] + margin)), wide)
    return layers


def _edges(x: Floats, least: float) -> Floats:
    """At least 8 bins, at most 80; more than Freedman and Diaconis want, whose width several modes mislead.

    None is narrower than `least`, which one bin alone may need more than the values' range for.
    """
    spread = float(np.ptp(x))
    if spread <= least or spread == 0.0:
        half = 0.5 * (least or 1.0)
        middle = 0.5 * x.min() + 0.5 * x.max()
        return np.array([middle - half, middle + half])
    quartiles = np.quantile(x, [0.25, 0.75])
    width = 2.0 * float(quartiles[1] - quartiles[0]) / np.cbrt(x.size)
    wanted = max(spread / width if width > 0 else 80.0, 2.0 * np.sqrt(x.size))
    bins = int(np.clip(np.ceil(wanted), 8, 80))
    if least > 0.0:
        bins = max(1, min(bins, int(spread / least)))
    return np.linspace(x.min(), x.max(), bins + 1)


def _density_layers(alt: Any, grid: Floats, model: MixtureModel) -> list[Any]:
    lines = []
    for k, (w, mu, sd) in enumerate(zip(model.weights, model.means, model.sds, strict=True)):
        part = w * np.exp(-0.5 * ((grid - mu) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        data = alt.Data(values=rows(x=grid, density=part))
        lines.append(
            alt.Chart(data)
            .mark_area(color=COLOURS[k % len(COLOURS)], opacity=0.4)
            .encode(x="x:Q", y="density:Q")
        )
    whole = alt.Data(values=rows(x=grid, density=model.pdf(grid)))
    lines.append(alt.Chart(whole).mark_line(color="black", strokeWidth=1.8).encode(x="x:Q", y="density:Q"))
    return lines


def _thinned(values: Floats) -> Floats:
    """At most as many values as a file should carry for a rug; the extremes stay."""
    if values.size <= _LARGEST_INLINE:
        return values
    return np.quantile(values, np.linspace(0, 1, _LARGEST_INLINE))
