"""Several versions against one, written by hand: who is first, each row in its place, what has no room."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.command import in_words, laid_out
from tests.reporting.test_by_hand import FASTER, SLOWER, UNDECIDED, compared

from speedproof.conclude.suite import SuiteComparison
from speedproof.protocols.results import SEQUENTIAL, RankedVersion, SuiteRanking, Verdict
from speedproof.reporting.model import Report
from speedproof.reporting.versions import report
from speedproof.stats.estimate import Estimate

Told = tuple[float, Verdict]
SAME = Verdict.EQUIVALENT


def against(candidate: str, of: dict[str, Told], **fields: Any) -> SuiteComparison:
    """Benchmarks that take the reference a second."""
    made = []
    for name, (speedup, verdict) in of.items():
        c = compared(speedup, verdict)
        sides = replace(c.reference, median=1.0), replace(c.candidate, label=candidate, median=1 / speedup)
        made.append(replace(c, benchmark=name, reference=sides[0], candidate=sides[1], **fields))
    return SuiteComparison("old", candidate, "time", 0.05, None, "process", tuple(made))


def placed(*places: tuple[str, float, int, int], benchmarks: tuple[str, ...] = ("a", "b")) -> SuiteRanking:
    versions = (
        RankedVersion(name, Estimate(by, 0.99 * by, 1.01 * by, 0.95), best, worst)
        for name, by, best, worst in places
    )
    return SuiteRanking(0.05, tuple(versions), (), benchmarks, ())


NEW = against("new", {"a": (1.25, FASTER), "b": (0.8, SLOWER)})
NEWER = against("newer", {"a": (1.5, FASTER), "b": (1.0, UNDECIDED)})
SOME = [NEW, NEWER, against("same", {"a": (1.0, SAME)})]
FIRST = placed(("newer", 1.4, 1, 1), ("new", 1.2, 2, 3), ("old", 1.0, 2, 3))
RISK = "(geometric mean of 2 benchmarks, places at a joint risk of 5 %, each proven change at 5 %)"
MARKS = "+ faster than the reference, - slower, as measured; ~ undecided. "
HINTS = "--details: other protocols --explain: checks"


def test_versions_of_few_benchmarks() -> None:
    """A row a version, by place where there is a ranking, with its time on each benchmark."""
    rows = {
        "old": "1.000 s 1.000 s", "new": "0.8000 s + 1.25x 1.250 s - 1.25x", "newer": "0.6667 s + 1.50x 1.000 s ~",
        "same": "1.000 s = -",
    }  # fmt: skip
    ranked = report(SOME, FIRST)
    assert in_words(ranked) == [
        f"newer is fastest of 3, 1.40x faster than old {RISK}", "place version over old a b",
        f"1 newer 1.40x faster [1.38x, 1.42x] {rows['newer']}",
        f"2-3 new 1.20x faster [1.18x, 1.22x] {rows['new']}",
        f"2-3 old reference {rows['old']}", f"same {rows['same']}", f"{MARKS}{HINTS}",
    ]  # fmt: skip
    assert [row.outcome for row in ranked.tables[0].rows] == ["undecided", "failed", "", "passed"]
    assert (ranked.good, laid_out(ranked)) == (False, "<place 'version' over old a b-1")
    assert in_words(report(SOME)) == [
        "2 faster, 1 slower, 1 the same, 1 undecided of 5 comparisons with old (in median, 95 %)", "version a b",
        *(f"{name} {of}" for name, of in rows.items()), f"{MARKS}{HINTS}",
    ]  # fmt: skip
    long = [against(v, {"p" * 16: (1.25, FASTER), "q" * 17: (1.25, FASTER)}) for v in ("new", "newer")]
    briefs = [column.brief for column in report(long).tables[0].columns[1:]]
    assert (briefs[0] == "p" * 16, len(briefs[1])) == (True, 16)
    apart = in_words(report([*SOME, against("lost", {}), against("none", {})]))
    assert apart[-2:] == [MARKS.rstrip(), f"No benchmark of old is in lost, none {HINTS}"]
    lacking = replace(NEWER, problems=("c: units", "d: zeros"), only_candidate=("z",), unmeasured=("u",))
    assert in_words(report([NEW, lacking]))[-3:] == [
        MARKS.rstrip(), "Not in every version: 2 benchmarks (u, z)",
        f"Left out: c: units (and 1 more in the details) {HINTS}",
    ]  # fmt: skip


@pytest.mark.parametrize(("ranking", "told"), [
    (placed(("new", 1.2, 1, 2), ("newer", 1.1, 1, 2), ("old", 1.0, 3, 3)),
     "Undecided which is fastest: new, newer"),
    (placed(("new", 1.2, 1, 2), ("newer", 1.1, 2, 3), ("old", 1.0, 2, 3)),
     "Undecided whether new is fastest of 3"),
    (placed(("new", 1.2, 2, 3), ("newer", 1.1, 2, 3), ("old", 1.0, 2, 3)),
     "No version is fastest: each is proven slower than another"),
    (placed(("old", 1.0, 1, 1), ("new", 0.9, 2, 3), ("newer", 0.9, 2, 3)), "old is fastest of 3"),
])  # fmt: skip
def test_who_is_first_of_versions(ranking: SuiteRanking, told: str) -> None:
    assert in_words(report([NEW, NEWER], ranking))[0] == f"{told} {RISK}"
    rss = [
        replace(r, comparisons=tuple(replace(c, metric="rss") for c in r.comparisons)) for r in (NEW, NEWER)
    ]
    assert in_words(report(rss, ranking))[0] == f"rss: {told} {RISK}"


def test_versions_of_one_benchmark() -> None:
    """By place, else the fastest first, but in their own order where names have dates or ascending numbers."""
    of = {"v2": (1.25, FASTER), "v10": (1.0, UNDECIDED), "v3": (0.8, SLOWER), "same": (1.0, SAME)}
    results = [against(name, {"a": one}) for name, one in of.items()]
    rows = {
        "v2": "v2 0.8000 s 1.25x faster 1.23x 9", "old": "old 1.000 s reference 9", "v10": "v10 1.000 s ~ 1.00x 9",
        "same": "same 1.000 s = the same within 1 % 9", "v3": "v3 1.250 s 1.25x slower 1.23x 9",
    }  # fmt: skip
    assert laid_out(report(results)) == "'a' <median change proven <runs-1"
    assert in_words(report(results)) == [
        "1 faster, 1 slower, 1 the same, 1 undecided of 4 comparisons with old (in median, 95 %)",
        "a median change proven runs", *rows.values(), f"--all: every row and version {HINTS}",
    ]  # fmt: skip
    ranking = placed(
        ("v2", 1.25, 1, 1), ("old", 1.0, 2, 3), ("v10", 1.0, 2, 3), ("v3", 0.8, 4, 4), benchmarks=("a",)
    )
    made = report(results[:3], ranking)
    assert in_words(made) == [
        "v2 is fastest of 4, 1.25x faster than old (places at a joint risk of 5 %, each proven change at 5 %)",
        "place a median change proven runs",
        *(f"{place} {rows[v]}" for v, place in (("v2", "1"), ("old", "2-3"), ("v10", "2-3"), ("v3", "4"))), HINTS,
    ]  # fmt: skip
    assert [(row.name, row.outcome) for row in made.tables[0].rows] == [
        ("v2", "passed"), ("old", ""), ("v10", "undecided"), ("v3", "failed"),
    ]  # fmt: skip
    equal = placed(("v2", 1.25, 1, 3), ("old", 1.0, 1, 3), ("v10", 1.0, 1, 3), benchmarks=("a",))
    assert in_words(report(results[:2], equal))[0].startswith(
        "1 faster, 1 undecided of 2 comparisons with old"
    )
    for names, kept in (
        (("v1", "v2", "v10"), True), (("v1", "v10", "v2"), False),
        (("2024-01-02", "2024-02-01", "20240301"), True),
        (("2024-02-01", "2024-01-02", "2024-03-01"), False), (("abcdef0", "1234567 Fix", "WORKTREE"), True),
        (("abcdef0", "1234567g", "x"), False),
    ):  # fmt: skip
        reference, slow, fast = names
        given = [against(slow, {"a": of["v3"]}), against(fast, {"a": of["v2"]})]
        made = report([replace(r, reference=reference) for r in given])
        order = names if kept else (fast, reference, slow)
        assert tuple(row.name for row in made.tables[0].rows) == order
    blocks = [against(v, {"a": (1.25, FASTER)}, test=SEQUENTIAL) for v in ("new", "newer")]
    (c,) = blocks[1].comparisons
    more = replace(blocks[1], comparisons=(replace(c, candidate=replace(c.candidate, n=10)),))
    note = "Changes are of runs in the same blocks, medians of all runs."
    for last, said in ((blocks[1], False), (more, True)):
        assert any(note in line for line in in_words(report([blocks[0], last]))) is said


def rows_of(made: Report) -> list[str]:
    return [row.name for row in made.tables[-1].rows if not row.folded]


def test_many_benchmarks_of_versions() -> None:
    """Those that changed most first, fewer of them below many places; the best version is never left out."""
    names = [f"b{i:02}" for i in range(14)]
    results = [
        against(v, {name: (by + i / 10, FASTER) for i, name in enumerate(names)})
        for v, by in (("new", 1.1), ("newer", 1.2))
    ]
    results[0] = replace(results[0], comparisons=(
        *results[0].comparisons[:-1], replace(results[0].comparisons[-1], verdict=UNDECIDED)))  # fmt: skip
    made = report(results, FIRST)
    assert in_words(made)[1:6] == [
        "place version over old", "1 newer 1.40x faster [1.38x, 1.42x]", "2-3 new 1.20x faster [1.18x, 1.22x]",
        "2-3 old reference", "old new newer",
    ]  # fmt: skip
    assert in_words(made)[6] == "b13 1.000 s 0.4167 s ~ 0.4000 s + 2.50x"
    assert in_words(made)[-2] == "... 4 more benchmarks"
    assert (rows_of(made), laid_out(made)) == (names[:3:-1], "'' <old new-1 newer")
    for few, heads in ((3, "'version' b00 b01 b02-1"), (4, "'' <old new newer-1")):
        given = [replace(r, comparisons=r.comparisons[:few]) for r in results]
        assert laid_out(report(given)) == heads
    whole = report(results, FIRST, everything=True)
    assert (rows_of(whole), whole.tables[-1].repeats) == (names[::-1], 2)
    assert laid_out(report(results)) == "'' <old new newer-1"
    many = placed(*((f"v{i}", 1.0, 1, 12) for i in range(12)))
    results += [against(f"v{i}", {names[0]: (1.1, FASTER)}) for i in range(3, 12)]
    for count, room in ((4, 10), (6, 9), (9, 6), (12, 5)):
        ranking = replace(many, versions=(*FIRST.versions, *many.versions[3:count]))
        made = report(results[: count - 1], ranking)
        assert rows_of(made) == names[: -1 - room : -1]
        assert [row.folded for row in made.tables[0].rows] == [i >= 10 for i in range(max(count, 3))]
