"""``import speedproof as sp``: what a user of Python meets."""

import csv
import html
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import O2, O3

import speedproof as sp
from speedproof.arrays import FloatArray
from speedproof.errors import FormatError, Parameter


def pair(n: int = 40, factor: float = 0.9) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(5)
    return rng.normal(10.0, 0.2, n), rng.normal(10.0 * factor, 0.2, n)


def test_every_public_name_is_there_and_says_what_it_takes() -> None:
    """Listed by ``dir``, with an example and a signature, also after the whole package was imported."""
    for name in ("speedproof.measuring.execute", "speedproof.reporting.gate"):
        import_module(name)
    modules = (sp, sp.mixture, sp.plot)
    for module, name in chain.from_iterable(((of, name) for name in of.__all__) for of in modules):
        found = getattr(module, name)
        assert name in dir(module)
        assert name == "__version__" or found.__doc__, name
        of_ours = getattr(found, "__module__", "").startswith("speedproof")
        plain = inspect.isclass(found) and issubclass(found, Enum | Exception)
        assert not of_ours or plain or "Examples\n" in found.__doc__, name
        if module is sp and (inspect.isroutine(found) or inspect.isclass(found)) and not plain:
            assert inspect.signature(found).parameters, name
            assert inspect.isclass(found) or "Parameters\n" in pydoc.plain(pydoc.render_doc(found)), name
    with pytest.raises(AttributeError, match="compaer"):
        sp.compaer  # noqa: B018


def test_the_annotations_that_the_program_leaves_out_come_when_asked() -> None:
    """As of a matplotlib or a pandas that it imports."""
    asked = "from numpy.typing import *; import numpy; print(ArrayLike, DTypeLike, NDArray[numpy.float64])"
    code = f"import atexit, sys; sys.argv[1:] = ['show', '-']; atexit.register(lambda: exec({asked!r}))"
    code += "; from speedproof.cli.main import entry; entry()"
    told = [
        subprocess.run([sys.executable, "-c", c], input="1\n2\n", capture_output=True, text=True, check=True)
        for c in (asked, code)
    ]
    assert told[1].stdout.endswith(told[0].stdout)


def test_a_row_is_a_process() -> None:
    """Values in two dimensions are nested: the protocols use one value a process. Nobody said they are seconds."""
    x, y = (values.reshape(6, 10) for values in pair(60))
    r = sp.compare(x, y)
    assert (r.median.reference.n, r.median.reference.observations) == (6, 60)
    assert sp.compare(x, y, nested="pool").median.reference.n == 60
    assert ("s" in re.findall(r"[\d.]+ (\w+)", str(r)), sp.sample(x).unit) == (False, "")


def test_few_runs_are_told_of_what_is_shown_alone() -> None:
    """Within a margin the mean may prove what the typical run, which is shown, leaves undecided."""
    unlike = 0
    for seed in range(60):
        x, y = (np.random.default_rng([seed, k]).normal(at, 0.3, 3) for k, at in enumerate((10.0, 10.1)))
        r = sp.compare(x, y, margin=0.05)
        assert ("Fewer than 4" in str(r)) == (r.verdict is not sp.Verdict.UNDECIDED)
        unlike += r.mean.verdict is not sp.Verdict.UNDECIDED and r.verdict is sp.Verdict.UNDECIDED
    assert unlike


def test_missing_values_are_left_out_and_told_of_arrays_as_of_frames() -> None:
    """NaN stands for a run that has no value, alone or in the rows of processes."""
    x, y = pair()
    lacking = np.insert(x, [3, 10], np.nan)
    r = sp.compare(lacking, y, unit="ms")
    assert r.speedup == sp.compare(x, y, unit="ms").speedup
    assert f"reference: 2 of {x.size + 2} values missing (NaN), left out" in str(r)
    columns = {"t": [*lacking, *y], "v": ["x"] * lacking.size + ["y"] * y.size}
    framed = sp.compare_suite(sp.Suite.from_frame(columns, value="t", version="v", unit="ms"))
    assert [one.speedup for one in framed] == [r.speedup]
    assert f"2 of {x.size + 2} in column 't' missing (NaN), left out" in str(framed)
    nested = sp.sample([[1.0, np.nan, 1.1], [2.0, 2.1, 2.2]])
    assert nested.processes is not None
    assert nested.processes.tolist() == [0, 0, 1, 1, 1]


