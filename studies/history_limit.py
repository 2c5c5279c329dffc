"""How often any test can find a step in a short history: a table of docs/tables.md.

    python -m studies.history_limit

The step is of 2 deviations, 8 before the end of 20 commits of independent normal noise. The tests are likelihood
ratios of the directions of centred values, so level and scale do not matter to them: a step up or down at places
that are alike, its size and the autoregression beside it as likely as told, against the autoregressions for which
the risk of 5 % has to hold, mixed so that it holds for each (Neyman and Pearson; E. L. Lehmann, J. P. Romano,
"Testing Statistical Hypotheses", theorem 3.8.1). Where size and autoregression are those of the series, no test
whose risk holds finds more, on average over places. Columns: share that is shown, and that is shown with the
likeliest five places around the right one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from studies.change_points import autoregressive

from speedproof.arrays import FloatArray, IntArray
from speedproof.stats.change_points import change_pvalues, find_changes
from speedproof.stats.normal_scores import normal_scores

COMMITS, AT, STEP, RISK, SERIES, NEAR = 20, 12, 2.0, 0.05, 12_000, 2
MARGIN, ROUNDS = 3, 300
PLACES = tuple(range(MARGIN, COMMITS - MARGIN + 1))
FREE = COMMITS - 1
CONTRASTS = np.linalg.svd(np.eye(COMMITS) - 1.0 / COMMITS)[0][:, :FREE].T
ALL_RHO, ALL_SIZES = (0.0, 0.15, 0.3, 0.45, 0.6), (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
LENGTHS, PROJECTED = np.linspace(1e-3, 45.0, 3000), np.linspace(-40.0, 40.0, 1601)
LOGS = (FREE - 1) * np.log(LENGTHS) - 0.5 * LENGTHS**2 + np.outer(PROJECTED, LENGTHS)
INTEGRALS = np.logaddexp.reduce(LOGS, axis=1) + math.log(LENGTHS[1] - LENGTHS[0])
Prepared = tuple[FloatArray, FloatArray, IntArray, FloatArray]


def log_densities(u: FloatArray, rho: float, size: float, places: Sequence[int]) -> FloatArray:
    """Of directions with a step at each of the places, up or down, the length integrated out: a row a place.

    D. E. Tyler, "Statistical analysis for the angular central Gaussian distribution", Biometrika 74(3), 1987.
    """
    lags = np.abs(np.subtract.outer(np.arange(COMMITS), np.arange(COMMITS)))
    inverse = np.linalg.inv(CONTRASTS @ rho**lags @ CONTRASTS.T)
    squares = np.einsum("ij,jk,ik->i", u, inverse, u)
    found = []
    for place in places:
        step = CONTRASTS @ (size * (np.arange(COMMITS) >= place))
        projected = u @ (inverse @ step) / np.sqrt(squares)
        both = [np.interp(sign * projected, PROJECTED, INTEGRALS) for sign in (1.0, -1.0)]
        found.append(np.logaddexp(*both) - math.log(2.0) - 0.5 * float(step @ inverse @ step))
    return np.asarray(0.5 * np.linalg.slogdet(inverse)[1] - FREE / 2.0 * np.log(squares) + np.array(found))


def prepared(
    x: FloatArray,
    sizes: Sequence[float],
    beside: Sequence[float],
    places: Sequence[int],
    null: Sequence[float],
) -> Prepared:
    """Logarithms of the likelihood of a step, and of one at the likeliest five places; those; of no step."""
    centred = x @ CONTRASTS.T
    u = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    steps = np.logaddexp.reduce([log_densities(u, rho, size, places) for rho in beside for size in sizes])
    near = np.abs(np.subtract.outer(places, places)) <= NEAR
    of_near = np.array([np.logaddexp.reduce(steps[row]) for row in near])
    without = np.array([log_densities(u, rho, 0.0, (AT,))[0] for rho in null])
    return np.logaddexp.reduce(steps), of_near.max(axis=0), np.array(places)[of_near.argmax(axis=0)], without


def best(
    sizes: Sequence[float],
    beside: Sequence[float],
    null: Sequence[float] = ALL_RHO,
    places: Sequence[int] = PLACES,
    of: Callable[[FloatArray], FloatArray] = np.asarray,
) -> tuple[float, float]:
    """Shares that the best test shows and finds."""
    rng = np.random.default_rng(29)
    same = [autoregressive(rng, (SERIES, COMMITS), rho) for rho in null]
    changed = rng.standard_normal((SERIES, COMMITS)) + STEP * (np.arange(COMMITS) >= AT)
    *nulls, (_, likely, place, without) = (
        prepared(of(x), sizes, beside, places, null) for x in (*same, changed)
    )
    weights = np.full(len(null), 1.0 / len(null))
    for k in range(ROUNDS):  # more weight to where the risk is larger
        ratios = [one[1] - mixed(one[3], weights) for one in nulls]
        joint = np.concatenate(ratios)
        order = np.argsort(-joint)
        limit = joint[order][np.cumsum(np.repeat(weights / SERIES, SERIES)[order]).searchsorted(RISK)]
        risks = np.array([float((one > limit).mean()) for one in ratios])
        weights *= np.exp(min(20.0, 400.0 / (k + 5)) * (risks - RISK))
        weights /= weights.sum()
    limit = max(np.quantile(one[1] - mixed(one[3], weights), 1.0 - RISK) for one in nulls)
    shown = likely - mixed(without, weights) > limit
    return float(shown.mean()), float((shown & (np.abs(place - AT) <= NEAR)).mean())


def mixed(without: FloatArray, weights: FloatArray) -> FloatArray:
    """Of no step, the autoregressions weighed."""
    return np.asarray(np.logaddexp.reduce(without + np.log(np.maximum(weights, 1e-300))[:, None]))


def ours() -> tuple[float, float]:
    """Shares that speedproof shows and finds."""
    rng = np.random.default_rng(29)
    x = rng.standard_normal((SERIES // 3, COMMITS)) + STEP * (np.arange(COMMITS) >= AT)
    near = [any(abs(change.split - AT) <= NEAR for change in find_changes(row, RISK)) for row in x]
    return float((change_pvalues(x) <= RISK).mean()), float(np.mean(near))


def main() -> None:
    """Print the table."""
    rows: dict[str, Callable[[], tuple[float, float]]] = {
        "place and size, independent noise beside it; risk up to AR .6": lambda: best(
            (STEP,), (0.0,), places=(AT,)
        ),
        "size, independent noise; risk of independent noise": lambda: best((STEP,), (0.0,), (0.0,)),
        "the same; risk up to AR .3": lambda: best((STEP,), (0.0,), ALL_RHO[:3]),
        "the same; risk up to AR .6": lambda: best((STEP,), (0.0,)),
        "the same by normal scores; risk up to AR .6": lambda: best((STEP,), (0.0,), of=normal_scores),
        "none of it (1 to 10 deviations, AR 0 to .6)": lambda: best(ALL_SIZES, ALL_RHO),
        "none of it, by normal scores": lambda: best(ALL_SIZES, ALL_RHO, of=normal_scores),
        "speedproof": ours,
    }
    print("| | shown | found |\n|---|---|---|")
    for name, of in rows.items():
        shown, found = of()
        print(f"| {name} | {100 * shown:.0f} % | {100 * found:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
