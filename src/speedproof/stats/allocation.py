"""How many builds, processes and iterations: the cheapest way to a given precision, from a pilot.

A measurement has levels, the highest first: builds, processes of a build, iterations of a process. The grand mean
of ``N[0]`` builds with ``N[1]`` processes in all and ``N[2]`` iterations in all has the variance
``V = sum_i s[i]**2 / N[i]``, where ``s[i]**2`` is what level i adds, and costs ``C = sum_i c[i] N[i]`` where
``c[i]`` is what one more unit of level i costs beside the levels below it.

By the inequality of Cauchy and Schwarz ``V C >= (sum_i s[i] sqrt(c[i]))**2``, with equality exactly when
``N[i]`` is proportional to ``s[i] / sqrt(c[i])``. So each unit of level i - 1 gets

    r[i] = N[i] / N[i - 1] = (s[i] / s[i - 1]) sqrt(c[i - 1] / c[i])

units of level i, whatever precision is asked (T. Kalibera, R. Jones, "Rigorous
benchmarking in reasonable time", ISMM 2013, equation 6);
the number of the highest level follows from the precision. Whole numbers are the better of the neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# A level above that adds nothing would ask for any number of units below: one more is then never wasted by much.
_MOST = 1000


def variance_components(values: npt.ArrayLike) -> tuple[float, ...]:
    """What each level adds to the variance of one value, the highest level first."""
    means = np.asarray(values, dtype=np.float64)
    components: list[float] = []
    below = 0.0  # the variance that the levels below give to the mean of one unit
    while means.ndim:
        variance = float(np.var(means, axis=-1, ddof=1).mean())
        components.append(max(variance - below, 0.0))
        below = variance / means.shape[-1]
        means = means.mean(axis=-1)
    return tuple(reversed(components))


def repetitions(variances: Sequence[float], costs: Sequence[float]) -> tuple[int, ...]:
    """How many units of each lower level one unit of the level above it gets."""
    choices = []
    for i in range(1, len(variances)):
        above, here = variances[i - 1], variances[i]
        exact = math.sqrt(here / above * costs[i - 1] / costs[i]) if above > 0 else _MOST * (here > 0)
        low = max(1, min(math.floor(exact), _MOST))
        choices.append((low, min(low + 1, _MOST)))

    def product(counts: tuple[int, ...]) -> float:
        units = np.cumprod((1, *counts))
        return float((np.asarray(variances) / units).sum() * (np.asarray(costs) * units).sum())

    return min(itertools.product(*choices), key=product)
