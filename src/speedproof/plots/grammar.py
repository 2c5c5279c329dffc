"""What all charts share: Altair, colours, places of curves, and files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from speedproof.errors import UsageError
from speedproof.mixture.model import MixtureModel

__all__ = [
    "COLOURS",
    "HEIGHT",
    "WIDTH",
    "Chart",
    "Floats",
    "Window",
    "check_output",
    "load_altair",
    "places",
    "rows",
    "save",
]

Floats = npt.NDArray[np.float64]
Window = tuple[float, float]
"""The smallest and the largest value that a chart draws."""
Chart = Any
"""An Altair chart; Altair is optional, and so are its types."""

FORMATS = ("svg", "png", "pdf", "html")
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000", "#ee8866")
"""Colours of components, told apart by colour-blind readers (P. Tol's bright scheme and two more)."""
WIDTH, HEIGHT = 520, 300

_GRID = 400


def load_altair() -> Any:
    """Altair, or an error that names the remedy."""
    try:
        altair = import_module("altair")
        import_module("vl_convert")
    except ImportError as error:
        raise UsageError(
            f"charts need {error.name}, which is not installed: pip install altair vl-convert-python"
        ) from None
    return altair


def places(values: Floats, model: MixtureModel, seen: Window | None = None) -> Floats:
    """Places that show every component: even over the range, denser around each mean."""
    low = min(float(values.min()), float((model.means - 3 * model.sds).min()))
    high = max(float(values.max()), float((model.means + 3 * model.sds).max()))
    if seen is not None:
        low, high = max(low, seen[0]), min(high, seen[1])
    around = (model.means[:, None] + model.sds[:, None] * np.linspace(-4, 4, 81)).ravel()
    return np.unique(
        np.concatenate([np.linspace(low, high, _GRID), around[(around > low) & (around < high)]])
    )


def rows(**columns: npt.ArrayLike) -> list[dict[str, Any]]:
    """Columns as the rows that Vega takes."""
    names = list(columns)
    lists = [np.asarray(c).tolist() for c in columns.values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def check_output(path: str | Path) -> None:
    """Refuse a path that no chart can be written to, before anything is drawn.

    Raises
    ------
    UsageError
        An unknown ending, or Altair is not installed.
    """
    if Path(path).suffix.lower().lstrip(".") not in FORMATS:
        raise UsageError(f"{path}: a chart is written as .{', .'.join(FORMATS)}")
    load_altair()


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
