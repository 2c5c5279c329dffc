"""The summary of a sample whose values may be of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from speedproof.data.sample import Sample
from speedproof.protocols.comparison import Summary, summarise
from speedproof.stats.scaling import exponent

__all__ = ["summary_of"]


def summary_of(sample: Sample, used: Sample) -> Summary:
    """Reduce a sample to its summary, where sums and squares would leave the range of doubles, too.

    Parameters
    ----------
    sample : Sample
        As measured.
    used : Sample
        What the protocol worked on.

    Returns
    -------
    Summary
        Of the values used. Only a spread that is itself beyond the largest double is infinite.

    Examples
    --------
    >>> s = Sample(np.array([1.7e308, 1.5e308]))
    >>> summary_of(s, s).mean
    1.6e+308
    """
    shift = exponent(used.values)
    if not shift:
        return summarise(sample, used)
    found = summarise(sample, replace(used, values=np.ldexp(used.values, shift)))

    def back(value: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -shift))

    return replace(
        found,
        mean=back(found.mean),
        median=back(found.median),
        minimum=float(used.values.min()),
        deviation=back(found.deviation),
        mad=back(found.mad),
    )
