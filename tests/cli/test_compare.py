"""``speedproof compare`` and its neighbours as a user meets them: words, exit codes, pipes, terminals."""

import io
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from tests.command import O2, O3, ROOT, Terminal, refused, speedproof, table, write

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.cli.files import report_leftovers
from speedproof.cli.main import main
from speedproof.data.record import Skipped
from speedproof.values import seconds

FORMATS = ROOT / "tests" / "data" / "formats"


@pytest.fixture
def pair() -> tuple[str, str]:
    rng = np.random.default_rng(1)
    return write("old.txt", rng.normal(100, 1, 40)), write("new.txt", rng.normal(90, 1, 40))


def test_fail_on_is_opt_in(pair: tuple[str, str]) -> None:
    """Exit code 1 only when a condition was asked for and is met; what the candidate lacks is not faster."""
    times = dict.fromkeys("xy", (1.0, 1.1, 1.2))
    less = [table("a.csv", times), table("b.csv", {"x": times["x"]})]
    for files, conditions, why in (
        (pair[::-1], [], ""), (pair[::-1], ["slower"], "old is slower"), (pair, ["slower"], ""),
        (pair, ["not-faster", "undecided"], ""),
        (less, [], ""), (less, ["slower"], ""), (less, ["missing"], "y is missing"),
        (less, ["not-faster"], "b is undecided, y is missing"),
    ):  # fmt: skip
        asked = [word for condition in conditions for word in ("--fail-on", condition)]
        code, _, err = speedproof("compare", *files, *asked)
        said = f"exit code 1: {why} (--fail-on {' '.join(conditions)})\n"
        assert (code, "exit code" in err, said * bool(why) in err) == (bool(why), bool(why), True), err


