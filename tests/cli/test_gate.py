"""``speedproof gate`` as a pipeline meets it: exit codes, settings, summaries."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.command import O2, O3, ROOT, hyperfine, refused, speedproof, table
from tests.command import write as plain

import speedproof as sp
from speedproof.data.record import Record
from speedproof.errors import FormatError
from speedproof.options import Gating, read_settings


def gate(baseline: str, candidate: str, *options: str) -> tuple[int, str, str]:
    return speedproof("gate", "--baseline", baseline, "--candidate", candidate, *options)


def write(name: str, seed: int, runs: int = 30, noise: float = 0.01, **factors: float) -> str:
    """Write a CSV file of benchmarks, each with its own slowdown."""
    rng = np.random.default_rng(seed)
    return table(name, {b: factor * rng.normal(10, 10 * noise, runs) for b, factor in factors.items()})


@pytest.fixture
def three() -> dict[str, str]:
    """A baseline, and candidates that are alike, slower, and too noisy to tell."""
    return {
        "base": write("base.csv", 1, json_dumps=1, json_loads=1, xml=1),
        "same": write("same.csv", 2, json_dumps=1, json_loads=1, xml=1),
        "slow": write("slow.csv", 3, json_dumps=1.1, json_loads=1, xml=1),
        "noisy": write("noisy.csv", 4, noise=0.15, json_dumps=1, json_loads=1, xml=1),
    }


def test_undecided_is_the_users_choice(three: dict[str, str]) -> None:
    """--undecided turns 3 into 1 or 0 and says so; it touches nothing else."""
    for choice, code in (("fail", 1), ("pass", 0), ("report", 3)):
        found, out, err = gate(three["base"], three["noisy"], "--undecided", choice)
        assert (found, "UNDECIDED" in out, "undecided" in err) == (code, True, choice != "report")
    assert gate(three["base"], three["slow"], "--undecided", "pass")[0] == 1
    assert gate(three["base"], three["same"], "--undecided", "fail")[0] == 0


def result_of(*words: str) -> tuple[dict[str, Any], set[tuple[str, float]]]:
    """The rules of a gate, and what it demands."""
    result = json.loads(gate(*words, "--json")[1])["gate"]
    return result["rules"], {(row["demand"]["policy"], row["demand"]["margin"]) for row in result["rows"]}


def test_settings_and_options(three: dict[str, str]) -> None:
    """[gate] is read from the working directory or --config; options win; patterns apply to their benchmarks."""
    base, slow = three["base"], three["slow"]
    Path("speedproof.toml").write_text('[gate]\nmargin = "25%"\n')
    code, _, err = gate(base, slow)
    assert (code, "speedproof.toml sets margin\n" in err) == (0, True)
    code, _, err = gate(base, slow, "--margin", "2%")
    assert (code, "speedproof.toml" in err) == (1, False)
    Path("unsure.toml").write_text('[gate]\npolicy = "proven-improvement"\nundecided = "fail"\n')
    code, _, err = gate(base, base, "--config", "unsure.toml")
    assert (code, "unsure.toml sets policy, undecided\n" in err) == (1, True)
    assert "undecided, which is to fail" in err
    Path("other.toml").write_text(
        '[[gate.benchmark]]\npattern = "json_d*"\nmargin = 0.25\n'
        '[[gate.benchmark]]\npattern = "jsn_*"\nmargin = 0.25\n'
    )
    code, out, err = gate(base, slow, "--config", "other.toml")
    assert (code, "'jsn_*' of the settings matches no benchmark" in err) == (0, True)
    assert re.search(r"^pass +json_dumps .*\+25 %$", out, re.MULTILINE)
    assert re.search(r"^pass +xml .*\+2 %$", out, re.MULTILINE)
    Path("all.toml").write_text(
        '[gate]\nmargin = 0.3\nconfidence = "99%"\nmultiplicity = "bh"\npolicy = "equivalence"\n'
        'undecided = "fail"\nprotocol = "mean"\n'
    )
    once = {"look": 1, "looks": 1, "anytime": False, "family": 0, "share": 1}
    rules, demands = result_of(base, slow, "--config", "all.toml")
    assert rules == {"alpha": 0.01, "multiplicity": "bh", "protocol": "mean", **once}
    assert demands == {("equivalence", 0.3)}
    options = ["--confidence", "0.9", "--multiplicity", "none", "--policy", "no-regression"]
    options += ["--protocol", "median", "--margin", "1%", "--config", "all.toml"]
    rules, demands = result_of(base, slow, *options)
    assert rules == {"alpha": 0.1, "multiplicity": "none", "protocol": "median", **once}
    assert demands == {("no-regression", 0.01)}


@pytest.mark.parametrize(("text", "where", "message"), [
    ("[gate", "", "not TOML"), ("[gat]\n", "gat", "no such key; did you mean 'gate'?"),
    ("# café", "byte 6", "not TOML, which is UTF-8"),
    ("[gate]\nmargins = 1\n", "gate.margins", "did you mean 'margin'?"),
    ("[gate]\nmargin = true\n", "gate.margin", 'write 0.02 or "2%"'),
    ("[gate]\nmargin = -1\n", "gate.margin", "between 0 and 1"),
    ('[gate]\nmargin = "wide"\n', "gate.margin", "is not a number"),
    ("[gate]\nconfidence = 95\n", "gate.confidence", "between 0 and 1"),
    ("[gate]\nquantile = true\n", "gate.quantile", 'write 0.99 or "99%"'),
    ('[gate]\npolicy = "none"\n', "gate.policy", "no-regression, proven-improvement, equivalence"),
    ('[gate]\nprotocol = "both"\n', "gate.protocol", "mean, median"),
    ("[gate]\nundecided = 3\n", "gate.undecided", "report, fail, pass"),
    ("gate = 3\n", "gate", "must be a table"),
    ('[gate.benchmark]\npattern = "x"\n', "gate.benchmark", "double brackets"),
    ("[[gate.benchmark]]\nmargin = 1\n", "gate.benchmark[1]", "a pattern is missing"),
    ("[[gate.benchmark]]\npattern = 3\n", "gate.benchmark[1].pattern", "must be a text"),
    ('[[gate.benchmark]]\npattern = "x"\nignore = "yes"\n', "gate.benchmark[1].ignore", "true nor false"),
    ('[[gate.benchmark]]\npattern = "x"\nprotocol = "mean"\n', "gate.benchmark[1].protocol", "no such key"),
    ("[gate]\nbenchmark = [3]\n", "gate.benchmark[1]", "must be a table"),
])  # fmt: skip
def test_errors_in_settings_name_file_and_key(text: str, where: str, message: str) -> None:
    Path("s.toml").write_text(text, encoding="latin-1")
    with pytest.raises(FormatError) as error:
        read_settings("s.toml")
    assert (error.value.path, error.value.where) == ("s.toml", where)
    assert message in error.value.message
    assert refused("gate", O2, O3, "--config", "s.toml").startswith("speedproof: error: s.toml")


def test_the_manuals_settings_are_read() -> None:
    """The example of docs/gate.md has every key, and each is understood; later tables come after earlier ones."""
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    Path("speedproof.toml").write_text(text.split("```toml\n")[1].split("```")[0])
    found = read_settings("speedproof.toml")
    assert None not in (found.margin, found.confidence, found.policy, found.undecided, found.multiplicity)
    assert found.protocol is not None
    assert [entry.pattern for entry in found.benchmark] == ["json_*", "*_io", "net_io"]
    assert [entry.ignore for entry in found.benchmark] == [None, None, True]
    Path("empty.toml").write_text("")
    assert read_settings("empty.toml") == Gating()


def test_several_policies_in_one_sentence(three: dict[str, str]) -> None:
    """A pass says what was proven of how many; the summary names what the settings ignore."""
    Path("speedproof.toml").write_text(
        '[[gate.benchmark]]\npattern = "json_*"\npolicy = "equivalence"\n'
        + "".join(f'[[gate.benchmark]]\npattern = "gone_{i}"\nignore = true\n' for i in range(9))
    )
    text = Path(three["base"]).read_text() + "".join(f"gone_{i},1\ngone_{i},2\n" for i in range(9))
    Path("more.csv").write_text(text)
    code, out, _ = gate("more.csv", three["same"], "--markdown", "s.md")
    assert code == 0
    assert "the same within 2 % (2) and not slower by more than 2 % (1)" in " ".join(out.split())
    assert "gone\\_2 and 6 more" in Path("s.md").read_text(encoding="utf-8")


def test_a_benchmark_with_other_metrics_is_missing_by_its_metric() -> None:
    text = "".join(f"{b},time,{1 + i / 100},s\n" for b in "xy" for i in range(9))
    for name, rows in (("old", text), ("new", text.replace("y,time", "y,memory").replace("8,s", "9,s"))):
        Path(f"{name}.csv").write_text(f"benchmark,metric,value,unit\n{rows}")
    code, out, _ = gate("old.csv", "new.csv")
    assert (code, "new has memory of it, not time" in " ".join(out.split())) == (1, True)


def test_two_versions_of_one_file() -> None:
    """FILE:VERSION on both sides; anything else that is not one version a file is refused with the remedy."""
    rows = [f"x,{v},{1 + (5 * i % 12 + ord(v[0]) % 5) / 5000}" for v in ("a", "b", "c:d") for i in range(12)]
    Path("v.csv").write_text("\n".join(["benchmark,version,value", *rows, ""]))
    table("w.csv", {"x": [1, 2]})
    hyperfine("h.json", {"p": 1.0 + np.arange(9) / 99, "q": 0.5 + np.arange(9) / 99})
    sides = (("h.json:p", "h.json:q"), ("v.csv:a", "v.csv:c:d"), ("v.csv:a", "w.csv"))
    assert [gate(*one)[0] for one in sides] == [0, 0, 3]
    code, out, _ = gate("v.csv:b", "v.csv:a")
    assert (code, out.startswith("PASS: a is not slower by more than 2 %")) == (0, True)
    assert re.search(r"^ +a +old ", gate("v.csv:a", "old=v.csv:b")[1], re.MULTILINE)
    Path("other").mkdir()
    Path("other/v.csv").write_text(Path("v.csv").read_text())
    lines = speedproof("compare", "v.csv:a", "other/v.csv:a")[1].splitlines()
    assert {"v:a", "other/v:a"} <= {line.split()[0] for line in lines if line}
    for command in ("compare", "hpt", "rank", "show", "model"):
        code, out, err = speedproof(command, "v.csv:b", "v.csv:c:d", "--json")
        assert (code, {*re.findall(r'"(a|b|c:d)"', out)}) == (0, {"b", "c:d"}), err
    for words, message in (
        (("v.csv", "w.csv"), "hold v:a, v:b, v:c:d, w; write each to a file of its own"),
        (("v.csv:a", "v.csv"), "hold a, v:a, v:b, v:c:d; write each to a file of its own"),
        (("v.csv:a", "v.csv:e"), "there is no version e; available: a, b, c:d"),
        (("u.csv:a", "u.csv:b"), "u.csv:a: no such file; a gate measures with --suite, --revisions or --driver"),
        (("w.csv",), "there is only one version (w); name the file of another one"),
        # Two commands of one file are two benchmarks, unless somebody says otherwise.
        (("h.json",), "hold p, q; write each to a file of its own"),
    ):  # fmt: skip
        assert message in refused("gate", *words)


def test_a_gate_matches_benchmarks_as_compare_does() -> None:
    """By position, or by a parameter; without them both name what helps."""
    slow, fast = (level + 5 * np.arange(9) % 9 / 99 for level in (1.0, 0.5))
    old = hyperfine("old.json", {"./old p": slow, "./old q": slow})
    new = hyperfine("new.json", {"./new p": fast, "./new q": fast})
    more = hyperfine("more.json", dict.fromkeys("abc", fast))
    one = table("one.csv", {"f lib=a": slow, "f lib=b": fast, "g lib=a": slow, "g lib=b": fast})
    for command in ("compare", "gate"):
        assert "--match position compares them by their places" in refused(command, old, new)
        assert "FILE:COMMAND takes one command of a file" in refused(command, old, more)
        for words in ((old, new, "--match=position"), (one, "--by=lib"), (f"{old}:./old p", f"{more}:c")):
            assert speedproof(command, *words)[0] == 0


def test_nothing_to_hold_the_candidate_to(three: dict[str, str]) -> None:
    """No benchmark left is an error, not a pass; what was renamed has vanished, or is an error."""
    assert gate(three["base"], write("fresh.csv", 6, xml=1, fresh=1), "--only", "fresh")[0] == 2
    Path("speedproof.toml").write_text('[[gate.benchmark]]\npattern = "*"\nignore = true\n')
    code, _, err = gate(three["base"], three["same"])
    assert (code, "all 3 are ignored" in err) == (2, True)
    Path("speedproof.toml").unlink()
    code, out, _ = gate(write("old.csv", 1, before=1, same=1), write("new.csv", 2, after=1, same=1))
    assert (code, "\nMISSING  before " in out) == (1, True)
    old = write("old.csv", 1, same=1, **{f"b{i}": 1 for i in range(14)})
    for more, shown in (((), 12), (("--all",), 14)):  # the usual dozen
        out = gate(old, "new.csv", *more)[1]
        assert (out.count("\nMISSING "), "... 2 more missing" in out) == (shown, not more)
    old, new = write("old.csv", 1, before=1), write("new.csv", 2, after=1)
    for command in ("gate", "compare"):
        code, _, err = speedproof(command, old, new)
        assert (code, "old has before (time)" in err, "new has after (time)" in err) == (2, True, True)


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_a_pattern_that_matches_nothing_is_said(command: str) -> None:
    """Of --skip as of --only, where another pattern lets something through; what matches is not mentioned."""
    files = [write(f"{v}.csv", i, net_io=1, parse=1) for i, v in enumerate("ab")]
    for options, said in (
        (("--skip", "net_oi"), ["net_oi"]), (("--skip", "net_*"), []),
        (("--only", "par*", "--only", "prase"), ["prase"]),
    ):  # fmt: skip
        err = speedproof(command, *files, *options)[2]
        notes = [line for line in err.splitlines() if "matches no" in line]
        assert notes == [f"speedproof: note: the pattern {given!r} matches no benchmark" for given in said]


def test_what_of_the_reference_cannot_be_used_is_refused(tmp_path: Path) -> None:
    """In Python, too, unless it is left out; a missing value is no more than that."""
    for name in ("old", "new"):
        (tmp_path / f"{name}.csv").write_text(
            "benchmark,time\n" + "".join(f"a,1.{i}\nb,NA\n" for i in range(4))
        )
        (tmp_path / f"{name}.txt").write_text("1.0\nNaN\n1.1\n1.2\n1.3\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("old", "new")]
    code, _, err = gate(*files)
    assert (code, "leave their benchmarks out (--skip)" in err) == (2, True)
    with pytest.raises(sp.SpeedproofError, match="cannot be used"):
        sp.gate(sp.read(*files))
    assert gate(*files, "--skip", "b")[0] == 3
    assert sp.gate(sp.read(*files).select(skip="b")).exit_code == 3
    assert gate(*(path.replace("csv", "txt") for path in files))[0] == 3


def looked(number: int, *files: str, of: int = 3, more: Sequence[str] = ()) -> tuple[int, str, str]:
    return gate(*files, "--look", f"{number}/{of}", "--open", "open", *more)


def of_commands(name: str, seed: int, runs: int, noise: float, **factors: float) -> str:
    """Write a file of hyperfine's, whose benchmarks may have any name."""
    rng = np.random.default_rng(seed)
    return hyperfine(name, {c: f * rng.normal(10, 10 * noise, runs) for c, f in factors.items()})


