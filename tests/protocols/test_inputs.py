"""Speedups over inputs: parameters of every tool, the trend, inputs as the unit, and what is refused."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import speedproof as sp
from speedproof.data.record import Record

SIZES = (10, 100, 1000, 10000)


def suite(
    name: Callable[[int], str] = "sort/n={}".format,
    slope: float = 0.1,
    sizes: tuple[int, ...] = SIZES,
    fields: Callable[[int], tuple[tuple[str, str], ...]] = lambda n: (),
    crossing: float = 100.0,
) -> sp.Suite:
    """A speedup of (n / crossing)^slope."""
    rng = np.random.default_rng(0)
    records = [
        (version, Record(name(n), n * ratio * rng.lognormal(0.0, 0.01, 30), fields=fields(n)))
        for n in sizes
        for version, ratio in (("old", 1.0), ("new", (n / crossing) ** -slope))
    ]
    return sp.Suite.from_records(records)


@pytest.mark.parametrize(("name", "parameter", "benchmark"), [
    ("sort/n={}", "n", "sort"), ("BM_Sort/{}", "/1", "BM_Sort"),
    ("BM_Sort/n:{}/real_time", "n", "BM_Sort/real_time"), ("group/quick/{}", "/2", "group/quick"),
    ("pkg.Sort.run:kind=quick,n={}", "n", "pkg.Sort.run:kind=quick"),
    ("test_sort[{}-quick]", "/1", "test_sort[quick]"), ("time_sort({}, 'quick')", "/1", "time_sort('quick')"),
    ("sort n={}", "n", "sort"),
])  # fmt: skip
def test_parameters_come_from_the_names_of_every_tool(name: str, parameter: str, benchmark: str) -> None:
    """And from its slope; the benchmark is what is left of the name."""
    found = sp.compare_suite(suite(name.format)).over(parameter)[benchmark]
    assert [one.size for one in found.inputs] == list(SIZES)
    assert found.slope is not None
    assert found.slope.low < 0.1 < found.slope.high < 0.15
    assert found.crossing is not None
    assert 50 < found.crossing.low < 100 < found.crossing.high < 200
    # Beyond the inputs, though not by its lower bound
    assert sp.compare_suite(suite(crossing=10_400.0)).over("n")["sort"].crossing is None


def test_sizes_may_have_a_suffix() -> None:
    """Of a power of ten or two, not of a duration: m may be minutes."""
    rows = [
        ("x", Record(f"copy/size={size}", np.array([1.0, 1.1, 1.2, 1.3]), version=version))
        for size in ("512", "4kB", "1MiB", "1e9", ".5", "2m")
        for version in ("old", "new")
    ]
    named = sp.Suite.from_records((record.version or "", record) for _, record in rows)
    (found,) = sp.compare_suite(named).over("size")
    assert [one.size for one in found.inputs] == [0.5, 512.0, 4000.0, 2.0**20, 1e9, None]


def test_fields_of_files_are_parameters_too() -> None:
    """As hyperfine, JMH and pytest-benchmark have them; a name without its value stays whole."""
    named = suite("test_sort[{}]".format, fields=lambda n: (("n", str(n)),))
    assert [of.benchmark for of in sp.compare_suite(named).over("n")] == ["test_sort"]


def test_like_these_is_the_t_interval_of_the_logarithms() -> None:
    """Inputs are the unit: SciPy's test of the log speedups of the rows against 0."""
    result = sp.compare_suite(suite(crossing=1.0), protocols="mean")
    found = result.over("n")["sort"]
    logs = [c.log.centre for c in result.result.headlines if c.log]
    assert (found.like_these.low > 1) == (found.verdict == "faster")
    oracle = stats.ttest_1samp(logs, 0.0).confidence_interval(0.9)
    assert np.log([found.like_these.low, found.like_these.high]) == pytest.approx(oracle, rel=1e-6)


def test_only_counts_that_never_vary_have_a_line_without_errors() -> None:
    exact = sp.Suite.of_samples({f"f/n={n}": {"old": [n * n] * 5, "new": [n] * 5} for n in SIZES}, unit="")
    found = sp.compare_suite(exact).over("n")["f"]
    assert found.slope is not None
    assert found.slope.value == pytest.approx(1.0)


@pytest.mark.parametrize(("of", "parameter", "message"), [
    (suite(), "m", r"the parameters of these benchmarks are n"),
    (suite(sizes=(10,)), "n", r"sort: one input only \(n = 10\)"),
])  # fmt: skip
def test_what_has_no_inputs_is_refused(of: sp.Suite, parameter: str, message: str) -> None:
    with pytest.raises(sp.SpeedproofError, match=message):
        sp.compare_suite(of).over(parameter)
    with pytest.raises(sp.SpeedproofError, match="a trend is of typical runs or means"):
        sp.compare_suite(suite(), protocols="median").over("n")


def test_several_candidates_have_a_row_each() -> None:
    """Named by candidate, as there is one benchmark; what is proven, rounded towards 1, in either direction."""
    both = suite(crossing=1.0)
    third = {
        (key, "newest"): sp.Sample(sample.values * int(key.benchmark[7:]) ** 0.1, "s")
        for (key, version), sample in both.samples.items()
        if version == "old"
    }
    result = sp.compare_suite(sp.Suite((*both.versions, "newest"), {**both.samples, **third})).over("n")
    rows = [row for report in result.reports() for row in report.tables[0].rows]
    assert [row.name for row in rows] == ["new", "newest"]
    for row, of, word in zip(rows, result, ("faster", "slower"), strict=True):
        assert of.verdict == word
        shown = re.fullmatch(rf"([\d.]+)x {word}, at least ([\d.]+)x", row.cells[-1].text)
        assert shown is not None
        proven = of.like_these.low if word == "faster" else 1 / of.like_these.high
        assert proven - 0.01 <= float(shown[2]) <= proven


def test_words_and_two_inputs_have_no_trend() -> None:
    """They are still inputs, and the verdict is of inputs like these."""
    words = dict(zip(SIZES, ("a.txt", "b.txt", "c.txt", "d.txt"), strict=True))
    for of in (suite(lambda n: f"grep/file={words[n]}"), suite("grep/file={}".format, sizes=(10, 100))):
        result = sp.compare_suite(of).over("file")
        (found,) = result
        assert (found.slope, found.crossing) == (None, None)
        assert "inputs like these" in str(result)


@pytest.mark.parametrize(("names", "told"), [("ab", "a, b"), ("abcd", "a, b, c and 1 more")])
def test_what_has_no_such_parameter_is_left_out(names: str, told: str) -> None:
    others = sp.Suite.of_samples({name: {"old": [1.0, 1.1, 1.2], "new": [1.1, 1.2, 1.3]} for name in names})
    both = sp.Suite(others.versions, {**suite().samples, **others.samples})
    assert sp.compare_suite(both).over("n").problems == (f"without n: {told}",)


def test_a_parameter_of_one_version_is_named() -> None:
    """A field that only the reference's file has."""
    records = [(
        version,
        Record(f"f[{n}]", np.array([1.0, 1.1, 1.2]) * n, fields=(("n", str(n)),) * (version == "old")),
    ) for n in SIZES for version in ("old", "new")]  # fmt: skip
    with pytest.raises(sp.SpeedproofError, match="n is not the same in both versions"):
        sp.compare_suite(sp.Suite.from_records(records)).over("n")
