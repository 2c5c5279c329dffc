"""What one sheet says in two places agrees."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import speedproof as sp
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key


def suite(values: dict[str, dict[str, list[float]]]) -> sp.Suite:
    return sp.Suite.of_samples(values, unit="s")


def told(result: object) -> str:
    return " ".join(str(result).split())


@pytest.mark.parametrize(("zero", "some"), [(0.0, " (2 of 3 benchmarks)"), (8.0, "")])
def test_a_mean_says_of_how_many_benchmarks_it_is(zero: float, some: str) -> None:
    """A mean of zero has no ratio to anything: the other two alone have a geometric mean."""
    values = {n: {"old": [5.0, 5.1, 5.2], "new": [4.0, 4.1, 4.2]} for n in "ab"}
    values["c"] = {"old": [zero] * 3, "new": [zero + 1, zero + 2, zero + 3]}
    text = told(sp.compare_suite(suite(values)))
    assert re.search(r"Geometric mean: \S+ (fast|slow)er \[\S+ \S+\]" + re.escape(some), text)
    assert ("of 3 benchmarks" in text) == bool(some)


def test_hpt_tells_of_the_drift_that_a_comparison_tells_of() -> None:
    """Runs that rise by 10 %, 5 % apart, or come in pairs: HPT decides them, a comparison the steady ones."""
    rising, rng = np.linspace(1.0, 1.1, 30), np.random.default_rng(1)
    normal = 1 + 0.01 * norm.ppf((np.arange(15) + 0.5) / 15)
    twins = [np.repeat(rng.permutation(normal), 2) for _ in range(2)]
    values = {
        "rising": {"old": 1.05 * rising, "new": rising},
        "alike": {"old": 1.006 * twins[0], "new": twins[1]},
        "steady": {"old": rng.normal(1.5, 0.01, 30), "new": rng.normal(1.0, 0.01, 30)},
    }
    order = frozenset({Trait.ORDER_KNOWN})
    given = sp.Suite(
        ("old", "new"),
        {(Key(b), v): Sample(x, "s", traits=order) for b, sides in values.items() for v, x in sides.items()},
    )
    text = told(sp.hpt(given))
    assert "rising, alike: HPT takes runs for independent that are alike or drift: measure in turns" in text
    assert told(sp.compare_suite(given.select(only=["alike"]))).startswith("Undecided")
    reason = "the runs drift: measure in turns, with 'speedproof run'"
    assert reason in told(sp.compare_suite(given.select(only=["rising"])))
    assert "drift" not in told(sp.hpt(given.select(only=["steady"])))


def test_what_is_proven_at_a_gate_of_one_benchmark_alone() -> None:
    """Of 40 benchmarks Holm asks for a p-value of 0.00125: one of 0.01 is not enough, and has no forecast."""
    rng, normal = np.random.default_rng(1), 1 + 0.06 * norm.ppf((np.arange(40) + 0.5) / 40)
    values = {
        f"b{i}": dict(zip(("old", "new"), rng.normal(1, 0.004, (2, 40)), strict=True)) for i in range(39)
    }
    values["open"] = {"old": rng.permutation(normal), "new": rng.permutation(1.053 * normal)}
    found = sp.gate(sp.Suite.of_samples(values, unit="s"))
    (row,) = (row for row in found.decision.rows if row.benchmark == "open")
    assert row.contradicted.pvalue <= 0.05 < row.contradicted.adjusted
    assert "significant by itself, but not after the correction over 40" in told(found)


@pytest.mark.parametrize("turned", [False, True])
def test_what_takes_no_time_did_not_run(turned: bool) -> None:
    """Beside that it says nothing that the other side drifts, and more runs would be 0, too."""
    last = [0.1012, 0.0981, 0.0993, 0.0991, 0.0973, 0.097, 0.0967, 0.0995]
    first = [0.1002, 0.1025, 0.0981, 0.102, 0.0995, 0.0995, 0.1038, 0.1003, 0.0999, 0.1015, 0.1023, 0.0999]
    sides = [[*first, *last], [0.0] * 20]
    old, new = sides[::-1] if turned else sides
    values = suite({"b": {"old": old, "new": new}})
    for text in (told(sp.compare_suite(values)), gated := told(sp.gate(values))):
        assert text.startswith("UNDECIDED") or text is not gated
        assert "drift" not in text
        assert "all runs of a side are 0" in text


@pytest.mark.parametrize(("old", "new", "why"), [
    ([0] * 2, [0] * 3, "neither sample has any spread"), ([0] * 6, [0] * 5, "neither sample has any spread"),
    ([5] * 2, [5] * 4, "neither sample has any spread"), ([0] * 2, [1, 2, 3], "all runs of a side are 0"),
    ([5] * 2, [7] * 2, "needs at least 4 runs"), ([5], [5, 6, 7], "needs at least 4 runs"),
])  # fmt: skip
def test_no_number_of_runs_decides_what_never_differs(old: list[float], new: list[float], why: str) -> None:
    """That comes before the number of runs that the test takes at least."""
    text = told(sp.compare(old, new))
    assert (why in text, "needs at least" in text) == (True, "needs" in why)


@pytest.mark.parametrize(("nested", "unit"), [(1, "runs"), (3, "processes")])
def test_too_few_runs_for_a_joint_proof_are_told(nested: int, unit: str) -> None:
    """Of three benchmarks six claims: 6 * 4/5 / 2^n is at most 0.05 from seven on, of whichever has fewer."""
    none = f"none; it takes 7 {unit} of each version"
    for n, old, says in (
        ((6, 6), 2.0, none), ((7, 7), 2.0, "3 faster"), ((6, 30), 1.01, none), ((30, 6), 0.99, none),
        ((7, 30), 1.01, "none"),
    ):  # fmt: skip
        sides = ("old", old, n[0]), ("new", 1.0, n[1])
        rows = [(f"b{b}", v, k, t + k / 1e3) for b in range(3) for v, t, m in sides for k in range(m)
                for _ in range(nested)]  # fmt: skip
        frame = dict(zip(("b", "v", "p", "t"), map(list, zip(*rows, strict=True)), strict=True))
        process: Any = {"process": "p"} if nested > 1 else {}
        given = sp.Suite.from_frame(frame, benchmark="b", version="v", value="t", **process)
        assert f"At a joint risk of 5 % (Holm): {says} " in f"{told(sp.compare_suite(given))} "
