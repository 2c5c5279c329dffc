"""One question about one pair of samples, and Hierarchical Performance Testing of what is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Pair
from speedproof.protocols import hpt
from speedproof.protocols.pair import DEFAULT, UNNAMED, Rules
from speedproof.protocols.questions import DETAILS, ask
from speedproof.protocols.results import Comparison

compare_means, compare_medians = partial(ask, "mean"), partial(ask, "median")
compare_typical, compare_single_runs = partial(ask, "typical"), partial(ask, "single run")
compare_2009 = partial(ask, "touati2009")


def compare_samples(
    x: Sample, y: Sample, rules: Rules = DEFAULT, key: Key = UNNAMED, protocols: Sequence[str] = DETAILS
) -> tuple[Comparison, ...]:
    return tuple(ask(protocol, x, y, rules, key) for protocol in protocols)


def hpt_of_scores(
    x: Sequence[npt.ArrayLike],
    y: Sequence[npt.ArrayLike],
    *,
    names: Sequence[str] | None = None,
    level: float | None = None,
    **options: Any,
) -> hpt.Hpt:
    return hpt.hpt(hpt.entries_of_scores(x, y, names, level), **options)


def hpt_of_pairs(pairs: Sequence[Pair], *, level: float | None = None, **options: Any) -> hpt.Hpt:
    return hpt.hpt(hpt.entries_of_pairs(pairs, level), **options)
