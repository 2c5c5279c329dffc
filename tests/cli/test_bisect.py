"""``speedproof bisect`` on real repositories, made here; the runs are faked: nothing depends on a clock."""

import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from tests.command import ROOT, git, refused, speedproof

import speedproof as sp
from speedproof.data.session_file import PlannedVersion
from speedproof.measuring.execute import Run
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.runs import block_order

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
GZIP = ROOT / "examples" / "gzip" / "session.jsonl"
History = Callable[[list[str]], None]


def said(version: PlannedVersion) -> str:
    return (Path(version.cwd) / "bench").read_text().split("# ")[1].strip()


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Goes to a repository with a commit for every time, which is all that its program holds.

    A run takes that, give or take a tenth of a per cent; "?" does not build.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(1)

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        if said(version) == "fails":
            return Run({"time": 1.0}, exit=1)
        return Run({"time": float(said(version)) * float(np.exp(0.001 * rng.normal()))})

    def made(seconds: list[str]) -> None:
        (folder := tmp_path / "repo").mkdir()
        git(folder, "init", "-q", "-b", "main", ".")
        files = "M 755 inline bench\ndata <<.\n#!/bin/sh\n# {}\n.\nM 644 inline number\ndata <<.\n{}\n.\n"
        head = "commit refs/heads/main\ncommitter n <n@e> {0} +0000\ndata <<.\nChange {0}\n.\n"
        commits = (head.format(number) + files.format(text, number) for number, text in enumerate(seconds))
        git(folder, "fast-import", "--quiet", given="".join(commits))
        git(folder, "reset", "-q", "--hard")
        git(folder, "tag", "start", f"HEAD~{len(seconds) - 1}")
        monkeypatch.chdir(folder)

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    return made


def bisect(*argv: str) -> tuple[int, str, str]:
    return speedproof("bisect", *argv)


def kept(path: str) -> list[dict[str, Any]]:
    """The runs of a file that are no warm-up."""
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [line for line in lines if line["type"] == "run" and "warmup" not in line]


@pytest.mark.slow
def test_the_first_slow_commit(history: History) -> None:
    """By name, with its proof, in at most ten lines of 80 columns; to go on needs nothing but the file."""
    history(["1"] * 9 + ["1.1"] * 4)
    argv = ("start..main", "./bench", "--seed", "1", "--save", "b.jsonl", "--max-time", "1e-9")
    code, out, err = bisect(*argv)
    assert (code, "building" in err, "no change is proven" in out) == (3, True, True)
    assert "speedproof bisect --resume b.jsonl" in out
    code, out, err = bisect("--resume", "b.jsonl")
    assert code == 0, err
    first, second = out.splitlines()[:2]
    assert first.endswith("Change 9 is the first slow commit")
    assert second.startswith("against its parent: 1.10x slower, at least 1.09x")
    assert len(out.splitlines()) <= 10
    assert max(map(len, out.splitlines())) <= 80
    assert "could" not in out
    assert (err.count("now the search") <= 1, err.count("now the confirmation")) == (True, 1)
    assert bisect("--resume", "b.jsonl")[1] == out


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "credible"), [
    ("1 1 ? fails 1.2 1.2 1.2", [2, 3, 4]), ("1 1 ? 1 ? 1.2 1.2", [4, 5])
])  # fmt: skip
def test_what_does_not_build_or_run_is_left_out(history: History, seconds: str, credible: list[int]) -> None:
    """It may end as a set of commits; a run beside one that does not build is no half of a later pair."""
    history(seconds.split())
    words = ("--build", "! grep -q '?' bench", "--json", "--save", "b.jsonl", "--seed", "3")
    code, out, err = bisect("start..main", "./bench", *words)
    assert (code, "exited with code 1" in err) == (0, True), err
    found = json.loads(out)["results"][0]["finding"]
    assert found["credible"] == credible
    assert set(credible[:-1]) <= set(found["skipped"]) <= {seconds.split().index("?"), *credible[:-1]}
    code, again, err = bisect("--resume", "b.jsonl", "--json")
    assert (code, json.loads(again)["results"]) == (0, json.loads(out)["results"])
    assert "left out" not in err
    runs = [(line["block"], line["version"]) for line in kept("b.jsonl")]
    assert len(runs) == len(set(runs))
    assert max(Counter(block for block, _ in runs).values()) == 2


def layouts(monkeypatch: pytest.MonkeyPatch, deviation: float) -> set[int]:
    """A build is slower or faster by what its seed draws, without one by what its commit does; the seeds."""
    seeds = set[int]()

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        layout, number = (Path(version.cwd) / name for name in ("layout", "number"))
        seeds.add(seed := int((layout if layout.exists() else number).read_text()))
        slower = float(np.exp(deviation * np.random.default_rng(seed).normal()))
        return Run({"time": float(said(version)) * slower})

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    return seeds


