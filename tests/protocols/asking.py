"""One question about one pair of samples, and what else is asked as by a user who gives no options."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy.typing as npt
from studies.scores import entries_of_scores

from speedproof.conclude.claims import StopRules
from speedproof.data.suite import Pair, Suite
from speedproof.protocols import aggregates, hpt, modes, planning, ranking
from speedproof.protocols.hpt_levels import HptRule
from speedproof.protocols.noise_floor import NoiseFloor
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import answers, ask
from speedproof.protocols.results import Hpt, SuiteRanking

compare_means, compare_medians = partial(ask, "mean"), partial(ask, "median")
compare_typical, compare_single_runs = partial(ask, "typical"), partial(ask, "single run")
compare_2009 = partial(ask, "touati2009")
# What the documented defaults of the face are, below which there are none.
compare_modes = partial(modes.compare_modes, alpha=0.05)
rank_runs = partial(ranking.rank_runs, alpha=0.05, K_max=9, resamples=200, seed=0, jobs=1)
plan_runs = partial(planning.plan_runs, alpha=0.05)


def geometric_means(pairs: Sequence[Pair]) -> aggregates.GeometricMeans:
    found = aggregates.geometric_means(answers("mean", PreparedPairs(pairs)), alpha=0.05)
    assert found is not None
    return found


def log_ratios(pairs: Sequence[Pair], floor: NoiseFloor | None = None) -> aggregates.LogRatios:
    return aggregates.log_ratios(answers("mean", PreparedPairs(pairs, Rules(floor=floor))))


def rank_suite(
    suite: Suite,
    metric: str = "time",
    versions: Sequence[str] = (),
    alpha: float = 0.05,
    question: str = "typical",
) -> SuiteRanking:
    return ranking.rank_suite(suite, metric, versions or suite.versions, Rules(alpha), question=question)


def stop_rules(*, alpha: float = 0.05, max_time: float | None = 60.0, **rules: Any) -> StopRules:
    return StopRules(alpha=alpha, max_time=max_time, **rules)


def hpt_of_scores(
    x: Sequence[npt.ArrayLike],
    y: Sequence[npt.ArrayLike],
    *,
    names: Sequence[str] | None = None,
    level: float | None = None,
    **options: Any,
) -> Hpt:
    return hpt.hpt(entries_of_scores(x, y, names, level), **options)


def claims(
    entries: Sequence[hpt.HptEntry],
    *,
    confidence: float = 0.95,
    speedups: Sequence[float] = (),
    rule: HptRule = "exact",
) -> hpt.HptClaims:
    answer = hpt.hpt(entries, [confidence], rule=rule)
    return hpt.claims(entries, answer, speedups=speedups, rule=rule, literal_signs=False)


def hpt_of_pairs(pairs: Sequence[Pair], *, level: float | None = None, **options: Any) -> Hpt:
    return hpt.hpt(hpt.entries_of_pairs(pairs, level), **options)
