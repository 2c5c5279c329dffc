"""Fit a Gaussian mixture to a sample: K = 1..9, one common variance (E) or one each (V), chosen by BIC.

BIC = 2 loglik - df log n, to be maximised, with df = 2 (K = 1), 2 K (E), 3 K - 1 (V). The text of the report that
this follows (J. Worms, S. Touati, RR-8875, Inria, 2016) penalises with K log n instead; its published fits come
from mclust, which counts the parameters as here.
"""

from __future__ import annotations

from math import isfinite, log, pi, sqrt
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from msgspec import Struct, field

from speedproof.arrays import ArrayLike, FloatArray
from speedproof.data.checked import checked
from speedproof.data.given import numbers_given
from speedproof.data.sample import Alike, Sample
from speedproof.errors import DataError, UsageError
from speedproof.mixture import em
from speedproof.mixture.grid import detect_resolution, tick
from speedproof.mixture.model import MixtureModel, Modes, Numbers
from speedproof.mixture.results import too_few
from speedproof.mixture.search import MOST, MOST_SCOUTED, distinct, of_all_values, table
from speedproof.stats.ranks import ascending

if TYPE_CHECKING:
    from speedproof.mixture.goodness import GoodnessOfFit

Kind = Literal["E", "V", "X"]
Distance = Literal["ks", "observed", "cvm", "ad"]

_LEAST, _MOST = 1e-300, 1e300  # within which densities and sums are doubles
LEAST = 3
"""Values a component, where the number of components is chosen."""


class Candidate(Struct, frozen=True):
    """One of the models that were compared."""

    kind: Kind  # common variance, variances of their own, a single component
    K: int  # components
    # In the unit of the data
    loglik: float
    bic: float


class MixtureFit(Alike, Struct, frozen=True, eq=False):
    """A mixture fitted to a sample.

    Attributes
    ----------
    model : MixtureModel
        In the unit of the sample.
    kind : {"E", "V", "X"}
        Common variance, variances of their own, a single component.
    n : int
        Size of the sample.
    loglik, bic : float
        At the fitted parameters; BIC is the larger the better.
    df : int
        Free parameters.
    candidates : tuple of Candidate
        Every model that could be estimated, the best first.
    converged : bool
        False when EM was stopped at its limit of steps.
    K_max : int
        The largest K that was tried.
    resolution : float or None
        The grid of the values, when the likelihood is that of rounded values.
    values : ndarray, shape (n,)
        The sample, as it was given.

    Examples
    --------
    >>> import speedproof as sp
    >>> m = sp.mixture.fit([10.1, 10.3, 9.9, 10.0, 10.2, 12.9, 13.1, 13.0, 12.8, 13.2])
    >>> m.components, m.means.round(3).tolist(), m.kind
    (2, [10.1, 13.0], 'E')
    """

    model: MixtureModel
    kind: Kind
    n: int
    loglik: float
    bic: float
    df: int
    candidates: tuple[Candidate, ...]
    converged: bool
    K_max: int
    resolution: float | None = None
    values: FloatArray = field(default_factory=lambda: np.empty(0))

    def __str__(self) -> str:
        parts = zip(self.weights.tolist(), self.means.tolist(), self.sds.tolist(), strict=True)
        components = ", ".join(f"{100 * weight:.3g} % at {mean:.4g} ± {sd:.2g}" for weight, mean, sd in parts)
        few = "; fewer than 5 values a component, which may be chance" if self.overfitted else ""
        return (
            f"{self.components} component{'s' * (self.components != 1)} of {self.n} values: {components}{few}"
        )

    def __repr__(self) -> str:
        return f"<MixtureFit: {self}>"

    @property
    def components(self) -> int:
        """K, the number of components."""
        return self.model.components

    @property
    def overfitted(self) -> bool:
        """Whether there are fewer than five values a component, so that components may be chance."""
        return too_few(self.n, self.components)

    @property
    def weights(self) -> FloatArray:
        """Of the components, in order of their means."""
        return self.model.weights

    @property
    def means(self) -> FloatArray:
        """Of the components, ascending."""
        return self.model.means

    @property
    def sds(self) -> FloatArray:
        """Standard deviations of the components."""
        return self.model.sds

    @overload
    def ppf(self, p: float) -> float: ...
    @overload
    def ppf(self, p: Numbers) -> FloatArray: ...
    def ppf(self, p: float | Numbers) -> float | FloatArray:
        """Quantiles."""
        return self.model.ppf(p)

    def modes(self) -> Modes:
        """Peaks of the density, with the valleys between them; their count is the report's I4."""
        return self.model.modes()

    def observations(self) -> tuple[FloatArray, ...]:
        """The values of the sample that fall into each component."""
        return self.model.clusters(self.values)

    @checked()
    def goodness(
        self,
        bootstrap: int = 200,
        seed: int = 0,
        *,
        distance: Distance = "ks",
        undersampling: float | None = None,
        fast: bool = False,
        jobs: int = 1,
    ) -> GoodnessOfFit:
        """Test the mixture by a parametric bootstrap with the choice of K and model.

        Parameters
        ----------
        bootstrap : int
            Samples drawn.
        seed : int
            The same seed gives the same p-value, whatever ``jobs``.
        distance : {"ks", "observed", "cvm", "ad"}
            Kolmogorov and Smirnov's, the same at the observations only, Cramer and von Mises', Anderson and
            Darling's.
        undersampling : float, optional
            Bootstrap samples hold this share of the values; 0.9 by default, 0.8 from 200 values on.
        fast : bool
            Stop adding components to a replicate early.
        jobs : int
            Threads.

        Examples
        --------
        >>> import speedproof as sp
        >>> x = sp.mixture.MixtureModel([0.5, 0.5], [10.0, 20.0], [1.0, 1.0]).rvs(100, seed=1)
        >>> m = sp.mixture.fit(x)
        >>> m.components, bool(m.goodness(bootstrap=100, seed=1).pvalue > 0.05)
        (2, True)
        """
        from speedproof.mixture.goodness import goodness_of_fit

        return goodness_of_fit(
            self.values,
            self,
            N=bootstrap,
            seed=seed,
            c=undersampling,
            fast=fast,
            jobs=jobs,
            distance=distance,
        )


