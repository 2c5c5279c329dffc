"""What all pictures share: matplotlib when it is needed, one look, the part of the values shown and how finely."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.data.names import visible_lines
from speedproof.declaring import check_place
from speedproof.errors import UsageError
from speedproof.mixture.model import MixtureModel
from speedproof.stats.axes import Window, window
from speedproof.stats.special import ndtri

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


FORMATS = ("svg", "png", "pdf", "html")
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000", "#ee8866")
"""Colours of components, told apart by colour-blind readers (P. Tol's bright scheme and two more)."""
BLUE, ACCENT, GREY = "#4477aa", "#bb3344", "#8a8a8a"
DASHED: dict[str, Any] = {"linestyle": "--", "linewidth": 1.0}
WIDTH, HEIGHT = 6.4, 4.0
SMALL = 8.0  # points of text beside the axes' labels and titles
MARK = 4.5  # points
FEW = 500  # marks that are told apart
LONGEST = 40  # letters of a name
GRID = 601  # places along an axis, one in its middle
_DPI = 200
_LETTERS = 12  # of a title for an inch
_LINE = 1.4 * SMALL  # points from a line of small text to the next
_STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans", "sans-serif"],
    "svg.fonttype": "none",  # text stays text: it can be searched, selected and read aloud
    "svg.hashsalt": "speedproof",  # names of clip paths do not change from run to run
    "pdf.fonttype": 42,
    "text.usetex": False,
}


def matplotlib() -> Any:
    """The library, or an error that names the remedy."""
    try:
        return import_module("matplotlib")
    except ImportError as error:
        raise UsageError(
            f"pictures need {error.name}, which is not installed: pip install matplotlib"
        ) from None


def new_figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """A figure of its own, outside pyplot's list: nothing to close, no window, no backend chosen."""
    with matplotlib().rc_context(_STYLE):
        return import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")  # type: ignore[no-any-return]


