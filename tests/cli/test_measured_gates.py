"""A gate says one thing, now and when the file is reviewed; and what it calls proven is proven."""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.command import runs_are, speedproof

import speedproof as sp
from speedproof.measuring.execute import Job, Run

CODES = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3}
Slower = Callable[..., None]


def run(*argv: str) -> tuple[int, str, str]:
    code, out, err = speedproof(*(argv if argv[0] in ("gate", "compare") else ("run", *argv)))
    return code, " ".join(out.split()), err


def answer(*argv: str) -> tuple[int, str, list[str]]:
    """Exit code, output and the benchmarks that JUnit names; they agree."""
    code, out, err = run(*argv, "--junit", "junit.xml")
    said = re.search("PASS|FAIL|UNDECIDED", out)
    assert said, out + err
    assert code == CODES[said[0]], out + err
    xml = Path("junit.xml").read_text()
    assert ("<failure" in xml, "<skipped" in xml) == (code == 1, "?" in out), xml
    # An idle machine would help where something is open that more runs can close.
    assert ("The load was" in out) == (code == 3 and argv[0] != "gate" and "withheld" not in out), out
    return code, out, re.findall(r'<testcase [^>]*name="(\w+)', xml)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Slower:
    """Writes a suite whose benchmarks are that much slower in the new version, with that much noise."""
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 99.0, 99.0))
    known: dict[str, tuple[float, float]] = {}
    rng = np.random.default_rng(11)

    def execute(job: Job) -> Run:
        _, name, version = job.command
        slower, noise = known[name]
        return Run({"time": float((slower if version == "new" else 1.0) * np.exp(rng.normal(0, noise)))})

    runs_are(monkeypatch, execute)

    def write(**benchmarks: tuple[float, float]) -> None:
        known.update(benchmarks)
        commands = 'commands = { old = "true %s old", new = "true %s new" }'
        text = (f"[benchmarks.{name}]\n{commands % (name, name)}\n" for name in benchmarks)
        Path("bench.toml").write_text("[versions.old]\n[versions.new]\n" + "".join(text))

    return write


@pytest.mark.slow
@pytest.mark.parametrize(("slower", "first", "last"), [(1.5, 1, 1), (1.0, 3, 0)])
def test_what_was_proven_stays_proven(measured: Slower, slower: float, first: int, last: int) -> None:
    """A fail that was resumed is a fail, a pass a pass: nothing that an earlier session decided is left out."""
    measured(early=(slower, 0.01), late=(1.0, 0.2))
    how = ("--gate", "--margin", "20%", "--seed", "1")
    assert run(*how, "--suite", "bench.toml", "--max-runs", "12", "--save", "r.jsonl")[0] == first
    for again in (("--resume",), ("gate", "--resume"), ("--review",)):
        limit = ("--max-runs", "400") if again[-1] == "--resume" else ()
        code, out, names = answer(*again, "r.jsonl", *limit)
        assert (code, sorted(names)) == (last, ["early", "late"]), out
        found = json.loads(run("--review", "r.jsonl", "--json")[1])["gate"]["rows"]
        expected = {"early": "fail" if last else "pass", "late": "pass"}
        assert {f["benchmark"]: f["outcome"] for f in found} == expected


@pytest.mark.parametrize(("slower", "noise"), [(1.0, 0.01), (1.5, 0.01), (1.0, 0.5)])
def test_json_says_outcome_exit_code_and_margin(measured: Slower, slower: float, noise: float) -> None:
    """The same as the sheet and the process, when it measures and when the file is reviewed."""
    measured(one=(slower, noise))
    first = ("--gate", "--margin", "5%", "--suite", "bench.toml", "--max-runs", "40", "--seed", "1")
    for words in ((*first, "--save", "r.jsonl"), ("--review", "r.jsonl")):
        code, out, _ = run(*words, "--json")
        told = json.loads(out)
        session, outcome = told["session"], told["gate"]["outcome"]
        assert told["results"][0]["margin"] == session["margin"] == 0.05
        assert (session["outcome"], CODES[outcome.upper()], session["exit_code"]) == (outcome, code, code)
    assert answer("--review", "r.jsonl")[0] == code
    alone = json.loads(
        run("true one old", "true one new", "--max-runs", "3", "--json", "--save", "a.jsonl")[1]
    )
    assert alone["session"]["outcome"] is None
    code, _, err = run("gate", "--resume", "a.jsonl")
    assert (code, "asked no policy; to hold its runs to one: speedproof gate a.jsonl" in err) == (2, True)


