"""Whether one version outperforms another over a whole suite, by Hierarchical Performance Testing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

from speedproof.api.given import two_versions
from speedproof.data.checked import checked
from speedproof.data.names import left_out
from speedproof.data.suite import Suite
from speedproof.declaring import EXAMPLES, proportion_given
from speedproof.errors import Parameter, UsageError
from speedproof.protocols.caveats import machine_speeds
from speedproof.protocols.hpt import AS_GIVEN, CONFIDENCES, RELATIVE, claims, entries_of_pairs
from speedproof.protocols.hpt import hpt as tested
from speedproof.protocols.hpt_levels import HptRule
from speedproof.reporting.hpt import HptResult
from speedproof.stats.estimate import alpha_at

# Units of costs; for other units it is unknown that low values are good.
_COSTS = ("s", "B", "J", "cycles")


@checked()
def hpt(
    suite: Suite,
    *,
    reference: str | None = None,
    candidate: str | None = None,
    metric: str | None = None,
    confidences: Sequence[float | str] = CONFIDENCES,
    speedups: Sequence[float] = (),
    scores: Literal["relative", "given"] = "relative",
    alpha_benchmark: float | None = None,
    rule: HptRule = "exact",
    literal_signs: bool = False,
) -> HptResult:
    """Ask whether one version outperforms another over a whole suite.

    Parameters
    ----------
    suite : Suite
        With the benchmarks of both.
    reference, candidate : str, optional
        The versions; by default the first, and the other one where there are two.
    metric : str, optional
        The main one of the suite by default.
    confidences : sequence of float or str
        Values of r for the r-speedup.
    speedups : sequence of float
        Say with which confidence the winner is more than this much faster.
    scores : {"relative", "given"}
        Ratios of both versions, so that every benchmark and both directions count alike, or the values as they
        are: scores, higher is better.
    alpha_benchmark : float, optional
        Risk of the test within a benchmark, below 0.5.
    rule : {"exact", "paper"}
        Null distributions: exact given the ties, or the article's tables and approximations.
    literal_signs : bool
        Keep a difference of medians that contradicts the test within the benchmark, as the article does.

    Returns
    -------
    HptResult
        The winner and the confidence in it; ``r_speedup`` of any confidence.

    Raises
    ------
    SpeedproofError
        No benchmark that both have, or values that make no scores.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> 0 < sp.hpt(suite).confidence < 1
    True
    """
    for speedup in speedups:
        if not 0 < speedup < math.inf:
            raise UsageError(f"speedups={speedup}: expected factors, positive and finite")
    asked = (proportion_given("confidences", r, EXAMPLES["LEVEL"]) for r in confidences)
    levels = tuple(dict.fromkeys(asked)) or CONFIDENCES
    first, second = two_versions(suite, reference, candidate, "HPT")
    metric = suite.main_metric if metric is None else metric
    if metric not in suite.metrics:
        raise UsageError(f"there is no metric {metric}; HPT takes one of {', '.join(suite.metrics)}")
    pairing = suite.pair(first, second)
    pairs = tuple(p for p in pairing.pairs if p.key.metric == metric)
    alone = ((first, pairing.only_reference), (second, pairing.only_candidate))
    lost = left_out((key.benchmark, f"only {version} has it") for version, keys in alone for key in keys)
    problems = (*lost, *(f"left out: {problem}" for problem in pairing.problems))
    if not pairs:
        raise UsageError(
            "\n  ".join([f"no benchmark of {first} can be compared with one of {second}", *problems])
        )
    given = scores == "given"
    for pair in (
        p for p in pairs if given and p.reference.unit in _COSTS and not p.reference.higher_is_better
    ):
        raise UsageError(
            f"{pair.key.benchmark}: lower is better for values in {pair.reference.unit}, and higher for "
            "scores that are given; leave ",
            Parameter("scores", "given"),
            " out, and they are made scores",
        )
    entries = entries_of_pairs(pairs, alpha_benchmark, given=given)
    kind = AS_GIVEN if given else RELATIVE
    test = partial(tested, entries, rule=rule, literal_signs=literal_signs, scores=kind)
    answer = test(levels)  # refuses confidences that a double cannot distinguish from 0
    claimed = partial(claims, entries, answer, speedups=speedups, rule=rule, literal_signs=literal_signs)
    suite, machine = suite.select(metric=metric), machine_speeds(pairing.read_of(metric), alpha_at(levels[0]))
    return HptResult(first, second, answer, claimed, tuple(speedups), pairs, problems, test, machine, suite)
