"""A sample's mixture in one call: fit, test, modes and run order, as plain numbers; and what people ask of it.

Beside the mixtures four families with two parameters: the largest likelihood, BIC, and a test of the fit.
Log-normal, gamma and Weibull begin at zero; a shifted exponential begins at the smallest value. The test is that
of mixtures: the distance of Kolmogorov and Smirnov against samples drawn from the fit, each fitted anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import BoolArray, FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.mixture.fitting import LEAST, Distance, MixtureFit, fit
from speedproof.mixture.goodness import goodness_of_fit
from speedproof.mixture.grid import detect_resolution
from speedproof.mixture.metrics import compare
from speedproof.mixture.model import MixtureModel, Modes
from speedproof.mixture.modes import clear_modes, mode_order, runs_in
from speedproof.mixture.results import (
    ALPHA,
    FEW_RUNS,
    LIMITS_RISK,
    Analysis,
    Answered,
    Component,
    Family,
    FitTest,
    Indices,
    Mode,
    Models,
    Questions,
    Versus,
)
from speedproof.mixture.rounding import fit_rounded, goodness_of_rounded, rounding_matters
from speedproof.stats.quantile_ratio import quantile_limits
from speedproof.stats.ranks import ascending
from speedproof.stats.scaling import mean
from speedproof.stats.special import bisected, gamma_cdf, gamma_shape, ndtr

MOST_TESTED = 4_000
"""Of larger samples so many values, drawn at random, are tested: the bootstrap fits every sample it draws."""

_LEAST_PROCESSES = 10
_How = Mapping[str, Any]


def analyse(
    sample: Sample,
    *,
    N: int = 200,
    seed: int = 0,
    components: int | None = None,
    compatible: bool = False,
    K_max: int = 9,
    distance: Distance | None = None,
    c: float | None = None,
    fast: bool = False,
    rounding: bool = True,
    others: bool = False,
    jobs: int = 1,
) -> Analysis:
    """Fit a sample, test the fit, and describe its modes and its run order.

    Of values nested in processes one a process; what is not independent even then is not tested. ``compatible``
    is VARCORE: mclust's mixture, every peak of it a mode, bootstrap samples of full size, and Kolmogorov and
    Smirnov's distance at the observations. ``others`` adds families with two parameters.
    """
    distance = distance or ("observed" if compatible else "ks")
    c = 1.0 if compatible and c is None else c
    used, note = independent(sample)
    x = used.values
    ordered = ascending(x)
    # Any two values lie equally far from their normal distribution.
    tests = N if components is None and not used.nested and x.size >= LEAST else 0
    fitting = {"components": components, "compatible": compatible, "fast": fast and not compatible}
    testing = {"c": c, "fast": fast, "jobs": jobs, "distance": distance}
    rounding = rounding and not compatible and distance == "ks"
    fitted, test = fit_and_test(x, tests, seed, {"K_max": K_max, **fitting}, testing, rounding=rounding)
    model = fitted.model
    parts = tuple(
        Component(*map(float, row)) for row in zip(model.weights, model.means, model.sds, strict=True)
    )
    clear = fitted.modes() if compatible else clear_modes(fitted)
    modes = _peaks(clear, ordered) if compatible else modes_of(fitted, clear, ordered)
    analysis = Analysis(
        x.size, fitted.kind, parts, modes, fitted.loglik, fitted.bic, fitted.converged,
        fitted.resolution, test, mode_order(x, clear, seed=seed), note, compatible,
        at_limit=components is None and fitted.components == K_max,
    )  # fmt: skip
    if others:
        some = used.values
        if tests and some.size > MOST_TESTED:
            some = np.random.default_rng(seed).choice(some, MOST_TESTED, replace=False)
        analysis = replace(analysis, families=families(used.values, N=tests, seed=seed, tested=some))
    return analysis


def fit_and_test(
    x: FloatArray, N: int, seed: int, fitting: _How, testing: _How, *, rounding: bool = True
) -> tuple[MixtureFit, FitTest | None]:
    """Fit independent values, and test the fit by N samples; one that is rejected may allow for rounding."""
    ordered = ascending(x)
    fitted = fit(ordered, **fitting)
    if not N:
        return fitted, None
    drawn, some, of_some = None, ordered, fitted
    if x.size > MOST_TESTED:
        drawn = MOST_TESTED
        some = np.random.default_rng(seed).choice(x, drawn, replace=False)
        of_some = fit(some, **fitting)
    result = goodness_of_fit(some, of_some, N=N, seed=seed, **testing)
    if rounding and result.rejected(ALPHA) and rounding_matters(some):
        resolution = detect_resolution(some)
        if resolution is not None:
            of_some = fitted = fit_rounded(some, resolution, K_max=fitting.get("K_max", 9))
            result = goodness_of_rounded(some, of_some, N=N, seed=seed)
    critical = result.critical(ALPHA) if N * ALPHA >= 1 else None
    return fitted, FitTest(result.distance, result.pvalue, critical, N, result.size, result.fast, drawn)


def _peaks(modes: Modes, x: FloatArray) -> tuple[Mode, ...]:
    """Every peak, the share of the runs around it and its depth."""
    depths = np.concatenate([[np.inf], modes.dips, [np.inf]])
    nearest = np.minimum(depths[:-1], depths[1:]).tolist()
    dips = (1.0 - float(np.exp(-depth)) if np.isfinite(depth) else None for depth in nearest)
    shares = (runs_in(modes, x) / x.size).tolist()
    return tuple(map(Mode, modes.places.tolist(), shares, dips))


def modes_of(fitted: MixtureFit, modes: Modes, x: FloatArray) -> tuple[Mode, ...]:
    """Those of five runs or more; others belong to the mode on their side of the valley."""
    shown = modes.among(np.flatnonzero(runs_in(modes, x) >= FEW_RUNS))
    parts = np.split(x, np.searchsorted(x, shown.valleys, side="right"))
    return tuple(
        replace(mode, place=_place(fitted.model, mode.place, mode.share, part))
        for mode, part in zip(_peaks(shown, x), parts, strict=False)  # of no mode there is one part
    )


def _place(model: MixtureModel, peak: float, share: float, runs: FloatArray) -> float:
    """Where a mode lies: at its peak, or at the median of its runs where a minority of them makes the peak."""
    spike = float(model.weights[model.labels(peak)]) < 0.5 * share
    return float(np.median(runs)) if spike and runs.size else peak


def independent(sample: Sample) -> tuple[Sample, str]:
    """One value a process where there are processes enough for a mixture, and what was done, in words."""
    if not sample.nested:
        return sample, ""
    count = sample.process_count
    if count >= _LEAST_PROCESSES:
        return sample.per_process("median"), f"{count} processes, one value each: the median of its values"
    return sample, (
        f"{sample.n} values of {count} process{'es' if count > 1 else ''} are not independent: no test; "
        f"measure {_LEAST_PROCESSES} processes or more"
    )


def answers(asked: Questions, sample: Sample, a: Analysis) -> Answered:
    """What the mixture of one sample answers."""
    model = _model_of(a)
    units = sample.per_process("median") if sample.nested else sample
    return Answered(
        [(p, float(model.ppf(p))) for p in asked.quantiles],
        [quantile_limits(units.values, p, LIMITS_RISK) for p in asked.quantiles],
        [(v, float(model.cdf(v))) for v, _ in asked.below],
        [part.tolist() for part in model.clusters(sample.values)] if asked.observations else None,
    )


def indices(asked: Questions, models: Models) -> list[Indices | None]:
    """I1 to I4 of each version of each benchmark, where they are asked for."""
    if not asked.metrics:
        return [None] * len(models)
    of: dict[tuple[Key, str], Indices] = {}
    for key in dict.fromkeys(key for key, *_ in models):
        group = [m for m in models if m[0] == key]
        values, mixtures = [s.values for _, _, s, _ in group], [_model_of(a) for *_, a in group]
        both = tuple(compare(forms, delta=asked.delta[0]) for forms in (values, mixtures))
        gaps, below, least = (
            np.stack(forms, axis=-1).tolist()
            for forms in zip(*((form.gaps, form.below, form.least) for form in both), strict=True)
        )
        for i, (_, version, *_) in enumerate(group):
            others = tuple(
                Versus(other, tuple(gaps[i][j]), tuple(below[i][j]))
                for j, (_, other, *_) in enumerate(group)
                if i != j
            )
            of[key, version] = Indices(others, tuple(least[i]), (both[1].modes or ())[i])
    return [of[key, version] for key, version, *_ in models]


def _model_of(a: Analysis) -> MixtureModel:
    return MixtureModel(*zip(*((c.weight, c.mean, c.sd) for c in a.components), strict=True))


_STEPS = 60
_LEAST = 1e-12  # a spread of logarithms below which values are the same


class _Kind(Struct, frozen=True):
    """A family of distributions; samples are rows with a mean of about 1, with two parameters each."""

    names: tuple[str, str]
    sized: tuple[bool, bool]  # which parameters are in the unit of the values
    fit: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    log_density: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    cdf: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    draw: Callable[[np.random.Generator, float, float, tuple[int, int]], FloatArray]


def _fit_lognormal(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    logs = np.log(x)
    return np.exp(logs.mean(axis=1, keepdims=True)), logs.std(axis=1, keepdims=True)


def _fit_gamma(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = x.mean(axis=1, keepdims=True)
    shape = gamma_shape(-np.log(x / mean).mean(axis=1, keepdims=True))
    return mean / shape, shape


def _fit_exponential(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    start = x.min(axis=1, keepdims=True)
    return start, x.mean(axis=1, keepdims=True) - start


def _fit_weibull(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The shape by bisection on the score, whose sign changes once; the scale follows."""
    logs = np.log(np.maximum(x / x.max(axis=1, keepdims=True), np.finfo(float).tiny))
    mean = logs.mean(axis=1, keepdims=True)
    middle = 1.2825 / np.maximum(logs.std(axis=1, keepdims=True), _LEAST)  # of moments

    def above(at: FloatArray) -> BoolArray:
        powers = np.exp(np.exp(at) * logs)
        weighted = (powers * logs).sum(axis=1, keepdims=True) / powers.sum(axis=1, keepdims=True)
        return np.asarray(weighted - mean > np.exp(-at))

    low, high = bisected(above, np.log(middle / 30.0), np.log(middle * 30.0), _STEPS)
    shape = np.exp(0.5 * (low + high))
    scale = np.exp(shape * logs).mean(axis=1, keepdims=True) ** (1.0 / shape)
    return scale * x.max(axis=1, keepdims=True), shape