def test_looks_split_the_risk_and_leave_what_is_open() -> None:
    """Ten runs decide some; what they leave is listed, and more runs of those alone decide the rest."""
    close = {"# close": 1.0, "a b/[c]": 1.0}
    old, new = (
        of_commands(f, i, 12, 0.06, clear=s, **close) for i, (f, s) in enumerate({"a": 1.0, "b": 0.6}.items())
    )
    code, out, err = looked(1, old, new, of=2, more=("--undecided", "pass"))
    # Only the last look may be told what undecided means.
    parts = "97.5 %", "Look 1 of 2: measure what is open again"
    assert (code, [part in out for part in parts]) == (3, [True, True]), out
    # Nothing but names, whatever they begin with.
    assert Path("open").read_text().splitlines() == list(close)
    assert "open: 2" in err
    again = (of_commands(f, i, 300, 0.03, **close) for i, f in enumerate("cd"))
    code, out, err = looked(2, *again, of=2, more=("--junit", "junit.xml"))
    assert (code, Path("open").read_text()) == (0, ""), out
    # The answer is that of all looks.
    assert re.search("none of 3 benchmarks.*over all 2 looks", " ".join(out.split()))
    cases = ElementTree.parse("junit.xml").iter("testcase")
    assert {case.get("name") for case in cases} == {"clear", *close}