def standardise(values: ArrayLike) -> tuple[FloatArray, float, float]:
    """Sort a sample and remove its location and scale, so that no answer depends on the unit."""
    x = ascending(np.asarray(values, dtype=np.float64).ravel())
    if x.size < 2:
        raise DataError(f"a mixture needs at least two values, not {x.size}")
    if not (isfinite(x[0]) and isfinite(x[-1])):  # sorted: infinities are at the ends, NaN is last
        raise DataError("a mixture needs finite values; leave out what is missing (NaN) or infinite")
    spread = float(x[-1]) - float(x[0])
    if spread == 0.0:
        raise DataError(f"all {x.size} values are equal: a constant sample has no mixture")
    if not (spread > _LEAST and max(-x[0], x[-1]) < _MOST):
        raise DataError(
            f"a mixture needs values below {_MOST:g} that differ by more than {_LEAST:g}: "
            "give them in another unit"
        )
    # Differences from the smallest value, over the range: exact where a mean of large values is not.
    unit = (x - x[0]) / spread
    # As mean() and std() compute them, in a third of their time: most samples are small.
    centre = np.add.reduce(unit) / x.size
    off = unit - centre
    scale = sqrt(np.add.reduce(off * off) / (x.size - 1))
    return off / scale, float(x[0] + spread * centre), spread * scale


