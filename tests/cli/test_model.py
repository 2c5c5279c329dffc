"""``speedproof model`` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import ROOT, refused, speedproof, write

import speedproof as sp
from speedproof.data.suite import Key
from speedproof.mixture.fitting import Distance, fit
from speedproof.mixture.goodness import goodness_of_fit
from speedproof.mixture.model import MixtureModel
from speedproof.reporting.text import render
from speedproof.stats.quantile_ratio import quantile_limits

TWO = MixtureModel([0.7, 0.3], [10.0, 20.0], [0.5, 0.5])
AMMP = ROOT / "tests" / "data" / "oracle_mixture" / "ammp-c2.txt"


def modelled(*words: str | Path) -> list[dict[str, Any]]:
    return list(json.loads(speedproof("model", *words, "--json")[1])["results"])


@pytest.fixture
def bimodal() -> str:
    return write("times.txt", TWO.rvs(80, seed=1))


def test_a_fast_choice_misses_no_few_values() -> None:
    """Of more values than 3,000 groups are fitted first: eight of 15,000 are a component as they are without."""
    x = np.append(TWO.rvs(14_992, seed=1), np.linspace(29.0, 31.0, 8))
    for more in ((), ("--fast",)):
        (found,) = modelled(write("a.txt", x), "--bootstrap", "0", *more)
        last = found["model"]["components"][-1]
        assert last["weight"] == pytest.approx(8 / 15_000, rel=1e-3)
        assert last["mean"] == pytest.approx(30.0, abs=0.05)


def test_the_reports_sample_as_the_report_has_it() -> None:
    """VARCORE's appendix, by its rules: five components with its deviations, four modes, p = .205."""
    words = (AMMP, "--unit", "s", "--compatible")
    model = modelled(*words)[0]["model"]
    printed = [0.163372026, 0.146702827, 0.227167773, 0.003986046, 0.392762363]
    assert [c["sd"] for c in model["components"]] == pytest.approx(printed, abs=1e-5)
    assert len(model["modes"]) == 4
    assert sum(mode["share"] for mode in model["modes"]) == pytest.approx(1.0)
    assert model["test"]["size"] == 31
    # Of 200 draws each.
    p = model["test"]["pvalue"]
    assert abs(p - 0.205) <= 3 * np.sqrt(2 * 0.205 * 0.795 / 200)
    code, out, _ = speedproof("model", *words, "--undersampling", "1", "--distance", "observed")
    assert code == 0
    told = " ".join(out.split())
    assert told.startswith("ammp-c2: 4 modes, ")
    assert f"(p = {p:.3g})" in told
    assert "VARCORE's rules: mclust's 5 components, each peak of their density a mode (I4)." in told


@pytest.mark.parametrize("distance", ["ks", "observed", "cvm", "ad"])
def test_the_distance_of_the_test(bimodal: str, distance: Distance) -> None:
    words = ("--distance", distance, "--bootstrap", "60", "--seed", "3", "--ignore-rounding")
    (found,) = modelled(bimodal, *words)
    x = np.loadtxt(bimodal)
    expected = goodness_of_fit(x, fit(x), N=60, seed=3, distance=distance)
    assert found["model"]["test"]["pvalue"] == pytest.approx(expected.pvalue)
    assert found["model"]["test"]["distance"] == pytest.approx(expected.distance)


def test_seed_and_threads(bimodal: str) -> None:
    """The same seed writes the same bytes on one thread and on two, for one sample and for several."""
    for files in ([bimodal], [bimodal, write("more.txt", TWO.rvs(40, seed=2))]):
        words = ("model", *files, "--json", "--bootstrap", "60", "--seed")
        one, two = (speedproof(*words, "3", "--jobs", jobs)[1] for jobs in "12")
        assert one == two != speedproof(*words, "4")[1]