def test_what_an_earlier_look_left_open_must_be_there() -> None:
    """A gate must not pass by forgetting what it asked."""
    close = write("a.csv", 1, 8, 0.06, close=1.0), write("b.csv", 2, 8, 0.06, close=1.0)
    assert looked(1, *close)[0] == 3
    left = Path("open.look").read_bytes()
    code, _, err = looked(2, *close)  # its own runs again: the look is not spent
    assert (code, Path("open.look").read_bytes()) == (2, left)
    assert "look 2 of 3 was given the runs of look 1: measure what is open anew" in " ".join(err.split())
    one = write("a.csv", 1, other=1.0), write("b.csv", 2, other=1.0)
    code, _, err = looked(2, *one)
    told = "close: left open by the look before, but not measured again for"
    assert (code, told in " ".join(err.split())) == (2, True)
    for words, message in (
        (
            ("--look", "3/3", "--open", "open"),
            "holds look 1 of 3, not look 2 of 3; --look 2/3 is the next one",
        ),
        (("--look", "2/4", "--open", "open"), "holds look 1 of 3, not look 1 of 4"),
        (("--look", "2/3", "--open", "nowhere"), "nowhere.look does not hold what look 1 found"),
        (("--look", "2/3"), "needs --open FILE"),
        (("--look", "4/3"), "4 exceeds 3, the number of looks"),
        (("--look", "0/3"), "not the number of this look and the total"),
        (("--open", "open"), "needs --look K/N"),
    ):
        assert message in " ".join(refused("gate", *one, *words).split())