def _log_lognormal(x: FloatArray, median: FloatArray, sigma: FloatArray) -> FloatArray:
    return -0.5 * (np.log(x / median) / sigma) ** 2 - np.log(x * sigma) - 0.5 * math.log(2.0 * math.pi)


def _log_gamma(x: FloatArray, scale: FloatArray, shape: FloatArray) -> FloatArray:
    constant = math.lgamma(float(shape[0, 0]))
    return (shape - 1.0) * np.log(x / scale) - x / scale - np.log(scale) - constant


def _log_exponential(x: FloatArray, start: FloatArray, scale: FloatArray) -> FloatArray:
    return -(x - start) / scale - np.log(scale)


def _log_weibull(x: FloatArray, scale: FloatArray, shape: FloatArray) -> FloatArray:
    return np.log(shape / scale) + (shape - 1.0) * np.log(x / scale) - (x / scale) ** shape


_KINDS = {
    "log-normal": _Kind(
        ("median", "sigma"), (True, False), _fit_lognormal, _log_lognormal,
        lambda x, median, sigma: ndtr(np.log(x / median) / sigma),
        lambda rng, median, sigma, size: median * rng.lognormal(0.0, sigma, size),
    ),
    "gamma": _Kind(
        ("scale", "shape"), (True, False), _fit_gamma, _log_gamma,
        lambda x, scale, shape: gamma_cdf(x / scale, shape),
        lambda rng, scale, shape, size: scale * rng.gamma(shape, size=size),
    ),
    "shifted exponential": _Kind(
        ("start", "scale"), (True, True), _fit_exponential, _log_exponential,
        lambda x, start, scale: np.asarray(-np.expm1((start - x) / scale)),
        lambda rng, start, scale, size: start + rng.exponential(scale, size),
    ),
    "Weibull": _Kind(
        ("scale", "shape"), (True, False), _fit_weibull, _log_weibull,
        lambda x, scale, shape: np.asarray(-np.expm1(-((x / scale) ** shape))),
        lambda rng, scale, shape, size: scale * rng.weibull(shape, size),
    ),
}  # fmt: skip