def test_rounded_values_are_known_as_such() -> None:
    path = write("r.txt", np.round(TWO.rvs(100, seed=3)))
    _, out, _ = speedproof("model", path, "--bootstrap", "40")
    assert "grid of 1; fit and test know of it" in out
    assert "not rejected" in out
    _, plain, _ = speedproof("model", path, "--bootstrap", "40", "--ignore-rounding")
    assert ("grid" in plain, " rejected" in plain.replace("not rejected", "")) == (False, True)


def test_what_cannot_be_modelled_is_left_out_with_the_reason(bimodal: str) -> None:
    constant = write("flat.txt", [2.5] * 20)
    code, out, err = speedproof("model", bimodal, constant, "--bootstrap", "20")
    assert (code, "all 20 values are equal" in err, "flat" in out) == (0, True, False)
    assert len(out.splitlines()) <= 10
    assert "no sample could be modelled" in refused("model", constant)


@pytest.mark.parametrize(("words", "told"), [
    ("--components 0", "expected 1 to 32 components"), ("--max-components 33", "expected 1 to 32 components"),
    ("--bootstrap -5", "not a whole number of at least 0"),
    ("--undersampling 1.5", "does not lie between 0 and 1"), ("--only d", "no benchmark matches"),
    ("--unit s --below 11MB --bootstrap 0", "in B, and the values of times are in s"),
])  # fmt: skip
def test_what_is_no_request_is_refused(bimodal: str, words: str, told: str) -> None:
    assert told in refused("model", bimodal, *words.split())


def test_quantiles_probabilities_and_metrics() -> None:
    """The answers are those of the mixture that is shown; every pair of versions in both directions."""
    rng, means = np.random.default_rng(3), {"old": 0.012, "new": 0.010}
    files = [write(f"{v}.txt", rng.normal(mean, 0.0005, 60)) for v, mean in means.items()]
    asked = ["--quantile", "0.99", "--below", "11ms", "--metrics", "--delta", "0.5ms", "--bootstrap", "0"]
    _, out, _ = speedproof("model", *files, "--unit", "s", *asked)
    parts = (
        "99 % quantile",
        "P[X <= 11 ms]",
        "I1 = E|X-Y|",
        "I2 = P[X < Y + 500",
        "I3 = P[X < all others]",
        "I4",
    )
    assert all(part in out for part in parts)
    found, _ = modelled(*files, "--unit", "s", *asked)
    component = found["model"]["components"]
    model = MixtureModel(*([c[k] for c in component] for k in ("weight", "mean", "sd")))
    (p, value), (at, share) = found["quantiles"][0], found["below"][0]
    low, high = found["limits"][0]
    assert low == pytest.approx(quantile_limits(np.loadtxt(files[0]), 0.99, 0.05)[0], rel=1e-12)
    assert high is None  # from 299 runs on
    assert (p, at) == (0.99, 0.011)
    assert float(model.cdf(value)) == pytest.approx(0.99)
    assert share == pytest.approx(float(model.cdf(0.011)))
    x, y = (np.loadtxt(path) for path in files)
    versus = found["metrics"]["versus"][0]
    assert versus["other"] == "new"
    assert versus["gap"][0] == pytest.approx(np.abs(x[:, None] - y).mean())
    assert versus["below"][0] == pytest.approx((x[:, None] < y + 0.0005).mean())
    assert found["metrics"]["least"][0] == pytest.approx((x[:, None] < y).mean())
    assert found["observations"] is None


def test_observations_of_each_component() -> None:
    """Every value once, in the component that is likelier for it; in words and as JSON."""
    rng = np.random.default_rng(4)
    values = rng.permutation(np.concatenate([rng.normal(10, 0.1, 30), rng.normal(12, 0.1, 20)]))
    words = (write("times.txt", values), "--unit", "ms", "--bootstrap", "0", "--observations")
    out = speedproof("model", *words)[1]
    assert all(f"Component {k}, {n} values: " in out for k, n in ((1, 30), (2, 20)))
    low, high = modelled(*words)[0]["observations"]
    assert sorted(low) == pytest.approx(sorted(values[values < 11] / 1000))
    assert sorted(high) == pytest.approx(sorted(values[values > 11] / 1000))