@pytest.mark.parametrize(
    "lost", ["--- FAIL: BenchmarkB-8", "--- FAIL: BenchmarkB", "BenchmarkB-8 9 NaN ns/op"]
)
def test_what_cannot_be_used_is_missing_or_an_error(lost: str) -> None:
    """A benchmark whose values are lost fails a candidate, and is an error of a baseline, however it was lost."""
    whole = [f"Benchmark{name}-8 9 {100 + i} ns/op" for name in "AB" for i in (3, 1, 4, 2)]
    Path("whole.txt").write_text("\n".join(whole))
    Path("part.txt").write_text("\n".join([*whole[:4], lost]))
    code, out, err = gate("whole.txt", "part.txt")
    assert (code, "MISSING  B" in out, "left out: part.txt: line 5: B: " in err) == (1, True, True)
    code, out, err = gate("part.txt", "whole.txt")
    assert (code, out, "part.txt: line 5: B: " in err) == (2, "", True)


@pytest.mark.parametrize("lost", ['{"results": [{"command": "b", "ti', ""])
@pytest.mark.parametrize("side", ["old", "new"])
def test_a_folder_with_a_file_that_cannot_be_read_does_not_pass(lost: str, side: str) -> None:
    """An error, also in a corpus; files that are no results do not matter, nor what --where leaves out."""
    for seed, name in enumerate(("old", "new")):
        Path(name).mkdir()
        write(f"{name}/a.csv", seed, a=1.0)
        Path(name, "notes.txt").write_text("as of Monday\n")
    files, corpus = ("old", "new", "--margin", "50%"), ("c:old", "c:new", "--margin", "50%")
    assert gate(*files)[0] == 0
    Path(side, "b.json").write_text(lost)
    assert speedproof("corpus", "build", "old", "new", "-o", "c")[0] == 0
    for asked in (files, corpus, (*corpus, "--where", "true")):
        code, out, err = gate(*asked)
        assert (code, out, f"\n  {side}/b.json: " in err) == (2, "", True), err
    assert gate(*corpus, "--where", "file LIKE '%.csv'")[0] == 0
    code, _, err = speedproof("compare", "old", "new", "--fail-on", "missing")
    assert (code, f"exit code 1: {side}/b.json: " in err) == (1, True)
    assert f"left out: {side}/b.json: " in speedproof("corpus", "compare", "c", "--workers", "1")[2]


