"""Charts of samples and mixtures, in one grammar for SVG, PNG, PDF and HTML.

Each function takes values and models and returns an Altair chart; :func:`save` writes it. Altair and
vl-convert are the optional extra ``plots``; no browser is needed.
"""

from speedproof.plots.grammar import check_output, save
from speedproof.plots.histograms import comparison, histogram, window
from speedproof.plots.samples import cumulative, run_order, violins

__all__ = [
    "check_output",
    "comparison",
    "cumulative",
    "histogram",
    "run_order",
    "save",
    "violins",
    "window",
]
