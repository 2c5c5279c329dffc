"""Charts of samples beside histograms: distribution functions, runs in order, violins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from speedproof.mixture.model import MixtureModel
from speedproof.plots.grammar import COLOURS, Chart, load_altair, places, rows

__all__ = ["cumulative", "run_order", "violins"]


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
    alt = load_altair()
    x = np.sort(np.asarray(values, dtype=np.float64))
    steps, counts = np.unique(x, return_counts=True)
    above = np.cumsum(counts) / x.size
    fitted = model.cdf(steps)
    gaps = np.stack([np.abs(above - fitted), np.abs(above - counts / x.size - fitted)])
    side, at = np.unravel_index(int(gaps.argmax()), gaps.shape)
    step = float(above[at] - (counts[at] / x.size if side else 0.0))
    grid = places(x, model)
    empirical = rows(x=np.concatenate([grid[:1], steps, grid[-1:]]), F=np.concatenate([[0.0], above, [1.0]]))
    scale = alt.Scale(zero=False, nice=False)
    y = alt.Y("F:Q", title="share of runs at most", scale=alt.Scale(domain=[0, 1]))
    return (
        alt.layer(
            alt.Chart(alt.Data(values=empirical))
            .mark_line(interpolate="step-after", color=COLOURS[0], strokeWidth=1.6)
            .encode(x=alt.X("x:Q", title=axis, scale=scale), y=y),
            alt.Chart(alt.Data(values=rows(x=grid, F=model.cdf(grid))))
            .mark_line(color="black", strokeWidth=1.4, strokeDash=[5, 3])
            .encode(x="x:Q", y="F:Q"),
            alt.Chart(alt.Data(values=[{"x": float(steps[at]), "F": step, "to": float(fitted[at])}]))
            .mark_rule(color=COLOURS[1], strokeWidth=3)
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
    alt = load_altair()
    x = np.asarray(values, dtype=np.float64)
    label = np.zeros(x.size, dtype=np.int64) if model is None else model.labels(x)
    names = [str(k + 1) for k in range(1 if model is None else model.components)]
    data = rows(run=np.arange(1, x.size + 1), value=x, component=[names[k] for k in label])
    colour = alt.Color(
        "component:N",
        scale=alt.Scale(domain=names, range=[COLOURS[k % len(COLOURS)] for k in range(len(names))]),
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
    alt = load_altair()
    names = list(samples)
    outlines, marks = [], []
    for i, (values, model) in enumerate(zip(samples.values(), models, strict=True)):
        x = np.asarray(values, dtype=np.float64)
        grid = places(x, model)
        logs = model.logpdf(grid)
        half = 0.42 * np.exp(logs - logs.max())
        outlines += rows(value=grid, left=i - half, right=i + half, version=[names[i]] * grid.size)
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
        .mark_area(orient="horizontal", opacity=0.7, color=COLOURS[0])
        .encode(y=value, x=place, x2="right:Q", detail="version:N"),
        alt.Chart(alt.Data(values=marks))
        .mark_point(color="black", filled=True, size=36)
        .encode(y="value:Q", x=alt.X("place:Q")),
    ).properties(width=max(240, 90 * len(names)), height=320, title=title)