def test_files_may_be_a_list_and_a_risk_is_told_as_its_complement() -> None:
    files = ["O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json"]
    assert sp.read(files) == sp.read(*files)
    untyped: Any = sp.compare
    with pytest.raises(
        sp.SpeedproofError, match=r"alpha=0\.1: give its complement, such as confidence=0\.95$"
    ):
        untyped(*pair(), alpha=0.1)


def test_several_candidates_ask_for_a_choice() -> None:
    """What speaks of two versions is refused while there are more, naming the remedy."""
    s = sp.compare_suite(sp.read(f"a={O2}", f"b={O3}", f"c={O2}"))
    with pytest.raises(sp.SpeedproofError, match=r"\.against"):
        _ = s.geometric_mean
    assert s.against("b").geometric_mean is not None
    with pytest.raises(sp.SpeedproofError, match=r"choose one of 'typical', .*'all'"):
        sp.compare_suite(sp.read(O2, O3), protocols="every")
    ranked, plain = (
        sp.rank(sp.read(f"a={O2}", f"b={O3}"), **of) for of in ({"resamples": 20}, {"mixtures": False})
    )
    assert str(plain) == str(ranked)  # no place depends on mixtures
    with pytest.raises(sp.SpeedproofError, match="choose one by its name"):
        _ = ranked.versions


@pytest.mark.parametrize("protocol", ["typical", "mean", "median"])
def test_versions_are_ranked_by_each_metric_as_by_it_alone(protocol: Any) -> None:
    """Of one benchmark on a typical run only, of several by geometric means, which medians have none of."""
    rng = np.random.default_rng(2)
    rows = [
        (b, metric, v, level * x)
        for metric, benchmarks in (("time", "a"), ("memory", "ab"), ("energy", "bc"))
        for b in benchmarks
        for level, v in ((1.0, "x"), (1.2, "y"), (1.5, "z"))
        for x in rng.normal(1.0, 0.02, 9).tolist()
    ]
    columns: dict[str, Any] = {name: name for name in ("benchmark", "metric", "version", "value")}
    suite = sp.Suite.from_frame(dict(zip(columns, zip(*rows, strict=True), strict=True)), **columns)
    ask = partial(sp.compare_suite, protocols=protocol)
    alone = {metric: ask(suite.select(metric=metric)).rankings for metric in suite.metrics}
    assert ask(suite, metric="all").rankings == {k: v for of in alone.values() for k, v in of.items()}
    ranked = {"typical": ["time", "memory", "energy"], "mean": ["memory", "energy"], "median": []}
    assert [metric for metric, of in alone.items() if of] == ranked[protocol]


def test_pictures_are_a_word_away() -> None:
    pytest.importorskip("matplotlib")
    suite = sp.read(f"O2={O2}", f"O3={O3}")
    ((name, axes),) = sp.pictures(suite["matmul"], "cdf")
    assert name.startswith("matmul")
    assert axes.get_legend_handles_labels()[1][:2] == ["O2 (40 runs)", "O3 (40 runs)"]
    ((name, axes),) = sp.pictures(suite, "forest")
    assert (name, len(axes.get_yticklabels())) == ("O3", len(suite))
    # Each version's only benchmark is matched, whatever it is called.
    ((_, axes),) = sp.pictures(sp.Suite.of_samples({"a": {"x": pair()[0]}, "b": {"y": pair()[1]}}), "cdf")
    assert axes.get_legend_handles_labels()[1][:2] == ["x (40 runs)", "y (40 runs)"]
    told: list[str] = []
    suite = sp.Suite.of_samples(
        {"a": {"x": [1.0]}, "b": {"x": pair()[0]}, "c": {"x": -pair()[0]}}, metric="gap"
    )
    drawn = dict(sp.pictures(suite, "qq", remark=told.append))
    assert told == ["note: a x: a probability plot needs four values or more that are not all equal"]
    # A log-normal plot beside the normal one, but of values below zero.
    sides = [drawn[name].figure.axes for name in ("b x", "c x")]
    assert [[(ax.get_title(loc="left"), ax.get_yscale()) for ax in axes] for axes in sides] == [
        [("b: x", "linear"), ("", "log")], [("c: x", "linear")]
    ]  # fmt: skip
    with pytest.raises(sp.SpeedproofError, match="all equal; try kind='order'"):
        sp.pictures(suite["a"], "qq")


