"""The heading of a session counts what its findings say."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import Finding, SequentialComparison, StopRules
from speedproof.report.findings_counted import counted

(TEMPLATE,) = SequentialComparison("b", ["old", "new"], StopRules()).findings()
WORDS = {"faster": Verdict.FASTER, "slower": Verdict.SLOWER}
WORDS |= {verdict.value: verdict for verdict in (Verdict.EQUIVALENT, Verdict.UNDECIDED)}


def findings(
    verdicts: Sequence[Verdict], *, candidate: str = "", benchmark: str = "", reference: str = ""
) -> list[Finding]:
    """A finding a verdict; the letters name what they differ in, where they do."""
    return [
        replace(
            TEMPLATE,
            verdict=verdict,
            candidate=(candidate or ["new"] * 9)[i],
            benchmark=(benchmark or ["b"] * 9)[i],
            reference=(reference or ["old"] * 9)[i],
        )
        for i, verdict in enumerate(verdicts)
    ]


@pytest.mark.parametrize("verdicts", list(itertools.product(Verdict, repeat=3)))
@pytest.mark.parametrize("by", ["candidate", "benchmark"])
def test_counts_are_those_of_the_findings(verdicts: tuple[Verdict, ...], by: str) -> None:
    """Every verdict that occurs is told with its number, and no other one but how many gained."""
    found = findings(verdicts, candidate="xyz") if by == "candidate" else findings(verdicts, benchmark="xyz")
    (text,) = (t.text for t in counted(found))
    counts = Counter(verdicts)
    head, _, rest = text.partition("; ")
    gains = str(counts[Verdict.FASTER] or "none")
    if by == "candidate":
        are = "are" if counts[Verdict.FASTER] > 1 else "is"
        assert head.lower() == f"{gains} of 3 candidates {are} proven faster than old"
        told = {WORDS[word]: int(count) for count, word in re.findall(r"(\d) (\w+)", rest)}
    else:
        assert head == f"new is proven faster than old in {gains} of 3 benchmarks"
        told = {WORDS[word]: int(count) for word, count in re.findall(r"(\w+) in (\d)", rest)}
    assert told == {v: n for v, n in counts.items() if v is not Verdict.FASTER}


def test_doubts_metrics_and_several_of_both() -> None:
    """A doubt about what is decided takes the word "proven" away; memory is not fast; nothing to count for one."""
    two = findings([Verdict.FASTER, Verdict.UNDECIDED], candidate="xy")
    assert list(counted(two[:1])) == []
    doubted = [replace(two[0], warnings=("d",)), two[1]]
    assert [t.text for t in counted(doubted)] == [
        "1 of 2 candidates is shown faster than old; 1 undecided (! see below)"
    ]
    open_doubt = [two[0], replace(two[1], warnings=("d",))]
    assert [t.text for t in counted(open_doubt)] == [
        "1 of 2 candidates is proven faster than old; 1 undecided"
    ]
    memory = [replace(f, metric="memory") for f in two]
    assert [t.text for t in counted(memory)] == [
        "1 of 2 candidates is proven better than old in memory; 1 undecided"
    ]
    both = findings([Verdict.FASTER, Verdict.SLOWER], candidate="xy", benchmark="ab", reference="uv")
    assert [t.text for t in counted(both)] == [
        "A candidate is proven faster in 1 of 2 comparisons; slower in 1"
    ]