def test_a_number_of_components_that_is_given() -> None:
    """It is taken as it is, though BIC would choose another, and not tested."""
    path, tested = write("a.txt", np.random.default_rng(5).normal(10, 1, 60)), ["--bootstrap", "20"]
    for asked, expected, size in (
        (tested, 1, 54), (["--components", "3"], 3, None), ([*tested, "--undersampling", "100%"], 1, 60),
    ):  # fmt: skip
        found = modelled(path, *asked)[0]["model"]
        assert (len(found["components"]), found["test"] and found["test"]["size"]) == (expected, size)


def test_the_largest_number_that_was_tried_is_told() -> None:
    """Three separate values of forty runs each, of which two components cannot be all."""
    values = np.random.default_rng(5).normal(np.repeat([10, 20, 40], 40), 0.1)
    words = (write("a.txt", values), "--bootstrap", "0", "--max-components")
    for most, told in ("2", True), ("3", True), ("4", False):
        assert ("the largest number tried: there may be more" in speedproof("model", *words, most)[1]) == told
        assert modelled(*words, most)[0]["model"]["at_limit"] == told
    assert "largest number" not in speedproof("model", *words[:-1], "--components", "2")[1]


def test_the_rule_by_which_modes_are_counted_is_told(bimodal: str) -> None:
    words = ("model", bimodal, AMMP, "--bootstrap", "0")
    assert "Mode: a peak of 5 runs or more." in speedproof(*words)[1]
    assert "every peak of the density (VARCORE's I4)." in speedproof(*words, "--compatible")[1]


def test_the_parameters_of_families_are_told() -> None:
    """Those of the log-normal are the moments of the logarithms; of two values nothing can be tested."""
    x = np.random.default_rng(2).lognormal(2.0, 0.4, 80)
    asked = ("--unit", "ms", "--family", "auto")
    _, out, _ = speedproof("model", write("times.txt", x), *asked, "--bootstrap", "0")
    logs = np.log(x)
    assert f"median {np.exp(logs.mean()):.3g} ms, sigma {logs.std():.3g}" in out
    _, out, _ = speedproof("model", write("two.txt", [1.0, 1.1]), *asked)
    assert ("fit not tested" in out, "p =" in out) == (True, False)


def test_states_by_several_metrics_are_those_of_python() -> None:
    """In words, as JSON and as a picture; blanks around a comma are none of a name."""
    asked = (ROOT / "examples" / "faults" / "session.jsonl", "--joint", "time, minor-faults")
    joint = sp.joint(sp.read(asked[0]), ["time", "minor-faults"])
    code, out, _ = speedproof("model", *asked)
    assert (code, out) == (0, "\n".join(render(report, 80) for report in joint.reports()))
    assert json.loads(speedproof("model", *asked, "--json")[1]) == json.loads(joint.to_json())
    pytest.importorskip("matplotlib")
    assert speedproof("plot", *asked, "-o", "a.svg")[0] == 0
    assert "% of runs" in Path("a.svg").read_text(encoding="utf-8")
    ((name, figure),) = joint.pictures()
    assert (name, figure.axes[1].get_xlabel()) == ("command", "time (ms)")
    for version, ax in zip("ab", figure.axes, strict=True):
        points = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() != "None"])
        runs = np.array([1e3, 1.0]) * np.transpose(
            [joint.suite.samples[Key("command", metric), version].values for metric in joint.metrics]
        )
        np.testing.assert_allclose(points[np.lexsort(points.T)], runs[np.lexsort(runs.T)])
        assert (ax.get_title(loc="left"), ax.get_ylabel()) == (version, "minor-faults")
