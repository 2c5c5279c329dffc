"""A sample's mixture in one call: fit, test, modes and run order, as plain numbers; and what people ask of it."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.errors import UsageError
from speedproof.mixture.families import families
from speedproof.mixture.fitting import MixtureFit, fit
from speedproof.mixture.goodness import Distance, goodness_of_fit
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
    FitTest,
    Indices,
    Mode,
    Models,
    Questions,
    Versus,
)
from speedproof.mixture.rounding import fit_rounded, goodness_of_rounded, rounding_matters
from speedproof.mixture.search import MOST_SCOUTED
from speedproof.stats.quantile_ratio import quantile_limits
from speedproof.stats.scaling import exponent

MOST_TESTED = 4_000
"""Of larger samples so many values, drawn at random, are tested: the bootstrap fits every sample it draws."""

_LEAST_PROCESSES = 10
_LARGEST = float(np.finfo(float).max)


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
    shift = exponent(used.values)  # to a unit in which densities and squares are doubles, and back
    x = np.ldexp(used.values, shift)
    brief = fast and not compatible
    fitted = fit(x, components=components, K_max=K_max, compatible=compatible, fast=brief)
    test = None
    if N > 0 and components is None and not used.nested:
        drawn, some, of_some = None, x, fitted
        if x.size > MOST_TESTED:
            drawn = MOST_TESTED
            some = np.random.default_rng(seed).choice(x, drawn, replace=False)
            of_some = fit(some, K_max=K_max, compatible=compatible, fast=brief)
        result = goodness_of_fit(some, of_some, N=N, seed=seed, c=c, fast=fast, jobs=jobs, distance=distance)
        if (
            rounding
            and not compatible
            and distance == "ks"
            and result.rejected(ALPHA)
            and rounding_matters(some)
        ):
            resolution = detect_resolution(some)
            if resolution is not None:
                of_some = fitted = fit_rounded(some, resolution, K_max=K_max)
                result = goodness_of_rounded(some, of_some, N=N, seed=seed)
        critical = result.critical(ALPHA) if N * ALPHA >= 1 else None
        test = FitTest(result.distance, result.pvalue, critical, N, result.size, result.fast, drawn)
    if brief and x.size > MOST_SCOUTED and fitted.resolution is None:
        quick = f"chosen by {MOST_SCOUTED:,} quantiles, which may miss a component of few values"
        note = f"{note}; {quick}" if note else quick
    model = fitted.model
    parts = tuple(
        Component(*map(float, row)) for row in zip(model.weights, model.means, model.sds, strict=True)
    )
    clear = fitted.modes() if compatible else clear_modes(fitted)
    modes = _peaks(clear, x) if compatible else _modes(fitted, clear, x)
    analysis = Analysis(
        x.size, fitted.kind, parts, modes, fitted.loglik, fitted.bic, fitted.converged,
        fitted.resolution, test, mode_order(x, clear, seed=seed), note, compatible,
    )  # fmt: skip
    analysis = _in_unit(analysis, shift) if shift else analysis
    if others:
        tests, some = (N if components is None and not used.nested else 0), used.values
        if tests and some.size > MOST_TESTED:
            some = np.random.default_rng(seed).choice(some, MOST_TESTED, replace=False)
        analysis = replace(analysis, families=families(used.values, N=tests, seed=seed, tested=some))
    return analysis


def _in_unit(analysis: Analysis, shift: int) -> Analysis:
    """The analysis of a sample from that of the sample times 2^shift."""

    def back(value: float) -> float:
        with np.errstate(over="ignore"):  # a mean of the largest doubles may exceed them by its rounding
            return float(np.clip(np.ldexp(value, -shift), -_LARGEST, _LARGEST))

    density = analysis.n * shift * float(np.log(2.0))
    return replace(
        analysis,
        components=tuple(Component(c.weight, back(c.mean), back(c.sd)) for c in analysis.components),
        modes=tuple(replace(mode, place=back(mode.place)) for mode in analysis.modes),
        loglik=analysis.loglik + density,
        bic=analysis.bic + 2.0 * density,
        resolution=None if analysis.resolution is None else back(analysis.resolution),
    )


def _peaks(modes: Modes, x: FloatArray) -> tuple[Mode, ...]:
    """Every peak, the share of the runs around it and its depth."""
    depths = np.concatenate([[np.inf], modes.dips, [np.inf]])
    nearest = np.minimum(depths[:-1], depths[1:]).tolist()
    dips = (1.0 - float(np.exp(-depth)) if np.isfinite(depth) else None for depth in nearest)
    shares = (runs_in(modes, x) / x.size).tolist()
    return tuple(map(Mode, modes.places.tolist(), shares, dips))


def _modes(fitted: MixtureFit, modes: Modes, x: FloatArray) -> tuple[Mode, ...]:
    """Those of five runs or more."""
    label, counts = np.searchsorted(modes.valleys, x), runs_in(modes, x).tolist()
    return tuple(
        replace(mode, place=_place(fitted.model, mode.place, mode.share, x[label == k]))
        for k, mode in enumerate(_peaks(modes, x))
        if counts[k] >= FEW_RUNS
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
        [(v, float(model.cdf(v))) for v, unit in asked.below if _fits(unit, sample)],
        [part.tolist() for part in model.clusters(sample.values)] if asked.observations else None,
    )


def indices(asked: Questions, models: Models) -> list[Indices | None]:
    """I1 to I4 of each version of each benchmark, where they are asked for."""
    delta, unit = asked.delta
    if not asked.metrics or (delta and not all(_fits(unit, sample) for _, _, sample, _ in models)):
        return [None] * len(models)
    of: dict[tuple[Key, str], Indices] = {}
    for key in dict.fromkeys(key for key, *_ in models):
        group = [m for m in models if m[0] == key]
        values, mixtures = [s.values for _, _, s, _ in group], [_model_of(a) for *_, a in group]
        both = compare(values, delta=delta), compare(mixtures, delta=delta)
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


def _fits(unit: str, sample: Sample) -> bool:
    if unit in ("", sample.unit):
        return True
    raise UsageError(
        f"the values of {sample.label or 'a sample'} are in {sample.unit or 'no unit'}, not in {unit}"
    )
