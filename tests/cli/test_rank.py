"""``speedproof rank`` and ``hpt`` as a user meets them."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import O2, O3, hyperfine, refused, speedproof, table, write
from tests.protocols.asking import hpt_of_scores

import speedproof as sp
from speedproof.mixture.model import MixtureModel
from speedproof.reporting.hpt import conclusion

OLD = MixtureModel([0.5, 0.5], [10.0, 14.0], [0.3, 0.3])
NEW = MixtureModel([0.9, 0.1], [10.0, 14.0], [0.3, 0.3])


def places(out: str) -> list[list[str]]:
    rows = out.split("\n\n")[1].splitlines()[1:]
    return [row.split()[:2] for row in rows]


def test_winner_advice_and_states() -> None:
    pair = [write("old.txt", OLD.rvs(100, 1)), write("new.txt", NEW.rvs(100, 2))]
    code, out, _ = speedproof("rank", *pair)
    assert (code, places(out)[0], out[:9]) == (0, ["1", "new"], "Run new: ")
    assert "Places hold at a joint risk of 5 %; each limit holds alone." in out
    _, out, _ = speedproof("rank", *pair, "--resamples", "50", "--details")
    assert "Modes: same modes, other weights" in out
    assert places(out)[0] == ["1", "new"]
    assert out.count("Run new: ") == out.count("Places hold") == out.count("place ") == 1


@pytest.mark.parametrize("factor", [0.85, 1.0, 1.2])
def test_the_chance_of_two_versions_is_that_of_their_comparison(factor: float) -> None:
    """Counted by hand in medians of processes; compare and rank give it with the same bounds, to the digit."""
    old = np.random.default_rng(8).normal(1.0, 0.1, 20)
    new = np.random.default_rng(9).normal(factor, 0.1, 7)
    files = ("old.json", "new.json")
    for path, medians in zip(files, (old, new), strict=True):  # of processes, as pyperf writes them
        runs = [{"values": [value, value, 9 * value]} for value in medians.tolist()]
        made = {"metadata": {"name": "b", "unit": "second"}, "benchmarks": [{"runs": runs}], "version": "1.0"}
        Path(path).write_text(json.dumps(made))
    (compared,) = sp.compare_suite(sp.read(*files)).results[0].headlines
    ranked = sp.rank(sp.read(*files), mixtures=False)
    chance = {v.version: v.chance for v in ranked.versions}["new"]
    assert chance == compared.chance
    assert chance.value == pytest.approx((new < old[:, None]).mean())
    best, rival = max((chance.value, "old"), (1 - chance.value, "new"))
    out = speedproof("rank", *files)[1]
    told = f"a process of it beats a process of {rival} in {100 * best:.0f} % of cases ("
    assert (told in " ".join(out.split()), f"  {100 * best:.0f} % [" in out) == (True, True)


def test_what_undermines_a_comparison_undermines_a_ranking() -> None:
    """Every line that `compare` has of order and machine, word for word; what is not proven is no imperative."""
    rng = np.random.default_rng(2)
    for path, level in (("old.csv", 1.0), ("new.csv", 0.5)):
        rows = {}
        for i in range(12):
            slow = np.where(rng.permutation(np.arange(12) < 4), 1.3, 1.0)
            rows[f"b{i}"] = (level * slow * np.exp(0.01 * rng.standard_normal(12))).tolist()
        table(path, rows)
    files = ["new.csv", "old.csv", "--unit", "s", "--reference", "old"]
    for chosen in ([], ["--only", "b1"]):
        said = [speedproof(command, *files, *chosen)[1] for command in ("compare", "rank", "hpt")]
        lines = said[0].splitlines()
        at = next(i for i, line in enumerate(lines) if "ran at one of two speeds" in line)
        assert all("\n".join(lines[at : at + 2]) in text for text in said)
    assert said[1].startswith("If the runs were independent and steady: run new: ")
    (found,) = json.loads(speedproof("rank", *files, *chosen, "--json")[1])["results"]
    assert found["machine"]["benchmarks"] == 12
    assert found["advice"].startswith("If ")
    for command in ("compare", "rank", "hpt"):
        assert "Measured in two sessions, which may differ. Interleave:" in speedproof(command, O2, O3)[1]
    results = json.loads(speedproof("rank", O2, O3, "--json")[1])["results"]
    assert {note["kind"] for one in results for note in one["caveats"]} == {"one session"}
    ordered = np.sort(rng.lognormal(size=(2, 12))).tolist()
    files = [table(f"{name}.csv", dict(zip("bc", ordered, strict=True))) for name in ("x", "y")]
    assert "! In 2 benchmarks the true risk may be larger: altered" in speedproof("rank", *files)[1]


def test_commands_of_one_file_can_be_chosen() -> None:
    """The patterns of --only choose among the commands of one hyperfine file; an unknown one names them."""
    times = {name: np.linspace(1, 2, 12) + i for i, name in enumerate(("sort -n a", "sort b", "wc c"))}
    path = hyperfine("h.json", times)
    Path(path).write_text(Path(path).read_text().replace("[", '[{"command": "without times"}, ', 1))
    for words, shown in (
        (("--only", "sort*"), [True, True, False]),
        (("--skip", "sort b"), [True, False, True]),
    ):
        _, out, err = speedproof("rank", path, *words)
        assert ([name in out for name in times], err.count(": left out: ")) == (shown, 1)
    told = "no command matches 'h' (patterns take * and ?); available: sort -n a, sort b, wc c"
    assert told in refused("rank", path, "--only", "h")


def test_another_format_than_that_of_the_name_has_versions_of_its_own() -> None:
    """With --format the file is not asked for its format again, which may be one that only --format reads."""
    rows = [f"{c},{v},{t}\n" for c in "xy" for v in "ab" for t in (0.1, 0.2, 0.3, 0.4)]
    Path("raw.csv").write_text("".join(["benchmark,name,duration\n", *rows]))
    columns = [f"--column={c}" for c in ("benchmark=benchmark", "version=name", "value=duration")]
    code, out, err = speedproof("rank", "raw.csv", "--format", "csv", "--unit", "s", *columns, "--only", "x")
    assert (code, "commands of" in out, "place  x " in out) == (0, False, True), err


@pytest.fixture
def suite() -> tuple[str, str]:
    rng = np.random.default_rng(1)
    old = {f"b{i}": rng.normal(10.0**i, 0.01 * 10.0**i, 5).tolist() for i in range(8)}
    new = {name: [v / 1.2 for v in values] for name, values in old.items()}
    return table("old.csv", {**old, "gone": [1.0]}), table("new.csv", new)


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize(("words", "message"), [
    ("hpt old.csv new.csv --alpha-benchmark 0.6", "between 0 and 0.5"),
    ("hpt old.csv new.csv --metric all", "name one metric"),
    # Of two versions the one with the higher times would be said to win.
    ("hpt old.csv new.csv --unit s --scores given", "lower is better for values in s"),
    ("hpt old.csv new.csv --unit s --scores given", "leave --scores given out"),
    ("rank old.csv new.csv --details --resamples 5", "at least 10"), ("rank old.csv", "only one version"),
])  # fmt: skip
def test_errors_name_the_remedy(words: str, message: str) -> None:
    assert message in " ".join(refused(*words.split()).split())


@pytest.mark.parametrize(
    ("last", "told"), [(1.004, "99.6 %."), (1.014, ", by a factor of 1.01 with confidence 95 % and 99 %.")]
)
def test_a_speedup_has_two_decimals(last: float, told: str) -> None:
    """One that they do not tell from 1 is not told; the same at two confidences is told once."""
    result = hpt_of_scores([[1000.0]] * 8, [[1000.0 * last]] * 8, confidences=[0.95, 0.99])
    assert conclusion(result, "old", "new").endswith(told)


@pytest.mark.parametrize("speedup", ["5e-324", "1e-310", "1.7e308"])
def test_speedups_at_the_ends_of_the_range_of_doubles(suite: tuple[str, str], speedup: str) -> None:
    """What is larger than every ratio is out of reach, and every winner passes what is smaller than all."""
    code, out, err = speedproof("hpt", *suite, "--speedup", speedup, "--json")
    assert (code, "left out: gone: only old has it" in err) == (0, True)
    found = json.loads(out)["results"][0]
    (asked,) = (c for c in found["claims"]["claims"] if c["method"] == "asked")
    low = float(speedup) < 1.0
    assert asked["confidence"] == (found["hpt"]["confidence"] if low else pytest.approx(0.0, abs=0.05))


def test_benchmark_without_a_rival_is_left_out() -> None:
    files = [write(f"{scale}.txt", scale * OLD.rvs(20, 1)) for scale in (1.0, 1e200)]
    assert "its versions differ so much in size" in speedproof("rank", *files)[2]
    files = [table("x.csv", {"a": [1.0, 1.1, 1.2], "b": [1.0]}), table("y.csv", {"a": [1, 2]})]
    code, out, err = speedproof("rank", *files)
    assert (code, "left out: b: only x has it" in err, "place  a " in out) == (0, True, True), err


def test_the_factor_of_a_row_of_hpt_is_that_of_its_medians() -> None:
    """Of six times at two speeds the median score is another: who divides the times beside it finds the factor."""
    old, new = np.full(6, 8.0), np.array([2.0, 2.0, 2.0, 4.0, 4.0, 4.0])
    files = write("old.txt", old), write("new.txt", new)
    for first, second in (files, files[::-1]):
        _, out, _ = speedproof("hpt", first, second)
        assert f"new {np.median(old) / np.median(new):.2f}x" in out.split("\n\n")[1].splitlines()[1]