@pytest.mark.slow
def test_a_layout_is_not_blamed(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """One build of each commit differs from the next for ever; fresh builds in every pair do not."""
    history(["1"] * 5)
    layouts(monkeypatch, 0.01)
    exactly = ("start..main", "./bench", "--seed", "1", "--min-change", "0.1%")
    code, out, _ = bisect(*exactly, "--build", "true")
    assert (code, "commit" in out.splitlines()[0]) == (0, True)
    assert "said of these builds" in " ".join(out.split())
    words = ("--build", "echo {seed} > layout", "--min-change", "3%", "--seed", "1", "--save", "f")
    _, out, err = bisect("--good", "start", "./bench", *words)
    assert out.startswith("Nothing changed by 3 % or more between the ends."), err
    assert "said of the code" in out
    runs = kept("f")
    pairs = {(line["version"], line["block"], line["build"]) for line in runs}
    assert (len(runs), len({(version, build) for version, _, build in pairs})) == (5 * len(pairs), len(pairs))


@pytest.mark.slow
def test_fresh_builds_find_the_code_and_go_on(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of 5 % among layouts of 1 %; what goes on uses no build again, nor does one of another seed."""
    history(["1"] * 4 + ["1.05"] * 3)
    drawn = layouts(monkeypatch, 0.01)
    build = ("--build", "echo {seed} > layout", "--runs", "1")
    argv = ("start..main", "./bench", *build, "--save", "f", "--seed", "2")
    code, out, err = bisect(*argv, "--max-time", "1e-9")
    assert (code, err.count("building"), len(first := set(drawn))) == (3, 2, 2)
    code, out, err = bisect("--resume", "f")
    assert code == 0, err
    assert "Change 4 is the first slow commit" in out
    used = [(line["version"], line["build"]) for line in kept("f")]
    assert len(used) == len(set(used)) == len(drawn)
    for name, seed, same in (("g", "2", True), ("h", "3", False)):
        drawn.clear()
        bisect("start..main", "./bench", *build, "--save", name, "--seed", seed, "--max-time", "1e-9")
        assert (drawn == first, drawn.isdisjoint(first)) == (same, not same)


def test_every_run_of_a_pair_has_an_order_of_its_own(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn as those of a session with this seed, whichever part measures it."""
    monkeypatch.setattr("speedproof.measuring.build.tools", lambda variables: {})
    history(["1", "1"])
    words = ("start..main", "./bench", "--build", "true {seed}", "--runs", "3", "--seed", "5", "--save", "f")
    for argv in (words, ("--resume", "f")):
        bisect(*argv, "--max-time", "1e-9")
    (plan,) = json.loads(Path("f").read_text().splitlines()[0])["benchmarks"]
    names = [version["name"] for version in plan["versions"]]
    orders = (block_order(names, seed=5, benchmark=0, block=block) for block in range(6))
    assert [line["version"] for line in kept("f")] == [*chain.from_iterable(orders)]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "kind", "culprit"), [
    (("--decide-by", "user"), "slower", 4),
    (("--metric", "rate:ops/s=([0-9.]+) ops/s", "--decide-by", "rate"), "worse", 4),
    (("--metric", "load=load ([0-9.]+)", "--decide-by", "load"), "better", 6),
])  # fmt: skip
def test_any_metric_decides(
    history: History, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], kind: str, culprit: int
) -> None:
    """Wall times that say nothing beside one that does; of a rate less is worse; the file goes on with it."""
    history([str(i) for i in range(9)])
    rng = np.random.default_rng(5)

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        i = int(said(version))
        wall, own = np.exp(rng.normal(size=2) * (0.5, 0.01)).tolist()
        text = f"{100 * own / (1.1 if i >= 4 else 1):.4f} ops/s\nload {own * (1 if i < 6 else 0.9):.5f}\n"
        run = Run({"time": wall, "user": own * (1.1 if i >= 4 else 1)}, 0, False, text.encode(), b"", 0)
        read = {metric.name: metric.read(run) for metric in self.output_metrics}
        return structs.replace(run, metrics=run.metrics | {k: v for k, v in read.items() if v is not None})

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    _, out, err = bisect("start..main", "./bench", "--seed", "1", "--save", "b.jsonl", *words)
    assert f"Change {culprit} is the first {kind} commit" in out, err
    assert "against its parent: 1.1" in out
    assert bisect("--resume", "b.jsonl")[1] == out