def test_violins_draw_processes() -> None:
    """Of values that come in processes one a process, and the axis says so; an inch a version."""
    rng = np.random.default_rng(1)
    values = np.repeat(rng.normal(1.0, 0.1, 12), 5) + rng.normal(0.0, 1e-3, 60)
    nested = sp.Sample(values, "s", processes=np.repeat(np.arange(12), 5))
    widths = []
    for versions in ("ab", "abc", "abcd"):
        ((_, ax),) = sp.pictures(sp.Suite.of_samples({"b": dict.fromkeys(versions, nested)}), "violins")
        assert "one value a process" in ax.get_ylabel()
        dots = [line.get_ydata() for line in ax.lines if line.get_marker() == "_"]
        assert [np.size(points) for points in dots] == [12] * len(versions)
        widths.append(ax.figure.get_figwidth())
    assert np.diff(widths) == pytest.approx([1.0, 1.0])


def test_what_a_suite_answers_is_said_in_words() -> None:
    """No result shows its fields: neither printed nor at the prompt."""
    s = sp.compare_suite(sp.read(f"old={O2}", f"new={O3}"))
    told: list[object]
    adjusted, rank = s.adjusted("holm"), sp.rank(s.suite, mixtures=False)
    fitted = sp.mixture.fit(np.random.default_rng(1).normal(10, 1, 40))
    told = [s.geometric_mean, s.hpt.r_speedup(0.5), s.hpt.r_speedup(0.95), adjusted, adjusted.verdicts[0]]
    assert ([one.key.benchmark for one in rank], len(rank), "matmul" in rank) == (
        [one.benchmark for one in s],
        len(s),
        True,
    )
    told += [rank["matmul"], rank["matmul"].ranking, fitted, fitted.goodness(20)]
    for result in told:
        assert "=" not in str(result).replace("p = ", "").partition("(")[0]
        assert not str(result).startswith(type(result).__name__)
    assert all(repr(r).startswith("<") for r in told if r is not adjusted.verdicts[0])
    assert str(adjusted).splitlines()[0] == "3 faster, 3 undecided at a joint risk of 5 % (Holm)"
    assert str(adjusted).splitlines()[2].startswith("matmul: faster (adjusted p = ")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_goes_out_as_it_came_in(library: Any) -> None:
    """Who came with Polars gets Polars; any other can be asked for."""
    module = pytest.importorskip(library)
    x, y = pair()
    table = {"rev": ["a"] * x.size + ["b"] * y.size, "t": [*x.tolist(), *y.tolist()]}
    make = module.table if library == "pyarrow" else module.DataFrame
    s = sp.compare_suite(sp.Suite.from_frame(make(table), version="rev", value="t"))
    assert isinstance(s.to_frame(), type(make(table)))
    assert str(next(iter(s.to_frame()["verdict"]))) == "faster"
    assert isinstance(sp.compare_suite(sp.read(O2, O3)).to_frame(library), type(make(table)))


@pytest.mark.parametrize("higher", [True, False])
def test_a_unit_of_ones_own_asks_which_values_are_good(higher: bool) -> None:
    """Nobody knows whether fewer points are better; once it is said, the medians agree with the verdict."""
    x, y = pair()
    for call in (sp.sample, lambda values, **of: sp.Suite.of_samples({"a": values}, **of)):
        with pytest.raises(sp.SpeedproofError, match="higher_is_better=True or False"):
            call(x, unit="points")
        call(x, unit="points", higher_is_better=higher)
    r = sp.compare(x, y, unit="points", higher_is_better=higher)
    assert r.verdict is (sp.Verdict.SLOWER if higher else sp.Verdict.FASTER)
    assert "other way" not in str(r)
    table = {"rev": ["a"] * x.size + ["b"] * y.size, "v": [*x, *y]}
    s = sp.compare_suite(
        sp.Suite.from_frame(table, version="rev", value="v", unit="points", higher_is_better=higher)
    )
    assert s.result.headlines[0].verdict is r.verdict


def test_results_survive_pickling() -> None:
    """What comes back is equal, NaN included, and says the same."""
    suite, fit = sp.read(f"O2={O2}", f"O3={O3}"), sp.mixture.fit(pair()[0])
    for result in (
        sp.sample(pair()[0]), suite, sp.compare(*pair()), sp.compare_suite(suite), sp.gate(suite), fit, fit.model,
        sp.rank(suite, mixtures=False), sp.hpt(suite), sp.model(suite["matmul"], bootstrap=0), fit.goodness(20),
        sp.race(lambda: sum(range(2000)), lambda: sum(range(20)), seed=1),
    ):  # fmt: skip
        again: Any = pickle.loads(pickle.dumps(result))
        assert (again, hash(again), str(again)) == (result, hash(result), str(result))
    with pytest.raises(sp.SpeedproofError) as error:
        sp.read("no-such-file.json")
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    lower = sp.compare(*pair(), confidence=0.99).lower  # each end is one-sided, and a number like any other
    again = pickle.loads(pickle.dumps(lower))
    assert (again, again.sides, again.confidence) == (lower, 1, 0.99)
    found = FormatError("a.csv", "line 2", "give ", Parameter("by", "rev"))
    assert pickle.loads(pickle.dumps(found)).on_command_line() == "a.csv: line 2: give --by rev"


