"""States by several metrics, and versions compared in all of them: naive twins, and data made with states."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.main import main
from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.data.units import Direction
from speedproof.protocols.joint import joint_models, states_of_runs

EXAMPLE = "examples/faults/session.jsonl"


def made(n: int, share: float, seed: int) -> tuple[np.ndarray, list[Sample]]:
    """Which runs are slow, and their times and faults: twice the time with 2,000 faults more."""
    rng = np.random.default_rng(seed)
    slow = rng.permutation(n) < round(share * n)
    time = np.asarray((1.0 + slow) * rng.lognormal(0.0, 0.02, n), dtype=np.float64)
    faults = 110.0 + 2000.0 * slow + rng.poisson(2.0, n)
    return slow, [Sample(time), Sample(np.asarray(faults, dtype=np.float64), "")]


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_states_that_runs_were_made_with(n: int, share: float) -> None:
    """Every run is given its own state (an adjusted Rand index of 1), with its weight and its means."""
    slow, samples = made(n, share, n)
    assert (states_of_runs(samples) == slow).all()
    (model,) = joint_models("b", {"a": samples}, ("time", "faults"))
    assert [state.weight for state in model.states] == pytest.approx([1 - share, share])
    for k, state in enumerate(model.states):
        for mean, deviation, sample in zip(state.means, state.deviations, samples, strict=True):
            assert mean == pytest.approx(sample.values[slow == k].mean())
            assert deviation == pytest.approx(sample.values[slow == k].std())
    assert (model.others, model.best) == ((), 1.0)


def test_indices_of_a_naive_twin() -> None:
    """I1, I2 and I3 by loops over all runs, strictly; of a rate higher values are better."""
    rng = np.random.default_rng(2)
    runs = {v: rng.integers(1, 6, (size, 2)).astype(float) for v, size in zip("abc", (9, 7, 8), strict=True)}
    samples = {v: [Sample(x[:, 0]), Sample(x[:, 1], "op/s", Direction.HIGHER)] for v, x in runs.items()}
    for m in joint_models("b", samples, ("time", "rate")):
        mine = runs[m.version]
        better = {
            o: np.array([[p[0] < q[0] and p[1] > q[1] for q in theirs] for p in mine])
            for o, theirs in runs.items()
            if o != m.version
        }
        for other in m.others:
            assert other.better == pytest.approx(better[other.version].mean())
            pairs = [(p, q) for p in mine for q in runs[other.version]]
            assert other.distances == pytest.approx(
                [np.mean([abs(p[k] - q[k]) for p, q in pairs]) for k in range(2)]
            )
        chances = np.prod([share.mean(axis=1) for share in better.values()], axis=0)
        assert m.best == pytest.approx(chances.mean())


def test_one_state_where_there_is_one() -> None:
    """Of 40 samples of one state at most two are given two."""
    rng = np.random.default_rng(3)
    several = sum(
        int(
            states_of_runs(
                [Sample(rng.lognormal(0, 0.1, 60)), Sample(rng.poisson(50, 60).astype(float), "")]
            ).max()
            > 0
        )
        for _ in range(40)
    )
    assert several <= 2


def test_what_cannot_be_joined() -> None:
    suite = sp.read(EXAMPLE)
    for metrics, said in (
        (["time"], "two metrics or more"),
        (["time", "time"], "two metrics or more"),
        (["time", "nope"], "nope"),
    ):
        with pytest.raises(sp.SpeedproofError, match=said):
            sp.joint(suite, metrics)
    part = {(Key("b", m), "a"): Sample(np.arange(1.0, n)) for m, n in (("time", 20), ("x", 12))}
    with pytest.raises(sp.SpeedproofError, match="time and x are not of the same runs"):
        sp.joint(sp.Suite(("a",), part), ["time", "x"])


def test_the_command_says_what_python_does() -> None:
    """A row a state; JSON has the numbers."""
    found = sp.joint(sp.read(EXAMPLE), ["time", "minor-faults"])
    out = io.StringIO()
    assert main(["model", EXAMPLE, "--joint", "time,minor-faults"], Console(out, io.StringIO())) == 0
    assert out.getvalue() == f"{found}\n"
    assert max(map(len, out.getvalue().splitlines())) <= 80
    assert "2,101" in out.getvalue()
    out = io.StringIO()
    assert (
        main(["model", EXAMPLE, "--joint", "time,minor-faults", "--json"], Console(out, io.StringIO())) == 0
    )
    results = json.loads(out.getvalue())["results"]
    assert [len(one["states"]) for one in results] == [len(m.states) for m in found.models]


def test_an_ellipse_reaches_two_deviations_of_what_its_axis_shows() -> None:
    """Of logarithms where all values of a metric are above zero, else of the values; ticks are plain numbers."""
    pytest.importorskip("matplotlib")
    time, counts = np.array([1.0, 2.0, 4.0, 30.0, 31.0]), np.array([0.0, 2.0, 4.0, 900.0, 900.0])
    ax = sp.plot.ellipses(time, counts, [0, 0, 0, 1, 1])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    curve = next(line for line in ax.lines if np.size(line.get_xdata()) == 181)
    x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    reach = 2.0 * np.sqrt(2.0 / 3.0)  # of -1, 0 and 1
    assert np.log2([x.min(), x.max()]) == pytest.approx([1.0 - reach, 1.0 + reach])
    assert (y.min(), y.max()) == pytest.approx((2.0 - 2.0 * reach, 2.0 + 2.0 * reach))
    ax = sp.plot.ellipses(time[:3] / 10, [166.0, 167.0, 169.0], [0, 0, 0])
    ax.figure.canvas.draw()
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert "167" in shown
    assert "168" in shown


def test_a_picture_has_an_ellipse_a_state() -> None:
    pytest.importorskip("matplotlib")
    found = sp.joint(sp.read(EXAMPLE), ["time", "minor-faults"])
    for m, (name, ax) in zip(found.models, found.pictures(), strict=True):
        assert name == f"{m.benchmark} ({m.version})"
        curves = [line for line in ax.lines if np.size(line.get_xdata()) == 181]
        assert len(curves) == len(m.states)
        for curve in curves:
            x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
            assert x[0] == pytest.approx(x[-1])
            assert (x > 0).all()
            assert (y > 0).all()


def test_several_benchmarks_are_told_apart() -> None:
    """The heading counts; a line for each direction; the distance between two versions stands once."""
    parts = {}
    for k, benchmark in enumerate(("sort", "hash")):
        for version, share in (("a", 0.3), ("b", 0.1)):
            for metric, sample in zip(("time", "faults"), made(60, share, k)[1], strict=True):
                parts[Key(benchmark, metric), version] = sample
    said = " ".join(str(sp.joint(sp.Suite(("a", "b"), parts), ["time", "faults"])).split())
    assert "faults: 2 states in 4 samples" in said
    for benchmark in ("sort", "hash"):
        for one, other in (("a", "b"), ("b", "a")):
            line = f"{benchmark}: a run of {one} is better than one of {other} in every metric"
            assert said.count(line) == 1
    assert said.count("mean distance") == 2
