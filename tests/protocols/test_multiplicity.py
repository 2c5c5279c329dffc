"""Controlled verdicts: Holm and Benjamini-Hochberg over all claims of a family, in loops."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from speedproof.protocols.claims import Demand, Outcome
from speedproof.protocols.gate import GateRow
from speedproof.protocols.multiplicity import control_verdicts
from speedproof.protocols.results import Verdict


def row(name: str, outcome: Outcome, margin: float = 0.02, metric: str = "time") -> GateRow:
    compared: Any = SimpleNamespace(benchmark=name, metric=metric)
    nothing: Any = None
    return GateRow(compared, Demand(margin=margin), outcome, nothing, nothing, ())


@pytest.mark.parametrize("margin", [None, 0.1])
@pytest.mark.parametrize("method", ["holm", "benjamini-hochberg"])
def test_controlled_verdicts_in_loops(method: Any, margin: float | None) -> None:
    """All claims of all benchmarks are one family; the verdict's own, or the nearest one, is told."""
    rng = np.random.default_rng(3)
    claims = (Verdict.FASTER, Verdict.SLOWER, Verdict.EQUIVALENT)
    for _ in range(30):
        compared: list[Any] = []
        for k in range(int(rng.integers(1, 5))):
            p = np.round(rng.random(3) ** 3, 3).tolist() if rng.random() > 0.2 else [math.nan] * 3
            own = Verdict.UNDECIDED if math.isnan(p[0]) else [*claims, Verdict.UNDECIDED][rng.integers(4)]
            at = SimpleNamespace(equivalent=p[2]) if rng.random() > 0.3 else None
            compared.append(SimpleNamespace(
                protocol="mean", benchmark=f"b{k}", pvalue=p[0], pvalue_slower=p[1], at_margin=at,
                verdict=own, undermining=[1] * int(rng.integers(2)),
            ))  # fmt: skip
        rows = [
            [
                c.pvalue,
                c.pvalue_slower,
                *([c.at_margin.equivalent if c.at_margin else math.nan] if margin else []),
            ]
            for c in compared
        ]
        known = sorted(p for row in rows for p in row if not math.isnan(p))
        size = len(known)
        if method == "holm":
            adjusted = [min(1.0, max((size - j) * known[j] for j in range(i + 1))) for i in range(size)]
        else:
            adjusted = stats.false_discovery_control(known).tolist() if known else []
        by = dict(zip(known, adjusted, strict=True))  # equal p-values are adjusted alike
        found = control_verdicts(compared, 0.3, method=method, margin=margin)
        assert (found.protocol, found.method, found.alpha, found.margin) == ("mean", method, 0.3, margin)
        assert found.family == size
        for told, c, row in zip(found.verdicts, compared, rows, strict=True):
            assert (told.benchmark, told.plain) == (c.benchmark, c.verdict)
            tested = [p for p in row if not math.isnan(p)]
            if not tested:
                assert told.verdict is Verdict.UNDECIDED
                assert all(map(math.isnan, (told.pvalue, told.confidence, told.plain_confidence)))
                continue
            claimed = c.verdict in claims[: len(row)]
            near = [row[claims.index(c.verdict)]] if claimed else tested
            expected = min(by.get(p, math.nan) for p in near)
            assert told.verdict is (c.verdict if claimed and expected <= 0.3 else Verdict.UNDECIDED)
            assert (told.pvalue, told.confidence) == pytest.approx((expected, 1 - expected), nan_ok=True)
            plain = [1 - p for p in near if math.isnan(p) or by[p] == expected]
            assert any(told.plain_confidence == pytest.approx(p, nan_ok=True) for p in plain)
        counts = ", ".join(
            f"{n} {v.value}" for v in Verdict if (n := sum(t.verdict is v for t in found.verdicts))
        )
        assert str(found).startswith(f"{counts} at a joint risk of 30 % (")
        marked = sum(bool(c.undermining) for c in compared)
        ends = f"; in {marked} of {len(compared)} benchmarks the runs are not what the tests assume"
        assert found.promise.endswith(ends) is (marked > 0)
        assert ("any false claim at all" in found.promise) is (method == "holm")
