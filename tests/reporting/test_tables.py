"""Tables of states, modes, samples and sizes, read back and held against NumPy."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.command import speedproof

import speedproof as sp
from speedproof.data.suite import Key, Suite
from speedproof.reporting import samples
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


def test_the_order_of_a_sample_goes_before_its_number_of_runs() -> None:
    (made,) = sp.model(sp.read(*GCC), bootstrap=0, max_components=2).reports()
    heads = [render(made, width).split("\n\n")[1].splitlines()[0].split() for width in range(120, 40, -1)]
    assert {"order" in head for head in heads if "runs" not in head} == {False}


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


def test_bounds_of_a_suite_are_of_each_location(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of the mean and those of the median, in the direction of the ratio, as JSON has them."""
    config = str(Path(__file__).parents[1] / "data" / "speedup_test_tool" / "plain.csv")
    (found,) = json.loads(speedproof("suite", config, "--json")[1])["results"]
    samples = ",".join(f"{Path(config).parent}/samples/normal_no_gain.{side}.txt" for side in "xy")
    for level, told in (("0.5", True), ("0.51", False)):  # of one benchmark
        (own := tmp_path / "c.csv").write_text(
            f"Name,Sample1,Sample2,ConfLevel,Coef\na,{samples},{level},1\nb,{samples},0.95,1\n"
        )
        half = "At a level of one half or less even a slower benchmark may count as faster."
        assert (half in " ".join(speedproof("suite", own)[1].split())) is told
    monkeypatch.setenv("COLUMNS", "200")
    out = speedproof("suite", config, "--details", "--all")[1]
    names = [line.split()[0] for line in out.split("\n\n")[1].splitlines()[1:]]
    found["rows"].sort(key=lambda row: names.index(row["name"]))
    said = [[any(row[of][what] for of in ("mean", "median")) for what in ("slower", "significant")]
            for row in found["rows"]]  # fmt: skip
    kinds = [1 if faster else 0 if slower else 2 for slower, faster in said]
    assert (kinds, {*kinds}) == (sorted(kinds), {0, 1, 2})
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