def test_a_gate_that_passed_stays_passed() -> None:
    """And only a recorded pass is one."""
    old, new = write("a.csv", 1, x=1.0), write("b.csv", 2, x=0.5)
    assert looked(1, old, new)[0] == 0
    for number in (2, 3):
        code, out, err = looked(number, old, "not-there.csv")
        assert (code, "PASS" in out, "Look 1 of 3 decided." in out) == (0, True, True)
        assert (
            "look 1 of 3 decided: this is its answer about b against a, and the files given now were" in err
        )
    for left in (b"", b"close\n", b"\x80"):
        Path("open.look").write_bytes(left)
        assert looked(2, old, new)[0] == 2


@pytest.mark.parametrize("margin", ["0", "0%", "0.0", "-10%"])
def test_a_margin_is_above_zero(margin: str) -> None:
    """None at all is another policy, which is named."""
    code, _, error = gate(O2, O3, "--margin", margin)
    says = "does not lie between 0 and 1" if margin[0] == "-" else "the policy proven-improvement asks"
    assert (code, says in error) == (2, True)


def test_what_is_asked_in_two_ways_is_answered_in_one(three: dict[str, str]) -> None:
    """A risk is a confidence, a reference a place, a pattern that of the settings."""
    base, slow = three["base"], three["slow"]
    assert gate(base, slow, "--alpha", "0.01") == gate(base, slow, "--confidence", "0.99")
    assert speedproof("gate", base, slow, "--reference", "slow") == speedproof("gate", slow, base)
    session = str(ROOT / "examples" / "faults" / "session.jsonl")
    many = [
        word for metric in ("system", "user", "time") for word in ("--metric", metric)
    ]  # the last one counts
    asked = [speedproof("gate", session, "--why", *words)[:2] for words in (many, many[4:], many[:2])]
    assert asked[0] == asked[1] != asked[2]
    Path("some.toml").write_text(
        '[[gate.benchmark]]\npattern = "json_d*"\nmargin = 0.25\n'
        '[[gate.benchmark]]\npattern = "xml"\npolicy = "equivalence"\n'
    )
    code, out, _ = gate(base, slow, "--config", "some.toml")
    assert gate(base, slow, "--margin-of", "json_d*=25%", "--policy-of", "xml=equivalence")[:2] == (code, out)
    for wrong, says in (
        ("--policy-of equivalence", "it names no benchmark"), ("--margin-of =5%", "it names no benchmark"),
        ("--policy-of *=foo", "'foo' is none of no-regression, proven-improvement, equivalence"),
    ):  # fmt: skip
        code, _, err = gate(base, slow, *wrong.split())
        assert (code, f"{wrong}: {says}; give NAME=VALUE, for example" in err) == (2, True)
    code, _, err = speedproof("gate", base, slow, "--max-time", "9")
    assert (code, f"in place of {base} {slow}" in err) == (2, True)