def test_a_metric_that_there_is_not(history: History) -> None:
    """Is refused before anything is built, as one program for all commits; one that does not print it fails."""
    history(["1", "1"])
    rate = ("./bench", "--decide-by", "rate")
    for words, told in (
        (rate, "--decide-by rate: no such metric; available: time, user"),
        ((*rate, "--metric", "rate=([0-9]+)"), "did not give the metric 'rate' that decides"),
        ((Path("bench").resolve(),), "is one file for all commits; name one of their trees, as ./bench"),
    ):
        assert told in refused("bisect", "start..main", *words)


@pytest.mark.parametrize("forgiving", [False, True])
def test_single_failures_may_be_forgiven(
    history: History, monkeypatch: pytest.MonkeyPatch, forgiving: bool
) -> None:
    """A commit's first two runs and every seventh fail: the end, unless ignored; who always fails is left out."""
    history(["1", "1", "fails", "1", "1", "1.1", "1.1", "1.1"])
    sound, runs = CommandExecutor.measure, Counter[str]()

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        run = sound(self, version)
        runs[version.name] += 1
        return structs.replace(run, exit=1) if runs[version.name] < 3 or not runs[version.name] % 7 else run

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    words = ("start..main", "./bench", "--seed", "1", "--save", "b.jsonl", "--json")
    code, out, err = bisect(*words, *(["--ignore-failure"] if forgiving else []))
    if not forgiving:
        assert (code, "exited with code 1" in err, Path("b.jsonl").exists()) == (2, True, False)
        return
    assert code == 0, err
    found, again = (json.loads(said)["results"][0]["finding"]
                    for said in (out, bisect("--resume", "b.jsonl", "--json")[1]))  # fmt: skip
    assert (again, found["culprit"], set(found["skipped"]) <= {2}) == (found, 5, True)
    assert json.loads(Path("b.jsonl").read_text().splitlines()[-1])["reason"] == "decided"


@pytest.mark.parametrize("runs", [0, 2, 4, 19, 22, 50])
def test_why_it_is_open(history: History, monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    """How many more runs are needed, once 20 tell; how much they scatter, what would do, the load."""
    history(["1"] * 5)
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 99.0, 99.0))
    values = iter(np.exp(0.08 * np.random.default_rng(3).normal(size=runs)).tolist())

    def measure(self: CommandExecutor, version: PlannedVersion) -> Run:
        if (seconds := next(values, None)) is None:
            raise KeyboardInterrupt
        return Run({"time": seconds})

    monkeypatch.setattr(CommandExecutor, "measure", measure)
    code, out, _ = bisect("start..main", "./bench", "--seed", "1")
    told = " ".join(out.split())
    assert code == 130
    few = int(re.findall(r"(\d+) runs in random pairs", told)[0]) < 20
    needs = "from 20 runs on it says how many more it needs)." if few else "needs about "
    assert told.startswith(f"Undecided: no change is proven ({needs}")
    if runs == 50:
        parts = "Runs of one commit scatter by", "runs would be enough for an answer.", "The load is 98 on"
        assert all(part in told for part in parts)
        assert max(map(len, out.splitlines())) <= 80