@checked("values")
def fit(
    values: ArrayLike | Sample,
    *,
    components: int | None = None,
    K_max: int = 9,
    compatible: bool = False,
    fast: bool = False,
) -> MixtureFit:
    """Fit a mixture by maximum likelihood.

    EM climbs from many starts (:mod:`speedproof.mixture.em`) on standardised values; models whose BIC comes
    near the best are taken to convergence.

    Parameters
    ----------
    values : array_like, shape (n,), or Sample
        The sample, in any order and unit.
    components : int, optional
        The number of components, when it is given and not to be chosen: no two coincide.
    K_max : int
        Largest number of components otherwise; no more than one for three values.
    compatible : bool
        Follow mclust's rules to the letter: values in their own unit, its loose stopping rule. Its answer
        depends on the unit and can change with more iterations; this is for comparisons with R.
    fast : bool
        Choose the mixture of more than 3,000 values (otherwise 10,000) by 250 groups of neighbours (833); all
        values are fitted then.

    Returns
    -------
    MixtureFit
        The model with the largest BIC.

    Raises
    ------
    DataError
        Fewer than two values, a value that is not finite, a constant sample, no mixture of so many components
        of which none coincide, or (``compatible`` only)
        values so small that mclust's absolute limit of variances rules every model out.
    UsageError
        ``K_max`` out of range, or ``compatible`` with ``components`` or ``fast``.

    Examples
    --------
    >>> x = MixtureModel([0.5, 0.5], [10.0, 20.0], [1.0, 1.0]).rvs(100, seed=1)
    >>> f = fit(x)
    >>> f.kind, f.components
    ('E', 2)
    """
    values = values.values if isinstance(values, Sample) else numbers_given(values, None)[0]
    u, centre, scale = standardise(values)
    n = u.size
    asked = f"K_max={K_max}" if components is None else f"components={components}"
    chosen = components is None and not compatible
    K_max = min(K_max if components is None else components, max(n // LEAST, 1) if chosen else n)
    if not 1 <= K_max <= em.K_LIMIT:
        raise UsageError(f"{asked}: expected 1 to {em.K_LIMIT} components")
    if compatible and (fast or components is not None):
        raise UsageError("mclust's rules choose among 1 to K_max and fit all values: no components, no fast")
    if compatible:
        return _as_mclust(values, K_max)
    floor = _rounding(values, u, scale)
    most = MOST_SCOUTED if fast else MOST
    mixtures = table(u, K_max, floor, most=most, every=components is not None)
    if components is not None and 1 < components <= K_max:
        mixtures = distinct(u, K_max, mixtures, floor, most)
    if components is not None:
        mixtures.loglik[: components - 1] = np.nan
    mixtures = of_all_values(u, mixtures, floor, most)
    candidates = ranked_candidates(mixtures.loglik - n * log(scale), n)
    if not candidates:
        raise DataError(f"{n} values support no mixture of {components} components that differ: give fewer")
    place = candidates[0].K - 1, em.V if candidates[0].kind == "V" else em.E
    return fitted(
        values, candidates, mixtures.mixtures[place], mixtures.converged[place], K_max, (centre, scale)
    )


def fitted(
    values: ArrayLike,
    candidates: tuple[Candidate, ...],
    parameters: FloatArray,
    converged: object,
    K_max: int,
    unit: tuple[float, float] = (0.0, 1.0),
    resolution: float | None = None,
) -> MixtureFit:
    """The fit of the first candidate; parameters are of values less the unit's centre, over its scale."""
    x, best, (centre, scale) = np.array(values, dtype=np.float64).ravel(), candidates[0], unit
    w, mu, v = parameters[:, : best.K]
    model = MixtureModel(w, centre + scale * mu, scale * np.sqrt(v))
    df = em.free_parameters(best.K, em.V if best.kind == "V" else em.E)
    return MixtureFit(
        model, best.kind, x.size, best.loglik, best.bic, df, candidates, bool(converged), K_max, resolution, x
    )


def _rounding(values: ArrayLike, u: FloatArray, scale: float) -> float:
    """Smallest deviation, in the unit of u, that the grid or the ticks of the values leave; 0 without them."""
    step = 0.0 if (u[1:] > u[:-1]).all() else (detect_resolution(values) or 0.0) / scale
    return max(step, tick(u) or 0.0) / sqrt(2.0 * pi)


def _as_mclust(values: ArrayLike, K_max: int) -> MixtureFit:
    row = np.sort(np.asarray(values, dtype=np.float64).ravel())[np.newaxis]
    mixtures = em.search(row, em.quantile_starts(row, K_max, as_mclust=True), K_max, em.MCLUST)
    candidates = ranked_candidates(mixtures.loglik[0], row.size)
    if not candidates:
        raise DataError(
            "no mixture can be estimated: every variance falls below mclust's absolute limit; scale the values"
        )
    (K, model), steps = mixtures.best[0], mixtures.steps[0]
    return fitted(values, candidates, mixtures.parameters[0], steps[K - 1, model] > 0, K_max)


def ranked_candidates(loglik: FloatArray, n: int) -> tuple[Candidate, ...]:
    """What could be estimated, in order of BIC; of equals the one with fewer components, E before V."""
    penalty = log(n)
    candidates = []
    for K, (common, separate) in enumerate(loglik.tolist(), start=1):
        if isfinite(common):
            kind: Kind = "X" if K == 1 else "E"
            candidates.append(Candidate(kind, K, common, 2.0 * common - 2 * K * penalty))
        if isfinite(separate):
            candidates.append(Candidate("V", K, separate, 2.0 * separate - (3 * K - 1) * penalty))
    candidates.sort(key=attrgetter("bic"), reverse=True)  # stable: equals stay in order
    return tuple(candidates)