def test_values_that_prove_nothing_leave_it_undecided() -> None:
    """Sorted ones, one file given twice, equal times that show no step; equal sizes may be two measurements."""
    files = plain("r1.txt", range(10, 20)), plain("r2.txt", range(20, 30))
    for pair in (files, files[::-1]):
        code, out, _ = gate(*pair)
        assert code == 3
        assert "\nvalues: altered values (export every run, in the order of measuring).\n" in out
    assert "shown, not proven: at least 1.47x" in speedproof("compare", *files)[1]
    one, same = (plain(name, [12.345] * 6) for name in ("k.txt", "same.txt"))
    code, out, _ = gate(one, one, "--unit", "ms")
    assert (code, "hold the same values: one measurement, given twice" in out) == (3, True)
    assert [gate(one, same, "--unit", unit)[0] for unit in ("kB", "ms")] == [0, 3]


def test_a_hash_names_the_version_that_begins_with_it() -> None:
    """Versions of measured revisions are "HASH subject": the hash, whole or cut, will do where it is one's own."""
    names = ("4dfc000 First change", "4dfc111 Second change")
    rows = [f"x,{name},{v}" for name in names for v in range(1, 9)]
    Path("r.csv").write_text("\n".join(["benchmark,version,value", *rows, ""]))
    assert gate("r.csv:4dfc000", "r.csv:4dfc1110123456789abcdef")[0] != 2
    suite = sp.read("r.csv")
    assert suite.sides("4dfc111") == (names[1], (names[0],))
    for name in ("4dfc", "4dfb", "4df"):  # of both, of neither, too short
        with pytest.raises(sp.SpeedproofError, match=f"^there is no version {name};"):
            suite.sides(name)


