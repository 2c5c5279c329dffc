"""Tables of states, modes, samples and sizes, read back and held against NumPy."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out, speedproof

import speedproof as sp
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Suite
from speedproof.mixture.results import (
    Analysis,
    Answered,
    Component,
    Family,
    FitTest,
    Indices,
    Mode,
    ModeOrder,
    Questions,
    Versus,
)
from speedproof.reporting import samples
from speedproof.reporting.mixtures import report as mixture_report
from speedproof.reporting.model import Report
from speedproof.reporting.text import render

GCC = [str(Path(__file__).parents[2] / "examples" / "gcc" / f"{name}.json") for name in ("O2", "O3")]


def told(monkeypatch: pytest.MonkeyPatch, *argv: str) -> tuple[str, dict[str, list[str]]]:
    """What a command says on a wide terminal, and the cells of each row by its first one."""
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = speedproof(*argv)
    assert code == 0
    rows = (re.split("  +", line) for line in out.splitlines())
    return out, {row[0]: row[1:] for row in rows if len(row) > 2}


@pytest.fixture(scope="module")
def gcc() -> dict[str, list[np.ndarray]]:
    suite = sp.read(*GCC)
    return {b: [suite.samples[Key(b), v].values for v in ("O2", "O3")] for b in suite.benchmarks}


@pytest.mark.parametrize("names", ["a", "ab"])
def test_states_of_runs(names: str) -> None:
    """A row a state with share, mean and deviation; names stand once; pairs of runs are counted."""
    rng = np.random.default_rng(1)
    samples, slow, runs = {}, {}, {}
    for name in names:
        for version, share in (("old", 30), ("new", 60)):
            slow[version] = rng.permutation(np.arange(100) < share)
            for metric, unit, low, high in (("time", "s", 1.0, 2.0), ("faults", "", 100.0, 300.0)):
                runs[version, metric] = np.where(slow[version], high, low) * rng.normal(1, 0.01, 100)
                samples[Key(name, metric), version] = sp.Sample(runs[version, metric], unit, label=version)
    samples[Key("z"), "new"] = sp.Sample(np.ones(9), label="new")  # without faults it has no joint states
    (made,) = sp.joint(Suite(("old", "new"), samples), ["time", "faults"]).reports()
    text = render(made, 120)
    states = [re.split("  +", line.strip()) for line in text.split("\n\n")[1].splitlines()[1:]]
    several = len(names) > 1
    assert ("2 states in 4 samples" if several else "2 states of old, 2 states of new") in text
    assert [row[0] for row in states[::2]] == sorted([*names] * 2) if several else ["old", "new"]
    assert [row[-3] for row in states] == ["70 %", "30 %", "40 %", "60 %"] * len(names)
    for row, version in zip(states[-4:], ("old", "old", "new", "new"), strict=True):
        state = slow[version] == (row is states[-3] or row is states[-1])
        for cell, metric in zip(row[-2:], ("time", "faults"), strict=True):
            told = [float(of.split()[0]) * (1e-3 if " ms" in of else 1.0) for of in cell.split(" ± ")]
            measured = runs[version, metric][state]
            assert told[0] == pytest.approx(measured.mean(), rel=0.01)
            assert told[1] == pytest.approx(measured.std(), rel=0.1)
    old, new = (
        np.array([runs[version, metric] for metric in ("time", "faults")]) for version in ("old", "new")
    )
    found = re.findall(r"a run of (\w+) is better .* in every metric in (\d+) %", text)[-2:]
    assert [version for version, _ in found] == ["old", "new"]
    for (_, share), (x, y) in zip(found, ((old, new), (new, old)), strict=True):
        assert int(share) == pytest.approx(100 * (x[:, :, None] < y[:, None]).all(axis=0).mean(), abs=6)
    distances = re.findall(r"mean distance (\d+) ms in time, (\d+) in faults", " ".join(text.split()))
    gaps = np.abs(old[:, :, None] - new[:, None]).mean(axis=(1, 2))
    np.testing.assert_allclose(np.array(distances[-1], float) / [1000, 1], gaps, rtol=0.02)
    assert len(distances) == len(names)  # the distance back is the same


def test_a_place_that_is_nothing_beside_the_values_is_zero() -> None:
    """The mean of these in floating point is -5e-17."""
    suite = sp.Suite.of_samples({"b": {"v": np.linspace(-1.0, 1.0, 31)}})
    (made,) = sp.model(suite, bootstrap=0).reports(details=True)
    told = render(made)
    assert (told.startswith("b (v): one mode at 0 "), "e-" in told) == (True, False)


TEN = Sample(np.array([10.0] * 7 + [20.0] * 3), "s")
MIXED = Analysis(
    10, "V", (Component(0.7, 10.0, 0.5), Component(0.3, 20.0, 0.25)), (Mode(10.0, 0.7, 0.9), Mode(20.0, 0.3, 0.9)),
    -1.0, -100.0, True, 0.5, FitTest(0.1, 0.05, None, 200, 31, False, 8), ModeOrder("blocks", 2, 5.0, 0.01),
    "so it is", True, True,
    (Family("Weibull", (("shape", 2.5), ("scale", 15.0)), -40.0, -90.0, 0.2),
     Family("gamma", (("shape", 3.0),), -60.0, -110.0, None)),
)  # fmt: skip
PLAIN = replace(
    MIXED, modes=MIXED.modes[:1], components=MIXED.components[:1], kind="X", test=None, families=(), note="",
    resolution=None, compatible=False, at_limit=False, order=ModeOrder("one mode", 1, 1.0, 1.0),
)  # fmt: skip
ASKED = Questions((0.99, 0.01, 0.5), ((15.0, "s"),), True, (0.5, "s"), True)
UNASKED = Answered([], [], [], None)
ANSWERED = Answered(
    [(0.99, 20.5), (0.01, 9.5), (0.5, 12.0)], [(20.25, math.inf), (-math.inf, 9.75), (10.0, 20.0)],
    [(15.0, 0.7)], [[10.0] * 2, [], [20.0]],
)  # fmt: skip
INDICES = [
    Indices((Versus("new", (0.0123456, 0.0234567), (0.25, 0.75)),), (0.11111, 0.22222), 2),
    Indices((Versus("old", (1.0, 2.0), (0.5, 0.625)),), (0.3, 0.4), 1),
]
ONE_SAMPLE = [
    "sort (old): 2 modes, 70 % of runs at 10 s, 30 % at 20 s; in blocks: drift, frequency or neighbours"
    " fit rejected (p = 0.05)",
    "family BIC fit parameters", "Weibull best not rejected (p = 0.2) shape 2.5, scale 15 s",
    "mixture (2 components) -10.0 rejected (p = 0.05)", "gamma -20.0 shape 3",
    "component weight mean deviation", "1 70.0 % 10 s 500 ms", "2 30.0 % 20 s 250 ms",
    f"10 s |█{' ' * 42}▄| 20 s", "So it is.", "Tested on 8 of the 10 values, drawn at random.",
    "VARCORE's rules: mclust's 2 components, each peak of their density a mode (I4).",
    "Values lie on a grid of 500 ms; fit and test know of it.",
    "99 % quantile: 20.5 s by the mixture; by the runs at least 20.25 s, upper limit from 299 runs on (95 % each)",
    "1 % quantile: 9.5 s by the mixture; by the runs at most 9.75 s, lower limit from 299 runs on (95 % each)",
    "50 % quantile: 12 s by the mixture; by the runs 10 s to 20 s (95 % each)", "P[X <= 15 s]: 70 %",
    "Component 1, 2 values: 10 s, 10 s", "Component 3, 1 value: 20 s",
    "2 components, the largest number tried: there may be more (--max-components).",
]  # fmt: skip
OF_ONE = ["component weight mean deviation", "1 70.0 % 10 s 500 ms", ONE_SAMPLE[8]]


def mixtures(
    *of: tuple[str, str, Analysis], asked: Questions = ASKED, answered: Answered = ANSWERED, **more: Any
) -> Report:
    models = [(Key(name), version, TEN, analysis) for name, version, analysis in of]
    indices = more.pop("indices", [None] * len(of))
    return mixture_report(models, asked, [answered] * len(of), indices, everything=False, details=False)


def test_a_mixture_in_words() -> None:
    """All that is known of a fit, what was asked of it, and that few values a component may be chance."""
    made = mixtures(("sort", "old", MIXED), indices=[replace(INDICES[0], versus=())])
    said = [" ".join(line.split()) for line in ONE_SAMPLE]
    assert in_words(made) == said
    assert laid_out(made, 0) == "family <BIC fit parameters"
    assert laid_out(made) == "<component <weight <mean <deviation"
    assert in_words(made.sections[0]) == ["version I4 = peaks", "old 2"]
    few = replace(PLAIN, modes=(), n=9, components=MIXED.components)
    none = ["2 30.0 % 20 s 250 ms", ONE_SAMPLE[8], "Fewer than 5 values a component, which may be chance."]
    for version, of, head, rest in (
        ("sort", PLAIN, "sort: one mode at 10 s fit not tested", OF_ONE),
        ("v", few, "sort (v): no mode of 5 runs or more fit not tested", [*OF_ONE[:2], *none]),
        (
            "v",
            replace(few, n=10),
            "sort (v): no mode of 5 runs or more fit not tested",
            [*OF_ONE[:2], *none[:2]],
        ),
    ):
        told = in_words(mixtures(("sort", version, of), asked=Questions(), answered=UNASKED))
        assert told == [" ".join(line.split()) for line in (head, *rest)]


def test_several_mixtures_in_words() -> None:
    """A row each, of many those first that no mixture describes, then those of several modes."""
    known = replace(PLAIN, test=replace(FitTest(0.1, 0.051, None, 200, 31, False)))
    three = ("sort", "old", MIXED), ("sort", "new", known), ("hash", "old", replace(PLAIN, modes=()))
    made = mixtures(*three, indices=[*INDICES, None])
    head = "modes fit largest BIC order K runs"
    meant = "Mode: {}. K: components of one deviation (E) or more (V). {}--details: components".format
    asked = "20.5 s 9.5 s 12 s 70 %"
    assert in_words(made) == [
        "1 of 3 samples has several modes; fits: 1 rejected (risk 5 % each)",
        f"benchmark version {head} 99 % quantile 1 % quantile 50 % quantile P[X <= 15 s]",
        f"sort old 10 s, 20 s rejected Weibull blocks ≥ 2V 10 {asked}",
        f"sort new 10 s not rejected one mode 1 10 {asked}", f"hash old none not tested one mode 1 10 {asked}",
        meant("every peak of the density (VARCORE's I4)", ""),
    ]  # fmt: skip
    quantiles = "<99 % quantile <1 % quantile <50 % quantile <P[X <= 15 s]"
    heads = "'benchmark' 'version' modes fit largest BIC-4 order-2 <K-1 <runs-3"
    assert laid_out(made) == f"{heads} {quantiles}"
    assert (
        laid_out(made.sections[-1], 0) == "'X' 'Y' <I1 = E|X-Y| <mixtures <I2 = P[X < Y + 500 ms] <mixtures"
    )
    assert laid_out(made.sections[-1]) == "'version' <I3 = P[X < all others] <mixtures <I4 = peaks"
    assert in_words(made.sections[0]) == [" ".join(line.split()) for line in ONE_SAMPLE if "quantile" not in line
                                          and "P[X" not in line]  # fmt: skip
    assert in_words(made.sections[-1]) == [
        "X Y I1 = E|X-Y| mixtures I2 = P[X < Y + 500 ms] mixtures", "old new 12.3 ms 23.5 ms 0.2500 0.7500",
        "new old 1 s 2 s 0.5000 0.6250", "version I3 = P[X < all others] mixtures I4 = peaks",
        "old 0.1111 0.2222 2", "new 0.3000 0.4000 1",
    ]  # fmt: skip
    plain: Any = {"asked": Questions(), "answered": UNASKED}
    both = "old 10 s 70 %, 20 s 30 % rejected (p = 0.05) Weibull blocks ≥ 2V 10"
    for other, names in ((("sort", "new", known), "version"), (("hash", "old", known), "benchmark")):
        told = in_words(mixtures(three[0], other, **plain))
        assert told[1:3] == [f"{names} {head}", both if names == "version" else both.replace("old", "sort")]
    kinds = [PLAIN] * 8 + [replace(PLAIN, modes=MIXED.modes)] * 4 + [MIXED] * 2
    for many, order in ((kinds, [12, 13, 8, 9, 10, 11]), (kinds[2:], [*range(12)])):
        told = in_words(mixtures(*((f"b{i:02}", "v", of) for i, of in enumerate(many)), **plain))
        assert told[0] == f"6 of {len(many)} samples have several modes; fits: 2 rejected (risk 5 % each)"
        assert [line.split()[0] for line in told if re.match(r"b\d\d ", line)] == [f"b{i:02}" for i in order]
        folds = len(many) > 12
        assert ("... 8 with one mode" in told) == folds
        assert told[-1] == meant("a peak of 5 runs or more", "--all: every sample " * folds)
    none = mixtures(*(("sort", v, PLAIN) for v in "ab"), **plain)
    assert in_words(none)[0] == "None of 2 samples has several modes; fits: not tested"


def test_tables_head_what_was_repeated() -> None:
    """Builds, where a session repeated these; a column that a narrow terminal lacks is named whole."""
    suite = sp.read("examples/layout/session.jsonl", metric="time")
    assert "Of 120 values from 40 builds only the builds are independent" in render(
        samples.report(suite), 200
    )
    made = [*sp.compare_suite(suite).reports(details=True)]
    assert {table.columns[-1].title for one in made for table in one.tables} == {"builds"}
    (gate,) = sp.gate(suite).reports()
    assert "(no room for: proven; COLUMNS=" in render(gate, 40)


def test_of_versions_that_beat_each_other_in_half_of_all_runs_none_is_ahead() -> None:
    ranked = sp.rank(sp.Suite.of_samples({"x": {"a": [1.0, 4.0] * 6, "b": [2.0, 3.0] * 6}}))
    assert str(ranked).startswith("On a single run no version is shown to be the best, and none is ahead.")
    singles = {name: {v: [float(i)] for i, v in enumerate("xyz", 1)} for name in "ab"}
    assert str(sp.compare_suite(sp.Suite.of_samples(singles))).startswith("One run of each proves nothing: ")


def test_bounds_of_a_suite_are_of_each_location(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the mean and those of the median, in the direction of the ratio, as JSON has them."""
    config = str(Path(__file__).parents[1] / "data" / "speedup_test_tool" / "plain.csv")
    (found,) = json.loads(speedproof("suite", config, "--json")[1])["results"]
    monkeypatch.setenv("COLUMNS", "200")
    out = speedproof("suite", config, "--details", "--all")[1]
    below = out[out.index("Bounds, each") :]
    rows = {row[0]: row[1:] for row in (re.split("  +", line) for line in below.splitlines()) if len(row) > 2}
    assert len(found["rows"]) == 16
    for row in found["rows"]:
        for cell, location in zip(rows[row["name"]], ("mean", "median"), strict=True):
            bounds = row[location]["bounds"]
            known = (
                [] if bounds is None else [bounds[end] for end in ("low", "high") if bounds[end] is not None]
            )
            if bounds is None or len(known) < 2:
                assert cell == "-" if bounds is None else "[" not in cell
                continue
            numbers = [bounds["value"], *sorted(known)]
            slower = numbers[0] < 1
            assert ("slower" in cell) == slower
            expected = [1 / numbers[0], 1 / numbers[2], 1 / numbers[1]] if slower else numbers
            shown = [float(number) for number in re.findall(r"([\d.]+)x", cell)]
            np.testing.assert_allclose(shown, expected, atol=0.0101)
            assert shown[1] <= expected[1] + 1e-9 <= expected[2] + 2e-9 <= shown[2] + 3e-9