def families(
    values: FloatArray, *, N: int = 0, seed: int = 0, tested: FloatArray | None = None
) -> tuple[Family, ...]:
    """Every family that values above zero can be of, the largest BIC first.

    ``N`` bootstrap samples test each, 0 for no test, of the values ``tested`` where these are others.
    """
    unit = mean(values)
    if not (values.min() > 1e-300 * unit and np.log(values / unit).std() > _LEAST):
        return ()
    rows, some = ((x / unit)[None] for x in (values, values if tested is None else tested))
    results = []
    for number, (name, kind) in enumerate(_KINDS.items()):
        parameters = kind.fit(rows)
        loglik = float(kind.log_density(rows, *parameters).sum()) - values.size * math.log(unit)
        fitted = zip(kind.names, parameters, kind.sized, strict=True)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        results.append(
            Family(
                name,
                tuple((of, float(p[0, 0]) * (unit if sized else 1.0)) for of, p, sized in fitted),
                loglik,
                2.0 * loglik - 2.0 * math.log(values.size),
                _pvalue(kind, some, N, rng) if N else None,
            )
        )
    return tuple(sorted(results, key=lambda family: -family.bic))


def _pvalue(kind: _Kind, row: FloatArray, N: int, rng: np.random.Generator) -> float:
    """The share of samples drawn from the fit that lie farther from theirs."""
    a, b = (float(p[0, 0]) for p in kind.fit(row))
    drawn = kind.draw(rng, a, b, (N, row.shape[1]))
    observed, others = _distances(kind, row), _distances(kind, np.maximum(drawn, np.finfo(float).tiny))
    return float((others > observed[0] * (1.0 - 1e-9)).mean())


def _distances(kind: _Kind, rows: FloatArray) -> FloatArray:
    """The Kolmogorov-Smirnov distance of each row to its own fit."""
    rows = np.sort(rows, axis=1)
    n = rows.shape[1]
    F = kind.cdf(rows, *kind.fit(rows))
    steps = np.arange(n + 1) / n
    # Of equal values the last has the step above, the first that below: the rest only lie between.
    return np.asarray(np.maximum((steps[1:] - F).max(axis=1), (F - steps[:-1]).max(axis=1)))
