"""The questions that may be asked of two samples: what the command line, the suite and the reports iterate over.

A new question costs its module and an entry here. What answers it is imported when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from speedproof.arrays import ArrayPair, FloatArray, batches
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.options import HEADLINE, QUANTILES, QuestionName, quantile_name, quantile_of
from speedproof.protocols.mean import means
from speedproof.protocols.noise_floor import over_the_floor
from speedproof.protocols.pair import DEFAULT, UNNAMED, PreparedPairs, Rules, Sides
from speedproof.protocols.results import Comparison
from speedproof.protocols.typical import single_runs, typical_runs, typical_sides
from speedproof.protocols.units import blocks_of
from speedproof.stats.permutation import least_pvalue, one_order
from speedproof.stats.power import runs_needed_means, runs_needed_ranks
from speedproof.stats.ratio import scaled
from speedproof.stats.scaling import in_common_unit


def _later(module: str, function: str) -> Callable[..., Any]:
    """A function that imports its implementation when it is first called."""

    def called(*args: Any, **more: Any) -> Any:
        return getattr(import_module(f"speedproof.{module}"), function)(*args, **more)

    return called


class Question(Struct, frozen=True):
    """A question with the protocol that answers it."""

    name: QuestionName  # of the protocol, as in results and after ``--protocol``
    title: str  # over a column
    where: str  # as it follows "the candidate is faster": ``"in mean"``
    quantity: Literal["speedup", "probability"]  # what its estimate is
    ask: Callable[[PreparedPairs], list[Comparison]]  # from pairs and rules to one answer a pair
    # What stands for a process in which several values are nested
    location: Literal["mean", "median"] = "mean"
    # From both samples and the risk to the runs that would find the difference
    forecast: Callable[[FloatArray, FloatArray, float], ArrayPair] = runs_needed_means
    # From both sizes to the smallest p-value that samples of these sizes can have
    least_pvalue: Callable[[int, int], float] = lambda n, m: 0.0
    # The sides to test, where `location` alone does not determine them
    own_sides: Callable[[PreparedPairs], Sequence[Sides]] | None = None

    def sides(self, prepared: PreparedPairs) -> Sequence[Sides]:
        """The sides of every pair that the test compares, in order."""
        return self.own_sides(prepared) if self.own_sides else prepared.sides(self.location)

    def runs_needed(self, asked: Sequence[tuple[Sides, float, float]]) -> list[tuple[float, float]]:
        """The units of each side needed to show the observed difference.

        Asked of sides, the fast one taken so many times as long, at a risk.
        """
        needed = [(0.0, 0.0)] * len(asked)
        risks = list(dict.fromkeys(alpha for *_, alpha in asked))
        for rows in batches(
            (s.slow.size + s.fast.size, s.slow.size, s.paired, risks.index(alpha)) for s, _, alpha in asked
        ):
            sides, times, alphas = zip(*(asked[row] for row in rows), strict=True)
            slow, fast = in_common_unit(
                np.stack([side.slow for side in sides]), np.stack([side.fast for side in sides])
            )
            forecast = _later("stats.paired_ratio", "runs_needed_pairs") if sides[0].paired else self.forecast
            of_x, of_y = forecast(*scaled(slow, fast, np.array(times)[:, None]), alphas[0])
            for row, *runs in zip(rows, of_x.tolist(), of_y.tolist(), strict=True):
                needed[row] = runs[0], runs[1]
        return needed


def _allowing_for_looks(
    ask: Callable[[PreparedPairs], list[Comparison]], q: float | None, prepared: PreparedPairs
) -> list[Comparison]:
    """The answers to a question, of what was looked at in blocks by the test that allows for it."""
    blocks = [blocks_of(pair) for pair in prepared.pairs]
    if not any(blocks):
        return ask(prepared)
    from speedproof.protocols.in_blocks import in_blocks

    planned = [pair for pair, taken in zip(prepared.pairs, blocks, strict=True) if taken is None]
    others = iter(ask(PreparedPairs(planned, prepared.rules)))
    sides = prepared.sides("median")
    return [
        next(others) if taken is None else in_blocks(side, taken, prepared.rules, q)
        for side, taken in zip(sides, blocks, strict=True)
    ]


def _of_quantile(q: float) -> Question:
    name = quantile_name(q)
    asked = partial(_later("protocols.quantile", "quantile_question"), q)
    return Question(
        name,
        name.upper(),
        f"at {name.upper()}",
        "speedup",
        partial(_allowing_for_looks, asked, q),
        "median",
        partial(_later("stats.quantile_ratio", "runs_needed_quantiles"), q=q),
        partial(_later("stats.quantile_ratio", "least_pvalue"), q),
        _later("protocols.quantile", "quantile_sides"),
    )


class _Questions(dict[str, Question]):
    """By name; a quantile of any share is there when it is asked."""

    def __missing__(self, name: str) -> Question:
        q = quantile_of(name)
        if q is None:
            raise KeyError(name)
        return _of_quantile(q)


QUESTIONS: dict[str, Question] = _Questions(
    (question.name, question)
    for question in (
        Question(
            "typical",
            "Typical run",
            "on a typical run",
            "speedup",
            partial(_allowing_for_looks, typical_runs, None),
            "median",
            runs_needed_ranks,
            least_pvalue,
            typical_sides,
        ),
        Question("mean", "Mean", "in mean", "speedup", means),
        Question(
            "median",
            "Median",
            "in median",
            "speedup",
            _later("protocols.median", "medians"),
            "median",
            runs_needed_ranks,
            one_order,
        ),
        Question(
            "single run",
            "P[faster run]",
            "on a single run",
            "probability",
            single_runs,
            "median",
            runs_needed_ranks,
            least_pvalue,
        ),
        Question(
            "touati2009",
            "2009 protocol",
            "by the 2009 protocol",
            "speedup",
            _later("protocols.touati2009", "compare_2009"),
        ),
        *map(_of_quantile, QUANTILES.values()),
    )
)
"""By name, in the order in which they are shown."""


def headline_of(protocols: Iterable[str]) -> str:
    """The question whose answers make the rows: the headline, or the first that was asked."""
    asked = list(protocols)
    return HEADLINE if HEADLINE in asked else next(iter(asked), HEADLINE)


def answers(name: str, prepared: PreparedPairs) -> list[Comparison]:
    """What a question's protocol says of every pair, held against the noise floor where there is one."""
    return over_the_floor(QUESTIONS[name].ask(prepared), prepared.pairs, prepared.rules.floor)


def ask(
    name: str, reference: Sample, candidate: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED
) -> Comparison:
    """Ask one question about one pair of samples."""
    return answers(name, PreparedPairs([Pair(key, reference, candidate)], rules))[0]
