"""What the gate's sheet may not call proven, and what it says beside it."""

import numpy as np
from scipy.stats import norm

from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Record, Suite
from speedproof.protocols.claims import Demand
from speedproof.protocols.gate import GateDecision, GateRules, gate
from speedproof.reporting.gate import report, sentence
from speedproof.reporting.text import render

IN_TURNS = frozenset({Trait.ORDER_KNOWN, Trait.RANDOM_ORDER})


def held(samples: dict[str, tuple[Sample, Sample]]) -> GateDecision:
    records = [
        (version, Record(name, side.values, traits=side.traits))
        for name, sides in samples.items()
        for version, side in zip(("old", "new"), sides, strict=True)
    ]
    return gate(Suite.from_records(records), ("old", "new"), lambda _: Demand(margin=0.02), GateRules())


def text(result: GateDecision) -> str:
    return " ".join(render(report(result)).split())


def runs(seed: int, level: float, traits: frozenset[Trait] = IN_TURNS, n: int = 40) -> Sample:
    return Sample(level * np.random.default_rng(seed).normal(1, 0.004, n), traits=traits)


def test_one_file_given_twice_proves_nothing() -> None:
    """It stays undecided; the other benchmarks pass."""
    same = runs(1, 1.0)
    for samples in ({"twice": (same, same)}, {"twice": (same, same), "other": (runs(2, 1.0), runs(3, 1.0))}):
        result = held(samples)
        told = text(result)
        assert [row.outcome.value for row in result.rows] == ["undecided", "pass"][: len(samples)]
        assert "hold the same values" in told
        assert "twice: one measurement given twice (give two different files)." in told
        assert sentence(result, *result.judged[0]).startswith("Undecided: ")


def test_a_session_that_stopped_on_its_result_proves_nothing_here() -> None:
    """Its own review does; a fixed number of runs has the usual sheet."""
    stopped = IN_TURNS | {Trait.STOPPED_ON_RESULT}
    told = text(held({"b": (runs(1, 1.0, stopped), runs(2, 1.3, stopped))}))
    assert "Stopped on its result: only the verdict of the session itself holds." in told
    assert told.startswith("UNDECIDED")
    assert "at least" not in told
    assert "b: a number of runs that was not planned (read the verdict with" in told
    planned = text(held({"b": (runs(1, 1.0), runs(2, 1.3))}))
    assert "at least 1.29x" in planned
    assert planned.endswith("Risk of a false pass and of a false fail: at most 5 % each.")


def test_what_is_proven_of_an_undecided_benchmark_alone() -> None:
    """Of 40 benchmarks Holm asks for a p-value of 0.00125: one of 0.01 is not enough, and has no forecast."""
    samples = {f"b{i}": (runs(2 * i, 1.0), runs(2 * i + 1, 1.0)) for i in range(39)}
    normal = 1 + 0.06 * norm.ppf((np.arange(40) + 0.5) / 40)
    samples["open"] = (Sample(normal), Sample(1.053 * normal))
    result = held(samples)
    row = next(r for r in result.rows if r.benchmark == "open")
    assert row.contradicted.pvalue <= 0.05 < row.contradicted.adjusted
    shown = render(report(result), 120)
    assert "significant by itself, but not after the correction over 40" in shown
