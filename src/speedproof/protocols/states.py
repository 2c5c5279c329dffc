"""Two versions by the states that their runs fall into: how far apart, and what changed.

Gaussian mixtures are fitted to both samples; see :mod:`speedproof.mixture`. Nested values are taken as they
come: a state is a property of a run, wherever it ran.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from speedproof.data.suite import Pair
from speedproof.errors import DataError
from speedproof.mixture.changes import ModeChanges, compare_modes, states
from speedproof.mixture.fit import fit
from speedproof.mixture.metrics import expected_gap, probability_below
from speedproof.mixture.model import MixtureModel
from speedproof.stats.scaling import MOST_APART, exponent

__all__ = ["StateComparison", "compare_states"]

_LEAST = 10


@dataclass(frozen=True, slots=True)
class StateComparison:
    """What the distributions of two samples say beyond their locations.

    Attributes
    ----------
    benchmark, metric : str
        What was compared.
    unit : str
        The base unit of places and gap.
    reference_states, candidate_states : tuple of float
        Where the modes of each mixture lie, those without a clear valley between them counted once.
    changes : ModeChanges
        The states matched, with what changed.
    gap : float
        I1 = E|X - Y|.
    candidate_lower : float
        I2 = P[Y < X], ties not counted.
    """

    benchmark: str
    metric: str
    unit: str
    reference_states: tuple[float, ...]
    candidate_states: tuple[float, ...]
    changes: ModeChanges
    gap: float
    candidate_lower: float


def compare_states(pair: Pair, *, seed: int = 0) -> StateComparison | None:
    """Fit a mixture to each sample and match their states.

    Parameters
    ----------
    pair : Pair
        The two samples.
    seed : int
        Of the intervals.

    Returns
    -------
    StateComparison or None
        None when a sample has fewer than ten values or a single one many times, or is 1e100 times smaller than the
        other: no mixture says anything of it.

    Examples
    --------
    >>> from speedproof.data.sample import Sample
    >>> from speedproof.data.suite import Key
    >>> rng = np.random.default_rng(1)
    >>> fast, slow = rng.normal(10, 0.1, 80), rng.normal(12, 0.1, 40)
    >>> x, y = Sample(np.concatenate([fast[:40], slow])), Sample(fast[40:])
    >>> found = compare_states(Pair(Key("sort"), x, y))
    >>> len(found.reference_states), len(found.candidate_states), found.changes.conclusion
    (2, 1, 'the states differ: 1 state vanished')
    """
    shift = exponent(pair.reference.values, pair.candidate.values)
    x, y = (np.ldexp(sample.values, shift) for sample in (pair.reference, pair.candidate))
    sizes = [float(np.abs(v).max()) for v in (x, y)]
    if min(sizes) < max(sizes) / MOST_APART:
        return None
    if min(x.size, y.size) < _LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    try:
        models = (fit(x).model, fit(y).model)
    except DataError:
        return None
    return StateComparison(
        benchmark=pair.key.benchmark,
        metric=pair.key.metric,
        unit=pair.reference.unit,
        reference_states=_places(models[0], shift),
        candidate_states=_places(models[1], shift),
        changes=compare_modes(x, y, models, seed=seed).shifted(-shift),
        gap=math.ldexp(expected_gap(x, y), -shift),
        candidate_lower=probability_below(y, x),
    )


def _places(model: MixtureModel, shift: int) -> tuple[float, ...]:
    return tuple(math.ldexp(place, -shift) for place in states(model).places.tolist())