@pytest.mark.parametrize(("value", "why"), [
    (np.nan, "1 of 4 in column 't' missing (NaN), left out"),
    (-1.0, "it holds -1, and a time is never negative: correct or remove that value"),
])  # fmt: skip
def test_what_was_left_out_is_printed(value: float, why: str) -> None:
    """As the command line says it beside its answer; the report itself, which both share, is without."""
    table = {"n": ["a", "b"] * 8, "v": ["old"] * 8 + ["new"] * 8, "t": [value, *map(float, range(1, 16))]}
    suite = sp.Suite.from_frame(table, benchmark="n", version="v", value="t")
    told = f"left out: data frame: a: {why}"
    assert sp.remarks(suite) == (told,)
    gate = [sp.gate(suite)] if np.isnan(value) else []  # refuses what has no usable value
    for result in (sp.compare_suite(suite), *gate, sp.rank(suite, mixtures=False), sp.hpt(suite)):
        assert told in " ".join(str(result).split())
        assert result._repr_html_().count(html.escape(why)) == 1
        assert all(told not in note.text for report in result.reports() for note in report.notes)


def test_few_values_a_component_are_named() -> None:
    """Four components of twelve values are; two of sixty are not."""
    values = np.random.default_rng(0).normal(10, 1, 12)
    fits = [sp.mixture.fit(values, components=k) for k in (1, 2, 3, 4)]
    for k, fit in enumerate(fits, start=1):
        assert fit.overfitted == (k > 2)
        assert ("; fewer than 5 values a component, which may be chance" in str(fit)) == fit.overfitted
    few = next(fit for fit in fits if fit.overfitted)
    modelled = sp.model(sp.Suite.of_samples({"a": few.values}), components=4, bootstrap=0)
    assert "Fewer than 5 values a component, which may be chance." in str(modelled)
    clear = sp.mixture.fit(np.concatenate([pair(30)[0], pair(30)[0] + 5]))
    assert (clear.components, clear.overfitted) == (2, False)
    assert not sp.mixture.fit([1.0, 2.0], components=1).overfitted
    assert sp.mixture.fit(values, K_max=32).K_max == values.size // 3


def test_versions_that_beat_each_other_in_a_circle() -> None:
    """Efron's dice: each of three versions is faster than another, so that none is first."""
    rng = np.random.default_rng(1)
    dice = {"a": [2, 4, 9], "b": [1, 6, 8], "c": [3, 5, 7]}
    rolls = {v: rng.choice(sides, 1500) + rng.normal(0, 0.01, 1500) for v, sides in dice.items()}
    suite = sp.Suite.of_samples({"dice": {v: sp.sample(own, unit="s") for v, own in rolls.items()}})
    ranked = sp.rank(suite, mixtures=False)
    assert {v.place for v in ranked.versions} == {"2"}
    assert (ranked["dice"].ranking.winner, ranked["dice"].ranking.leading) == ("", [])
    assert ranked["dice"].advice.startswith("On a single run no version is shown to be the best. ")
    assert "No version is fastest: each is proven slower than another" in str(sp.compare_suite(suite))


@pytest.mark.parametrize("result", [
    lambda suite: sp.compare(*pair()), lambda suite: sp.compare_suite(suite), lambda suite: sp.hpt(suite),
    lambda suite: sp.model(suite, bootstrap=0),
    lambda suite: sp.speedup_test("tests/data/speedup_test_tool/plain.csv"),
], ids=["compare", "suite", "hpt", "model", "speedup test"])  # fmt: skip
def test_a_frame_holds_what_a_csv_holds(result: Callable[[sp.Suite], Any], tmp_path: Path) -> None:
    made = result(sp.read(O2, O3))
    sp.report(made, tmp_path / "out.csv")
    header, *rows = csv.reader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    frame = made.to_frame("pyarrow")
    assert [*dict.fromkeys(header)] == [name for name in frame.column_names if name in header]
    assert (frame.num_columns, frame.num_rows) == (len(header), len(rows))
    assert [str(v) for v in frame.column(0).to_pylist()] == [row[0] for row in rows]
