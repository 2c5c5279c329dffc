"""How many runs a comparison needs that is to find an effect of a given size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from speedproof.api.given import no_step, of_metric, options_of, question_given, rules_of
from speedproof.data.checked import checked
from speedproof.data.given import metric_given, sample
from speedproof.data.names import plural, version_given
from speedproof.data.suite import Key, Pair, Suite
from speedproof.declaring import proportion_given
from speedproof.errors import DataError, UsageError
from speedproof.options import HEADLINE, Judging
from speedproof.protocols.planning import PowerPlan, plan_power
from speedproof.protocols.questions import QUESTIONS
from speedproof.reporting.model import Report, to_json
from speedproof.reporting.planning import of_power
from speedproof.reporting.shown import Shown


class PlanResult(Shown, Struct, frozen=True):
    """How many runs find an effect. ``print`` shows what ``speedproof compare --power`` adds.

    Attributes
    ----------
    plans : tuple of PowerPlan
        One for each benchmark.
    problems : tuple of str
        What could not be planned, and why.

    Examples
    --------
    >>> import speedproof as sp
    >>> pilot = [10.1, 10.3, 9.9, 10.0, 10.2, 9.8]
    >>> found = sp.plan(pilot, effect=0.05, protocol="mean", unit="ms")
    >>> found, [size.power for size in found.plans[0].sizes]
    (<PlanResult: 1 benchmark>, [0.8, 0.9])
    """

    plans: tuple[PowerPlan, ...]
    problems: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[PowerPlan]:
        """The plans, benchmark by benchmark."""
        return iter(self.plans)

    @property
    def runs(self) -> int | None:
        """The runs of each version that find the effect of the only benchmark in 8 of 10 comparisons."""
        if len(self.plans) != 1:
            raise UsageError(f"there are {len(self.plans)} plans: [p.sizes[0].runs for p in result]")
        return self.plans[0].sizes[0].runs

    def reports(self) -> Iterable[Report]:
        """The result in words, for every format."""
        return [of_power(self.plans, self.problems)]

    def to_json(self) -> str:
        """Everything, in the envelope of all results."""
        return to_json("plan", self.plans)

    def __repr__(self) -> str:
        return f"<PlanResult: {plural(len(self.plans), 'benchmark')}>"


@checked("pilot", "unit")
def plan(
    pilot: Any,
    *,
    effect: float | str,
    unit: str | None = None,
    reference: str | None = None,
    candidate: str | None = None,
    metric: str | None = None,
    confidence: float | str = 0.95,
    protocol: str = HEADLINE,
    quantile: float | str | None = None,
    seed: int = 0,
    done: Callable[[], None] = no_step,
) -> PlanResult:
    """Plan how many runs find an effect, by simulation from a pilot under the very test that will be used.

    Parameters
    ----------
    pilot : Suite, Sample or array_like
        Five runs or more of one version, or of two.
    effect : float or str
        The speedup to be found: ``0.02`` or ``"2%"`` for 1.02.
    unit : str, optional
        Of an array, see :func:`speedproof.sample`.
    reference, candidate : str, optional
        The versions of a suite; by default the first, and the second where there is one.
    metric : str, optional
        Its name; by default the main one.
    confidence : float or str
        Of the verdict that is to be reached.
    protocol : str
        Whose test is to find it: ``"typical"``, ``"mean"``, ``"median"``, ``"single run"``, ``"touati2009"`` or a
        quantile, ``"p97.5"``.
    quantile : float or str, optional
        The same, of any quantile.
    seed : int
        Of all random numbers.
    done : callable
        Called after each benchmark.

    Returns
    -------
    PlanResult
        The runs of each version that find it in 8 and in 9 of 10 comparisons, each with an interval.

    Raises
    ------
    SpeedproofError
        A pilot that is too small, or an effect that is none.

    Examples
    --------
    >>> import numpy as np
    >>> import speedproof as sp
    >>> pilot = np.random.default_rng(0).normal(10.0, 0.3, 30)
    >>> found = sp.plan(pilot, effect="2%", protocol="mean", unit="ms")
    >>> 20 < found.runs < 60
    True
    """
    share = proportion_given("effect", effect)
    protocol = question_given(protocol, QUESTIONS, quantile)
    rules = rules_of(options_of(Judging, confidence=confidence))
    plans, problems = [], []
    for pair in _pairs(pilot, unit, reference, candidate, metric):
        try:
            plans.append(plan_power(pair, share, protocol, rules, seed))
        except DataError as error:
            problems.append(str(error))
        done()
    if not plans:
        raise DataError(problems[0] if problems else "the pilot has no runs")
    return PlanResult(tuple(plans), tuple(problems))


def _pairs(
    pilot: Any, unit: str | None, reference: str | None, candidate: str | None, metric: str | None
) -> list[Pair]:
    """Both sides of every benchmark; twice the same where there is one version."""
    if not isinstance(pilot, Suite):
        one = sample(pilot, unit=unit)
        return [Pair(Key("benchmark", metric_given(one)), one, one)]
    suite = of_metric(pilot, metric)
    if len(suite.versions) == 1 and reference is None:
        return [Pair(key, one, one) for (key, _), one in suite.samples.items()]
    first, others = suite.sides(reference)
    return list(suite.pair(first, version_given(candidate or others[0], others)).pairs)