def test_how_many_looks_there_are_is_chosen_once() -> None:
    suite = sp.read(*(f"{v}=" + write(f"{v}.csv", i, 8, 0.06, close=1.0) for i, v in enumerate("ab")))
    first = sp.gate(suite, looks=3)
    for looks in (1, 2, 4):
        with pytest.raises(sp.SpeedproofError, match=f"looks={looks}: .* chosen once, for all: 3"):
            sp.gate(suite, looks=looks, after=first)
    more = sp.read(*(f"{v}=" + write(f"{v}.csv", i, 9, 0.06, close=1.0) for i, v in enumerate("ab")))
    for same in (None, 3):
        assert sp.gate(more, looks=same, after=first).decision.rules.looks == 3
    last, decided = sp.gate(more, after=sp.gate(suite, looks=2)), sp.gate(suite, looks=2, margin=0.5)
    for before, told in (
        (last, "2 of 2 was the last$"),
        (decided, "1 of 2 decided: pass; there is nothing to"),
    ):
        with pytest.raises(sp.SpeedproofError, match=f"^look {told}"):
            sp.gate(more, after=before)


def test_a_later_look_is_at_the_metric_of_the_first() -> None:
    rng = np.random.default_rng(1)
    suites = [
        sp.Suite.from_records(
            (version, Record("b", rng.lognormal(0.0, 0.3, n), metric=metric))
            for version in "ab"
            for metric in ("time", "memory")
        )
        for n in (8, 9)
    ]
    for asked, judged in (("memory", {"memory"}), ("all", {"time", "memory"})):
        later = sp.gate(suites[1], after=sp.gate(suites[0], looks=2, metric=asked))
        assert {row.metric for row in later.decision.rows} == judged


@pytest.mark.parametrize(("options", "message"), [
    (("--html", "-", "--junit", "-"), "--html and --junit cannot both write to standard output"),
    (("--junit", "-", "--json"), "--junit and --json cannot both write to standard output"),
    (("--html", "a.pdf"), "--html a.pdf: .pdf is another format; name a file that ends with .html"),
    (("--junit", "a", "--html", "./a"), "this file is already read or written"),
    (("--junit", "base.csv"), "this file is already read or written"),
    (("--html", "same.csv"), "this file is already read or written"),
    (("--html", "speedproof.toml"), "this file is already read or written"),
    (("--html", "none/a.html"), "there is no folder none; make it first"), (("--junit", "."), "is a folder"),
    (("--github-summary",), "$GITHUB_STEP_SUMMARY is not set"),
])  # fmt: skip
def test_places_that_cannot_be_written(
    three: dict[str, str], options: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before the work, and nothing is written, least of all over what is read."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("speedproof.toml").write_text("[gate]\n")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    monkeypatch.setattr("speedproof.cli.gate.load", lambda *_: pytest.fail("the work had begun"))
    assert message in refused("gate", three["base"], three["same"], *options)
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