def test_a_comparison_is_printed_before_its_plan(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan takes long: whoever interrupts it has the comparison."""

    def interrupted(*given: object, **asked: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sp, "plan", interrupted)
    code, out, _ = speedproof("compare", *pair, "--power", "2%")
    assert (code, out.startswith("new is ")) == (130, True)


FILES = {
    "kinds.csv": "benchmark,kind,value\nb,v1,1\nb,v2,2\nb,v1,1\nb,v2,2\n",
    "base.txt": "1\n-2\n3\n",
    "x": "1\n2\n3\n",
}


@pytest.mark.parametrize(("line", "message"), [
    ("compare nowhere.json x.json", "nowhere.json"), (f"compare {FORMATS}/pyperf.json", "only one version"),
    (f"compare {O2} {O3} --reference O9", "available: O2, O3"),
    (f"compare {O2} {O3} --metric joules", "available: time"),
    (f"compare {O2} {O3} --only nothing*", "no benchmark matches 'nothing*' ("),
    (f"compare {O2} {O3} --skip *", "no benchmark matches '*' and not '*' ("),
    ("compare old=x old=base.txt", "the files of one version stand together: old=FILE,FILE"),
    (f"compare {O2} {O3} --only colatz", "do you mean collatz?"),
    (f"compare {O2} {O3} --column x", "'x' lacks a ="), (f"suite {ROOT}/README.md", "README.md"),
    (f"compare {FORMATS}/go-changes.txt --by nothing", "goos"),
    ("compare kinds.csv", "tell versions apart by a field (--by kind)"),
    ("compare base.txt x again=x --unit s", "no measurement of base can be used"),
    ("run true true --max-runs 2 --save x", "nothing is appended"),
    ("show nowhere.json", "nowhere.json"), ("help comprae", "unknown command comprae; did you mean compare?"),
    ("help history ad", "unknown command ad; did you mean add?"), ("help show x", "unknown command x; "),
    ("gate --baseline x", "--baseline needs --candidate FILE; give that, too"),
    ("gate --candidate x", "--candidate needs --baseline FILE; give that, too"),
    *((line, "give the results of the baseline and of the candidate: speedproof gate main.json branch.json")
      for line in ("gate", "gate x --baseline base.txt --candidate x")),
])  # fmt: skip
def test_errors_name_the_remedy_and_exit_2(line: str, message: str) -> None:
    """No traceback reaches a user; what is wrong is said on standard error."""
    for name, text in FILES.items():
        Path(name).write_text(text)
    err = refused(*line.split())
    assert ("speedproof: error: " in err, message in err) == (True, True), err


def test_every_metric_is_named_and_counters_have_no_clock() -> None:
    """A sheet a metric, of one benchmark as of several; what always is 0 is no matter of a clock."""
    rows = [f"{version},{metric},{unit},{value}\n" for version in ("old", "new") for metric, unit, values in (
        ("time", "s", [1.5, 1.6, 1.4, 1.7, 1.5]), ("faults", "count", [0] * 5),
        ("switches", "count", [3, 4, 5, 4, 6]),
    ) for value in values]  # fmt: skip
    Path("runs.csv").write_text("".join(["version,metric,unit,value\n", *rows]))
    said = "time is compared; others with --metric: faults, switches, or all"
    assert said in speedproof("compare", "runs.csv")[2]
    code, out, err = speedproof("compare", "runs.csv", "--metric", "all", "--explain")
    assert said not in err
    sheets = [line.split()[0] for line in out.splitlines() if "ndecided whether" in line and line[0] != " "]
    assert (code, sheets) == (0, ["time:", "faults:", "switches:"])
    assert "clock" not in out[out.index("faults:") : out.index("switches:")]
    table = speedproof("compare", "runs.csv", "--metric", "all")[1]
    assert table.startswith("new against old: 3 metrics")
    # Of six claims: 6 * 4/5 / 2^n is at most 0.05 from seven runs on.
    assert "At a joint risk of 5 % (Holm): none; it takes 7 runs of each version" in table


@pytest.mark.parametrize("margin", ["2", "1e9", "0", "0%", "0.0", "-1%", "100%", "inf", "x"])
def test_margins_that_nobody_means(pair: tuple[str, str], margin: str) -> None:
    for command in ("compare", "gate"):
        err = refused(command, *pair, f"--margin={margin}")
        told = "do you mean 2%?" in err, "between 0 and 1" in err
        # To a gate, none at all is another policy.
        assert told == (margin == "2", margin != "x" and (command, margin[0]) != ("gate", "0"))


@pytest.mark.parametrize(("out", "option", "environment", "coloured"), [
    (io.StringIO, None, {}, False), (io.StringIO, None, {"FORCE_COLOR": "1"}, True),
    (io.StringIO, None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    (io.StringIO, "always", {"NO_COLOR": "1"}, True), (io.StringIO, "never", {"FORCE_COLOR": "1"}, False),
    (io.StringIO, "auto", {"FORCE_COLOR": "1", "COLUMNS": "wide"}, True),
    (Terminal, None, {"TERM": "xterm"}, True), (Terminal, None, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    (Terminal, None, {"TERM": "dumb"}, False),
])  # fmt: skip
def test_the_option_outweighs_the_environment(
    out: type[io.StringIO], option: str | None, environment: dict[str, str], coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """--color decides, then NO_COLOR, then FORCE_COLOR, then the terminal; a COLUMNS that is no number is none."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    words = ["compare", O2, O3, *(["--color", option] if option else [])]
    assert main(words, Console(shown := out(), io.StringIO())) == 0
    assert ("\x1b[" in shown.getvalue()) is coloured


def test_a_remark_on_a_terminal_is_no_wider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    Console(io.StringIO(), terminal).remark("as many words as this " * 9)
    lines = terminal.getvalue().splitlines()
    assert " ".join(" ".join(lines).split()) == f"speedproof: {'as many words as this ' * 9}".rstrip()
    assert 40 < max(map(len, lines)) <= 60


@pytest.mark.parametrize(("left_out", "named"), [(11, 11), (12, 10)])
def test_of_many_that_are_left_out_the_first_are_named(left_out: int, named: int) -> None:
    skipped = tuple(Skipped(f"{i}.csv", "", "", f"no number {i}") for i in range(left_out))
    remarks = io.StringIO()
    report_leftovers(sp.Suite((), {}, skipped=skipped), Console(io.StringIO(), remarks))
    said = [f"speedproof: left out: {one}" for one in skipped[:named]]
    more = [f"speedproof: left out: {left_out - named} more; speedproof show --all names them"]
    assert remarks.getvalue().splitlines() == said + more * (named < left_out)


@pytest.mark.parametrize(("columns", "widest"), [(200, 80), (80, 80), (60, 60), (20, 52)])
def test_help_is_no_wider_than_can_be_read(
    columns: int, widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a wide terminal, too; on a narrow one no narrower than options can stand in. Examples are as they are."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = speedproof("compare", "--help")[1].partition("examples:")[0].splitlines()
    assert widest - 15 < max(map(len, lines)) <= widest


def test_pooled_values_have_a_remedy() -> None:
    header, pooled = "benchmark,note,value\n", "b,x,1\nb,y,1.1\n" * 5
    rows = "".join(f"c{i},k{i},1\nc{i},k{i},2\n" for i in range(9))
    Path("b.csv").write_text(header + pooled)
    assert "--by note tells them apart" in " ".join(speedproof("compare", "b.csv", "b.csv")[2].split())
    # Not a field that nearly every benchmark has another value of.
    Path("b.csv").write_text(header + pooled + rows)
    assert "pooled over note (x, y) in 1 benchmark\n" in speedproof("compare", "b.csv", "b.csv")[2]
    Path("b.csv").write_text(header + rows)
    err = refused("compare", "b.csv", "--by", "note")
    assert ("and 4 more" in err, err.count("\n")) == (True, 8)


def test_runs_are_planned_for_whoever_is_compared() -> None:
    """Not for a candidate without any benchmark of the reference's; by whichever quantile is asked for."""
    values = np.random.default_rng(1).normal([[10.0], [10.0], [9.0]], 0.1, (3, 12))
    sides = zip(("old", "apart", "new"), "bcb", values, strict=True)
    files = [table(f"{version}.csv", {name: of}) for version, name, of in sides]
    code, out, _ = speedproof("compare", *files, "--unit", "ms", "--power", "5%", "--quantile", "0.6")
    assert (code, out.count("To find 5 % of new in "), "(at P60, risk 5 %)" in out) == (0, 1, True), out


def test_a_mark_of_the_details_has_a_footnote() -> None:
    files = [write(f"{start}.txt", range(start, start + 10)) for start in (10, 20)]
    _, out, _ = speedproof("compare", *files, "--details")
    assert out.count("! An assumption was not met: the true risk may be larger.") == 1


@pytest.mark.parametrize(("text", "value"), [
    ("20s", 20), ("2m", 120), ("1 h", 3600), ("0.5", 0.5), ("90sec", 90),
    *((text, None) for text in ("", "s", "3q", "-1", "nan", "inf", "0", "0m")),
])  # fmt: skip
def test_times_have_units(text: str, value: float | None) -> None:
    with nullcontext() if value else pytest.raises(ValueError, match="time"):
        assert seconds(text) == value


def test_a_mean_is_that_of_the_mean_protocol_and_each_protocol_lists_what_fails() -> None:
    """Of values in processes: NumPy's mean of the means of processes; a long last value pulls them up."""
    rng = np.random.default_rng(3)
    runs = {v: rng.normal(100 * f, 1, (12, 5)) for v, f in (("old", 1.0), ("new", 0.9))}
    for values in runs.values():
        values[:, -1] *= 1.5
        values[6:, 0] *= 1.3
    rows = [f"{version},{i},{x}\n" for version, of in runs.items() for (i, _), x in np.ndenumerate(of)]
    Path("nested.csv").write_text("".join(["version,process,time\n", *rows]))
    out = speedproof("compare", "nested.csv", "--unit", "ms", "--explain")[1]
    for version, values in runs.items():
        row = next(line for line in out.splitlines() if re.match(rf"{version} .* 12$", line))
        assert f"{values.mean():#.4g} ms" in row, row
    parts = re.split(r"^(?=(?:mean|median|single run): )", out, flags=re.MULTILINE)
    assert len(parts) == 4
    for part in parts[1:]:
        assert re.search("as above: |  FAILS ", part)


@pytest.mark.parametrize("asked", [
    f"{O2} {O3} --modes", f"{ROOT}/examples/sizes/session.jsonl --over n --metric time",
])  # fmt: skip
def test_what_explains_nothing_is_asked_beside_an_explanation(asked: str) -> None:
    code, out, _ = speedproof("compare", *asked.split(), "--explain")
    assert code == 0
    assert "A check fails where p <= 0.05" in " ".join(out.split())
