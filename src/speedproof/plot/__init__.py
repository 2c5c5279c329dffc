"""Pictures of samples, mixtures and speedups, on matplotlib: for a paper, a notebook or a pull request.

Each function draws into ``ax`` (a new one without it) and returns it; :func:`save` writes its figure. Matplotlib
is the optional extra ``plot`` and imported when the first picture is drawn.
"""

from speedproof.plot.canvas import check_output, save
from speedproof.plot.samples import (
    cdfs,
    density,
    ellipses,
    histogram,
    histograms,
    order,
    qq,
    violins,
)
from speedproof.plot.speedups import forest, forest_size
from speedproof.stats.axes import window

__all__ = [
    "cdfs",
    "check_output",
    "density",
    "ellipses",
    "forest",
    "forest_size",
    "histogram",
    "histograms",
    "order",
    "qq",
    "save",
    "violins",
    "window",
]  # fmt: skip