def test_a_full_disk_is_no_fault_of_a_commit(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, with what makes room; no commit is left out for it."""
    history(["1", "1.1"])
    monkeypatch.setattr("shutil.disk_usage", lambda path: shutil._ntuple_diskusage(1, 1, 0))
    assert "no room is left for builds" in refused("bisect", "start..main", "./bench", "--build", "false")


WRONG = [
    ((), "give the range A..B first"), (("start..main",), "one benchmark command"),
    (("start..main", "./a", "./b"), "one benchmark command"),
    (("--bad", "main", "./bench"), "--bad needs --good"), (("start..main",), "quoted, or after --"),
    (("--good", "start", "--bad", "main"), "one benchmark command"),
    (("start..main", "./a", "b"), "not 2: quote it, or put it after --"),
    (("main", "./bench"), "give the range A..B first"),
    (("--resume", "b.jsonl", "./bench"), "from the file; leave out ./bench"),
    (("--resume", "absent.jsonl"), "no such file"), (("--resume", str(GZIP)), "is not a session of a bisection"),
    (("a..b", "./bench"), "not in a git repository"),
]  # fmt: skip
UNKNOWN = [
    (("start..mian", "./bench"), "did you mean main?"),
    (("start..main", "./absent"), "has no ./absent; if it has to be built, give --build CMD"),
    (("start..main", "./absent", "--build", "true"), "has no ./absent after its build"),
    (("start..main", "./bench", "--build", "false"), "exited with code 1 and printed nothing"),
    (("start..main", "./bench", "--build", "echo no such thing; false"), "no such thing"),
    (("start..main", "./bench", "--build", "make", "--runs", "3"), "needs {seed} in --build"),
    (("start..main", "./bench", "--build", "make {seed}", "--runs", "0"), "0 is not a positive number"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "told"), [*WRONG, *(pytest.param(*row, marks=pytest.mark.slow) for row in UNKNOWN)]
)
def test_errors_in_words(
    argv: tuple[str, ...], told: str, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the remedy; the words of the command come before the repository."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(Path.cwd().parent))
    if (argv, told) not in WRONG:
        history(["1", "1.2"])
    code, _, err = bisect(*argv)
    assert (code, told in err, "Traceback" in err) == (2, True, False), err
    assert not list(Path().glob("*.jsonl"))  # no run was lost, so none is kept


@pytest.mark.parametrize(("commits", "run", "told"), [
    *(("ab", lambda name, time=time: time, "^run gave ") for time in (None, "1.0", [1.0, 2.0], 1j)),
    *(("ab", lambda name, time=time: time, "^[ab] took ") for time in (0.0, -1.0, math.nan, math.inf)),
    ("a", float, "commit"), ("aba", float, "commit"), ("ab", 1.0, "expected a function"),
    ("abc", lambda name: 1.0 if name < "c" else sp.read("absent"), "absent: no such file"),
])  # fmt: skip
def test_what_is_no_question_is_refused(commits: str, run: Any, told: str) -> None:
    """What is no time is told with the commit; too short a history, one commit twice, no function, no end."""
    with pytest.raises(sp.SpeedproofError, match=told):
        sp.bisect(list(commits), run)


def test_whole_numbers_are_read_to_the_unit(tmp_path: Path) -> None:
    """While no commit varies its values are as fine as they are written, as those of compare: 1 of 1000 here."""
    seconds = {"a": 1000, "b": 1000, "c": 1100}
    found = sp.bisect(list(seconds), seconds.__getitem__, seed=1)
    assert (found.culprit, repr(found)) == ("c", "<BisectResult: culprit c>")
    sp.report(found, tmp_path / "x.json")
    written = json.loads((tmp_path / "x.json").read_text())
    assert (written["command"], written["results"][0]["commits"]) == ("bisect", [*seconds])
    assert 1.098 < found.finding.step_low < 1.1 < found.finding.step_high < 1.102
    seconds = {"a": 3, "b": 3, "c": 4}
    assert "too coarsely timed for a bound" in str(sp.bisect(list(seconds), seconds.__getitem__, seed=1))
    rng = np.random.default_rng(1)  # times of 3 and 4 cannot show 1 %
    found = sp.bisect(["a", "b"], lambda name: float(rng.choice([3, 3, 3, 4])), max_pairs=40, seed=1)
    assert (found.finding.open, found.finding.pairs, "more runs" in str(found)) == (True, 40, False)
    assert "The times are read in steps of 33 %" in str(found)


@pytest.mark.parametrize(
    ("names", "where", "seconds"), [("ab", "", 1000.0), ("abc", " between the ends", 2000)]
)
def test_between_two_neighbours_nothing_can_cancel(names: str, where: str, seconds: float) -> None:
    """Counts that never vary are the same to a unit."""
    found = sp.bisect(list(names), lambda name: seconds, max_pairs=40, seed=1)
    assert found.finding.pairs < 40
    assert str(found).startswith(f"Nothing changed by 1 % or more{where}.\n")
    assert ("Changes that cancel each other are not excluded." in str(found)) == bool(where)


def test_another_change_is_told() -> None:
    times = dict(zip("abcdefg", (1.0, 1.0, 1.3, 1.3, 1.3, 1.5, 1.5), strict=True))
    told = " ".join(str(sp.bisect(list(times), times.__getitem__, seed=1)).split())
    another = r"There may be another change \(([\d.]+)x to ([\d.]+)x slower beside this one, 95 % confidence"
    ((low, high),) = re.findall(another, told)
    assert float(low) <= 1.5 / 1.3 <= float(high)


@pytest.mark.parametrize(("times", "told"), [
    ({"a": 1.0, "b": 1.0, "c": None, "d": 1.3, "e": 1.3},
     ["  c (could not be measured)", "  d", "d against b: 1.30x slower, ", "e against a: about 1.30x slower"]),
    ({"a": 1.0, "b": None, "c": 1.3}, ["  b (could not be measured)", "  c", "c against a: 1.30x slower, "]),
])  # fmt: skip
def test_python_leaves_out_what_raises(times: dict[str, float | None], told: list[str]) -> None:
    """Only a SpeedproofError; the step is told once where it is that of the ends."""

    def run(name: str) -> float:
        if (seconds := times[name]) is None:
            raise sp.SpeedproofError("does not build")
        return seconds

    found = sp.bisect(list(times), run, seed=1)
    assert found.credible == tuple(line[2] for line in told[:2])
    first, *lines, _ = str(found).splitlines()
    assert first == "One of these 2 is the first slow commit:"
    assert all(map(str.startswith, lines, told))
    assert (len(lines), "parent" in str(found)) == (len(told), False)