def axes_or_new(ax: Axes | None, width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """The axes given, or new ones that a notebook shows; either without a box around them."""
    if ax is None:
        with matplotlib().rc_context(_STYLE):
            pyplot = import_module("matplotlib.pyplot")
            ax = pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()
    assert ax is not None
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    return ax


def panels(
    count: int, height: float, title: str, note: str, *, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of panels on one axis, under each other and so high in all, with a title and a note."""
    figure = new_figure(WIDTH, 0.8 + height)
    figure.suptitle(plain(f"{title}\n{note}" if title else note), x=0.01, ha="left", fontsize=SMALL)
    axes = figure.subplots(count, 1, sharex=True, sharey=sharey, squeeze=False)[:, 0]
    return figure, [axes_or_new(ax) for ax in axes]


def finished(
    ax: Axes, title: str, left_out: Iterable[str] = (), legend: dict[str, Any] | None = None, **settings: Any
) -> Axes:
    """The axes with labels and limits, a legend where its settings are given, and their caption."""
    ax.set(**{name: plain(value) if isinstance(value, str) else value for name, value in settings.items()})
    if legend is not None:
        ax.legend(fontsize=SMALL, frameon=False, **legend)
    caption(ax, title, left_out)
    return ax


def lay_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Light lines behind everything else."""
    ax.grid(axis=axis, color="#e5e5e5", linewidth=0.6)
    ax.set_axisbelow(True)


def of_runs(count: int) -> str:
    """The number of runs, for a legend."""
    return f"{count} {'run' if count == 1 else 'runs'}"


def named(name: str, count: int) -> str:
    """A version and its number of runs, for a legend."""
    return f"{plain(name, LONGEST)} ({of_runs(count)})"


def marks(count: int) -> dict[str, Any]:
    """The look of so many marks: many are small, and no file holds each of very many."""
    size = MARK if count <= FEW else MARK / 2
    return {"linestyle": "none", "markersize": size, "markeredgewidth": 0.0, "rasterized": count > 20_000}


def line_of(k: int) -> dict[str, Any]:
    """The look of a version's line: after the last colour the first in other dashes."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": ("-", "-.", ":")[k // len(COLOURS) % 3]}


def beside(ax: Axes) -> dict[str, Any]:
    """Settings of a legend right of the axes; without a layout that makes room there, in the emptiest place."""
    if ax.figure.figure.get_layout_engine() is None:
        return {}
    return {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}


def caption(ax: Axes, title: str, notes: Iterable[str] = (), colour: str = ACCENT) -> None:
    """A title at the left, and below it notes: in red what the picture leaves out."""
    notes = list(notes)
    room = round(_LETTERS * ax.bbox.width / ax.figure.dpi)
    ax.set_title(
        plain(title, room), loc="left", fontsize="medium", fontweight="bold", pad=(0.6 + len(notes)) * _LINE
    )
    for line, text in enumerate(reversed(notes)):
        ax.annotate(
            plain(text),
            (0, 1),
            xytext=(0, (0.4 + line) * _LINE),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=SMALL,
            color=colour,
        )


def plain(text: str, longest: int = 100) -> str:
    """Names as they are: no formula between dollar signs, nothing that SVG must not have, no middle too long."""
    lines = (
        line if len(line) <= longest else f"{line[: longest // 2]}…{line[-longest // 2 + 1 :]}"
        for line in visible_lines(text).split("\n")
    )
    return "\n".join(lines).replace("$", r"\$")


def plain_log_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis: plain numbers, even ones where it spans less than a power of ten."""
    from matplotlib.ticker import AutoLocator, FuncFormatter, LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    powers = math.log10(high) - math.log10(low)
    subs = (1.0, 2.0, 5.0) if powers < 4 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs) if powers > 1 else AutoLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(NullLocator())


def check_output(path: str | Path) -> None:
    """Refuse a path that no picture can be written to, before anything is drawn.

    Raises
    ------
    UsageError
        An unknown ending, a folder that is not there, or matplotlib is not installed.

    Examples
    --------
    >>> check_output("sort.bmp")
    Traceback (most recent call last):
        ...
    speedproof.errors.UsageError: sort.bmp: a picture is written as .svg, .png, .pdf, .html
    """
    if Path(path).suffix.lower().lstrip(".") not in FORMATS:
        raise UsageError(f"{path}: a picture is written as .{', .'.join(FORMATS)}")
    check_place(path)
    matplotlib()


def save(picture: Axes | Figure, path: str | Path) -> None:
    """Write the figure of a picture to a file, byte for byte the same each time.

    Parameters
    ----------
    picture : Axes or Figure
        From a function of this module.
    path : str or Path
        Ends in ``.svg``, ``.png``, ``.pdf`` or ``.html``; the HTML page works without a network.

    Raises
    ------
    UsageError
        Another ending, or matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import speedproof as sp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sp.plot.save(sp.plot.histogram([3.0, 1.0, 2.0]), Path(folder, "sort.svg"))
    ...     Path(folder, "sort.svg").stat().st_size > 1000
    True
    """
    check_output(path)
    ending = Path(path).suffix.lower().lstrip(".")
    content = _rendered(picture, "svg" if ending == "html" else ending)
    if ending == "html":
        svg = content.decode()
        page = (
            f'<!doctype html>\n<meta charset="utf-8">\n<title>speedproof</title>\n{svg[svg.index("<svg") :]}'
        )
        content = page.encode()
    Path(path).write_bytes(content)


def _rendered(picture: Axes | Figure, ending: str) -> bytes:
    figure: Any = picture
    while figure is not figure.figure:  # from axes, perhaps by way of a subfigure
        figure = figure.figure
    dated: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    content = io.BytesIO()
    with matplotlib().rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box stands for what no font here has
        figure.savefig(content, format=ending, dpi=_DPI, metadata=dated[ending], facecolor="white")
    return content.getvalue()


Model = MixtureModel | None  # of a sample, where it has one
Models = Sequence[Model] | None
Samples = Mapping[str, ArrayLike]

_CELLS = 1024
_FEWEST = 5  # values whose distance says how dense they are
_TINY = float(np.finfo(np.float64).tiny)  # what differs by less differs by nothing


def on_one_axis(
    samples: Samples, models: Models = None
) -> tuple[list[tuple[str, FloatArray, Model]], Window]:
    """Versions with their values and mixtures, and the range to draw of them all."""
    arrays = [np.asarray(values, dtype=np.float64) for values in samples.values()]
    lows, highs = zip(*map(window, arrays), strict=True)
    mixtures = models or [None] * len(arrays)
    return list(zip(samples, arrays, mixtures, strict=True)), (min(lows), max(highs))


def within(x: FloatArray, seen: Window) -> FloatArray:
    """The values inside a window."""
    return x[(x >= seen[0]) & (x <= seen[1])]


def thinned(x: FloatArray) -> FloatArray:
    """As many quantiles of many values as marks can be told apart."""
    return x if x.size <= FEW else np.quantile(x, np.linspace(0, 1, FEW))


def beyond(x: FloatArray, seen: Window) -> list[str]:
    """The values outside a window, in words."""
    ends = ((x[x < seen[0]], np.min, "down to"), (x[x > seen[1]], np.max, "up to"))
    return [
        f"{values.size} of {x.size} values, {words} {farthest(values):.4g}, "
        + (
            "lies beyond the axis and is not drawn"
            if values.size == 1
            else "lie beyond the axis and are not drawn"
        )
        for values, farthest, words in ends
        if values.size
    ]


def widened(seen: Window, share: float = 0.02) -> Window:
    """A window with a margin, also around a single value."""
    spread = seen[1] - seen[0]
    margin = share * (spread if spread > _TINY else abs(seen[0])) or 0.5
    return seen[0] - margin, seen[1] + margin


def places(model: MixtureModel, seen: Window) -> FloatArray:
    """Places that show every component: even over the window, denser around each mean."""
    around = (model.means[:, None] + model.sds[:, None] * np.linspace(-4, 4, 81)).ravel()
    return np.unique(np.concatenate([np.linspace(*seen, GRID), within(around, seen)]))


def bins(x: FloatArray, least: float) -> FloatArray:
    """At least 8 bins, at most 80; more than Freedman and Diaconis want, whose width several modes mislead.

    None is narrower than `least`, which one bin alone may need more than the values' range for: then it is as
    wide, or 1 where nothing is known of widths.
    """
    spread = float(np.ptp(x))
    if spread <= max(least, _TINY):
        half = 0.5 * (least if least > _TINY else 1.0)
        middle = 0.5 * x.min() + 0.5 * x.max()
        return np.array([middle - half, middle + half])
    quartiles = np.quantile(x, [0.25, 0.75])
    width = 2.0 * float(quartiles[1] - quartiles[0]) / np.cbrt(x.size)
    wanted = max(spread / width if width > 0 else math.inf, 2.0 * np.sqrt(x.size))
    count = int(min(np.clip(np.ceil(wanted), 8, 80), spread / least))
    return np.linspace(x.min(), x.max(), count + 1)


def kernel_density(values: ArrayLike, at: ArrayLike, *, least: float = 0.0) -> FloatArray:
    """Density by Gaussian kernels.

    Values are counted in 1024 cells first: a million cost no more than a thousand.
    """
    x, grid = np.asarray(values, dtype=np.float64), np.asarray(at, dtype=np.float64)
    width = max(_bandwidth(x), least)
    spread = float(np.ptp(x))
    if x.size > _CELLS and 0.0 < spread < 0.25 * _CELLS * width:
        weights, cells = np.histogram(x, bins=_CELLS)
        centres = 0.5 * (cells[:-1] + cells[1:])
    else:
        centres, weights = np.unique(x, return_counts=True)
    density = np.zeros(grid.size)
    for start in range(0, centres.size, _CELLS):
        z = (grid[:, None] - centres[None, start : start + _CELLS]) / width
        density += np.exp(-0.5 * z * z) @ weights[start : start + _CELLS]
    return np.asarray(density / (x.size * width * np.sqrt(2.0 * np.pi)))


def _bandwidth(x: FloatArray) -> float:
    """As is best for a normal distribution as dense as the densest quarter: several modes do not widen it."""
    x, n = np.sort(x), x.size
    for count in (max(n // 4, min(n - 1, _FEWEST)), n - 1):
        densest = float((x[count:] - x[: n - count]).min())
        if densest > 0.0:
            deviation = densest / (2.0 * float(ndtri(0.5 + 0.5 * count / n)))
            return 1.06 * deviation * math.pow(np.unique(x).size, -0.2)
    return 0.0