def test_a_benchmark_whose_turn_never_came_does_not_pass(measured: Slower) -> None:
    measured(early=(1.0, 0.01), late=(1.0, 0.01))
    assert answer("--gate", "--suite", "bench.toml", "--save", "r.jsonl", "--seed", "1")[0] == 0
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    kept = (line for line in lines if '"benchmark":"late"' not in line and '"type":"end"' not in line)
    Path("cut.jsonl").write_text("".join(kept))
    for command in ("--review", "gate"):
        code, out, names = answer(command, "cut.jsonl")
        assert (code, sorted(names)) == (3, ["early", "late"])
        assert "1 benchmark not measured" in out
    whole = sp.read("cut.jsonl")
    assert (sp.gate(whole).exit_code, sp.gate(whole.select("early")).exit_code) == (3, 0)
    assert "Not measured: 1 benchmark (late)" in str(sp.compare_suite(whole))
    assert run("compare", "cut.jsonl", "--fail-on", "missing")[0] == 1
    assert run("--review", "cut.jsonl", "--undecided", "pass")[0] == 0


def test_a_candidate_that_only_fails_does_not_pass(measured: Slower) -> None:
    """It is missing, in the same words, whatever reads the session; a reference that only fails is an error."""
    measured(early=(1.0, 0.01), late=(1.0, 0.01))
    for only, version in product(([], ["--only", "late"]), ("new", "old")):
        code = 1 if version == "new" else 2
        Path("r.jsonl").unlink(missing_ok=True)
        assert run("gate", "--suite", "bench.toml", "--save", "r.jsonl", "--seed", "1", *only)[0] == 0
        lines = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
        for line in lines:
            line |= {"exit": 1} if (line.get("benchmark"), line.get("version")) == ("late", version) else {}
        Path("cut.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (reviewed, said, _), (judged, sheet, _) = run("--review", "cut.jsonl"), run("gate", "cut.jsonl")
        assert (reviewed, judged) == (code, code)
        if version == "new":
            assert "MISSING late - old has measurements of it, new has none" in sheet
            assert said.startswith(sheet)


@pytest.mark.parametrize(("affected", "untouched", "code"), [
    (1.0, 1.0, 0), (1.04, 1.0, 1),
    # Fails, and passes, by less than what the machine did; by more.
    (1.04, 1.05, 3), (1.0, 1.05, 3), (0.98, 0.95, 3), (1.2, 1.05, 1), (0.9, 1.05, 0),
])  # fmt: skip
def test_what_the_change_cannot_touch_holds_the_gate_back(
    measured: Slower, affected: float, untouched: float, code: int
) -> None:
    """It is not judged itself; nothing nearer to the margin than it moved passes or fails."""
    measured(affected=(affected, 0.005), untouched=(untouched, 0.005))
    how = ("--gate", "--suite", "bench.toml", "--unaffected", "untouched", "--seed", "1", "--max-runs", "60")
    for words in ((*how, "--save", "r.jsonl"), ("--review", "r.jsonl"), ("gate", "r.jsonl")):
        found, out, names = answer(*words)
        assert (found, names) == (code, ["affected"]), out
        assert ("untouched, which the change cannot touch, is" in out) is (untouched != 1.0)
        assert ("affected: withheld" in out) is (code == 3)
        assert "Not judged: untouched (" in out
        assert "of a false fail: 5 %, however often" in out


@pytest.mark.parametrize("margin", ["2%", "6%", "20%"])
def test_equivalence_within_what_cannot_differ_is_withheld(measured: Slower, margin: str) -> None:
    """Something moves everything by 5 %: that the rest moves by less than 2 % is not known."""
    measured(affected=(1.02 if margin == "6%" else 1.0, 0.003), untouched=(1.05, 0.003))
    words = ("--margin", margin, "--unaffected", "untouched", "--max-runs", "80", "--seed", "1", "--json")
    code, out, err = run("--suite", "bench.toml", *words, "--save", "r.jsonl")
    assert code == 0, err
    (found,) = json.loads(out)["results"]
    typical = [c for c in found["comparisons"] if c["protocol"] == "typical"]
    (verdict,) = (c["verdict"] for c in typical if c["benchmark"] == "affected")
    assert verdict == ("equivalent" if margin == "20%" else "undecided")
    (result,) = json.loads(run("compare", "r.jsonl", "--json")[1])["results"]
    assert [c for c in result["comparisons"] if c["protocol"] == "typical"] == typical


@pytest.mark.parametrize("how", [("--gate",), (), ("--runs", "8")])
def test_a_session_of_several_versions_has_one_answer(measured: Slower, how: tuple[str, ...]) -> None:
    """The same sheet and exit code, whoever reads the file; also of the last two commands alone, as numbers."""
    measured(sort=(1.3, 0.02), hash=(1.0, 0.02))
    commands = "true sort old", "true sort new", "true hash old"
    code, out, _ = speedproof("run", *commands, *how, "--seed", "1", "--save", "r.jsonl")
    again = speedproof("gate" if "--gate" in how else "compare", "r.jsonl")
    assert (code, speedproof("run", "--review", "r.jsonl")[0]) == (again[0], again[0])
    lines = [line for line in again[1].splitlines() if "--explain" not in line]
    assert [line for line in out.splitlines() if line in lines] == lines
    speedproof("run", *commands[:2], *how, "--seed", "1", "--save", "two.jsonl")
    session, files = (json.loads(speedproof(*words, "two.jsonl", "--json")[1])["results"]
                      for words in (("run", "--review"), ("compare",)))  # fmt: skip
    assert "--gate" in how or session == files
    sheet = str(sp.compare_suite(sp.read("two.jsonl")))
    assert speedproof("compare", "two.jsonl")[1].startswith(sheet)


GATES = [("gate",), ("run", "--gate")]


def measured_by(command: Sequence[str], *argv: str) -> tuple[int, str, str]:
    code, out, err = speedproof(*command, "--suite", "bench.toml", "--seed", "1", "--runs", "40", *argv)
    return code, " ".join(out.split()), err


@pytest.mark.parametrize("command", GATES)
def test_a_gate_that_measures_heeds_the_settings(measured: Slower, command: Sequence[str]) -> None:
    """Margins by pattern, policy and what an undecided gate means; an option counts over the file."""
    gated = partial(measured_by, command)
    measured(parse=(1.08, 0.005), sort=(1.0, 0.005))
    assert gated()[0] == 1
    Path("speedproof.toml").write_text(
        '[gate]\nmargin = "4%"\n[[gate.benchmark]]\npattern = "pa*"\nmargin = "12%"\n'
    )
    code, out, _ = gated()
    assert (code, "+12 %" in out, "+4 %" in out) == (0, True, True), out
    assert gated("--margin-of", "parse=4%")[0] == 1
    Path("speedproof.toml").unlink()
    assert gated("--margin", "4%", "--margin-of", "parse=12%", "--save", "r.jsonl")[0] == 0
    code, out, _ = run("--review", "r.jsonl")  # asks what was asked while it was measured
    assert (code, "+12 %" in out, "+4 %" in out) == (0, True, True)
    Path("speedproof.toml").write_text('[gate]\npolicy = "proven-improvement"\n')
    code, out, _ = gated()
    assert (code, "slower" in out) == (1, True)
    assert gated("--policy", "no-regression", "--margin", "12%")[0] == 0
    Path("speedproof.toml").write_text('[gate]\nmargin = "0.01%"\nundecided = "pass"\nmultiplicity = "bh"\n')
    measured(parse=(1.0, 0.05), sort=(1.0, 0.05))
    code, out, err = gated()
    assert (code, out.startswith("UNDECIDED")) == (0, True)
    assert "note: speedproof.toml: multiplicity: only for files" in err
    for word, code, said in (("report", 3, "skipped"), ("fail", 1, "failure")):
        assert gated("--undecided", word, "--junit", "g.xml")[0] == code
        assert re.findall("<(skipped|failure) ", Path("g.xml").read_text()) == [said] * 2


@pytest.mark.parametrize("command", GATES)
def test_a_gate_that_measures_judges_the_benchmarks_it_is_asked(
    measured: Slower, command: Sequence[str]
) -> None:
    """As one of files: by --only, --skip and ``ignore``, of which the last match counts."""
    gated = partial(measured_by, command)
    measured(parse=(1.5, 0.005), sort=(1.0, 0.005), sum=(1.0, 0.005))
    assert gated()[0] == 1
    for options in (("--skip", "pa*"), ("--only", "s*"), ("--only", "s*", "--skip", "parse")):
        code, out, err = gated(*options)
        assert (code, "parse" in out, "sort" in out) == (0, False, True), out + err
    ignored = '[[gate.benchmark]]\npattern = "*"\nignore = true\n'
    kept = '[[gate.benchmark]]\npattern = "s*"\nignore = false\n'
    Path("speedproof.toml").write_text(ignored + kept)
    code, out, err = gated("--skip", "sum")
    assert (code, "parse" in out, "sort" in out, "sum" in out) == (0, False, True, False), out + err
    assert "note: speedproof.toml" not in err
    Path("speedproof.toml").write_text(ignored)
    code, _, err = gated()
    assert (code, "no benchmark is left; available: parse, sort, sum" in err) == (2, True)


def test_policies_by_pattern(measured: Slower) -> None:
    """Of a gain in one benchmark only, the other need not prove any; a review asks the same."""
    measured(parse=(0.8, 0.005), sort=(1.01, 0.005))
    gated = partial(measured_by, GATES[0])
    assert gated("--margin", "5%", "--policy", "proven-improvement")[0] == 1
    assert gated("--margin", "5%", "--policy-of", "p*=proven-improvement", "--save", "r.jsonl")[0] == 0
    assert run("--review", "r.jsonl")[0] == 0
    settings = '[gate]\nmargin = "5%"\n[[gate.benchmark]]\npattern = "{}"\npolicy = "{}"\n'
    for pattern, policy, code in (
        ("p*", "proven-improvement", 0), ("*", "proven-improvement", 1), ("s*", "equivalence", 2),
    ):  # fmt: skip
        Path("speedproof.toml").write_text(settings.format(pattern, policy))
        assert gated()[0] == code
