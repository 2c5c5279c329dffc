"""Negative controls: what cannot differ, and what is left of a session's claims when it does.

A second build of the reference, or a benchmark that the change cannot touch, differs by what is not the change.
What is claimed of the others may be off by as much, so a claim stands only if the observed speedup is farther from
the edge of the claim than that: from 1 for "faster" and "slower", from the margin for "equivalent" and a policy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from speedproof.conclude.suite import SuiteComparison
from speedproof.data.notes import Assumption, Note
from speedproof.data.suite import Pair, Suite
from speedproof.options import WORTH_KNOWING, SessionAsked
from speedproof.protocols.pair import PreparedPairs, Rules
from speedproof.protocols.questions import answers
from speedproof.protocols.results import CHANGED, UNTESTED, WITHHELD, Comparison, State, Verdict

_BUILT_AGAIN = "the difference of two builds of the reference"
_UNTOUCHED = "the difference where the change can have done nothing"


class Controls(Struct, frozen=True):
    """What a session measured that cannot differ, and what is seen of it."""

    asked: SessionAsked
    comparisons: tuple[Comparison, ...] = ()

    @classmethod
    def of(
        cls,
        suite: Suite,
        metric: str,
        reference: str,
        candidates: Iterable[str],
        protocol: str,
        rules: Rules,
    ) -> Controls:
        """Those of a suite, compared by a question; benchmarks that cannot differ have one risk together."""
        whole, asked = cls(suite.question), suite.question
        if not (asked.control or asked.unaffected):
            return whole
        by_risk: dict[int, list[Pair]] = {}
        for candidate in candidates:
            for pair in suite.pair(reference, candidate).pairs:
                untouched = pair.key.benchmark in asked.unaffected
                if pair.key.metric == metric and (untouched or whole.again(reference, candidate)):
                    by_risk.setdefault(len(asked.unaffected) if untouched else 1, []).append(pair)
        tested = (
            answers(protocol, PreparedPairs(pairs, replace(rules, alpha=rules.alpha / sharing)))
            for sharing, pairs in by_risk.items()
        )
        return cls(asked, tuple(c for comparisons in tested for c in comparisons))

    def again(self, reference: str, candidate: str) -> bool:
        """Whether a version is the reference, built again."""
        if not self.asked.control:
            return False
        from speedproof.data.session_file import control_name  # which other comparisons do not need

        return candidate == control_name(reference)

    @property
    def moved(self) -> list[Comparison]:
        """Those of which a difference is proven, be it within a margin."""
        return [
            c
            for c in self.comparisons
            if c.verdict in CHANGED
            or (c.verdict is Verdict.EQUIVALENT and not c.certified.low <= 1 <= c.certified.high)
        ]

    def added_to(self, caveats: tuple[Note, ...], candidate: str) -> tuple[Note, ...]:
        """What the data cannot know, but of layout where a second build tells of that, and what controls tell."""
        built = any(self.again(c.reference.label, c.candidate.label) for c in self.comparisons)
        kept = (of for of in caveats if not (built and of.kind is Assumption.ONE_LAYOUT))
        return (*kept, *self.notes(candidate))

    def notes(self, candidate: str) -> tuple[Note, ...]:
        """That something differs which cannot, so far as a candidate is concerned by it."""
        notes = []
        for c in self.moved:
            built = c.benchmark not in self.asked.unaffected
            if built or c.candidate.label == candidate:
                why = "built again from the same source" if built else "which the change cannot touch"
                what = f"{c.reference.label if built else c.benchmark}, {why}, differs"
                whose = (c.reference.label,) * built
                notes.append(Note(Assumption.NOISE_FLOOR, what, whose, (c.benchmark,), c.speedup.value))
        return tuple(notes)

    def floor(self, of: Comparison) -> tuple[float, str]:
        """How far what cannot differ moved, in a logarithm, and what that is; 0 where it did not.

        A second build tells of its own benchmark, an untouched benchmark of its candidate in all of them.
        """
        sizes = [(0.0, "")]
        for c in self.moved:
            size = abs(math.log(c.speedup.value))
            if c.benchmark == of.benchmark:
                sizes.append((size, _BUILT_AGAIN))
            elif c.benchmark in self.asked.unaffected and c.candidate.label == of.candidate.label:
                sizes.append((size, _UNTOUCHED))
        return max(sizes)

    def hold(self, c: Comparison, edges: Sequence[float] | None = None) -> tuple[Comparison, bool]:
        """A comparison without a verdict that is no farther from its edge than the floor.

        And whether what is claimed of it is withheld: the verdict, or what a policy says, which has its own edges.
        """
        # A block whose run failed is not measured again. Runs are of one build, unless blocks are compared.
        failed = any(note.kind is Assumption.SUCCESSFUL_RUNS for note in c.checks)
        measured = 1 if c.repeated == "run" and not c.paired else c.reference.n
        if measured < self.asked.builds and not failed:
            return replace(c, verdict=Verdict.UNDECIDED, state=State.NOT_SIGNIFICANT, needed=UNTESTED), True
        floor, what = self.floor(c)
        if not floor:
            return c, False
        within = 0.0
        if c.verdict is Verdict.EQUIVALENT:
            within = c.at_margin.margin if c.at_margin else WORTH_KNOWING
        lost = c.verdict is not Verdict.UNDECIDED and _distance(c, (1 / (1 + within), 1 + within)) <= floor
        if lost:
            c = replace(c, verdict=Verdict.UNDECIDED, state=State.NOT_SIGNIFICANT)
        if not (lost if edges is None else edges and _distance(c, edges) <= floor):
            return c, False
        size = "distance from the margin" if edges or within else "difference"
        why = f"its {size} is no larger than {what}: the verdict is withheld"
        note = Note(Assumption.NOISE_FLOOR, why, (c.candidate.label,))
        return replace(c, needed=WITHHELD, checks=(*c.checks, note)), True


def _distance(c: Comparison, edges: Sequence[float]) -> float:
    """How far a speedup is from the nearest edge, in a logarithm; 0 where it has none."""
    speedup = c.speedup.value
    return min(abs(math.log(speedup / edge)) for edge in edges) if 0 < speedup < math.inf else 0.0


def withheld(result: SuiteComparison, controls: Controls) -> SuiteComparison:
    """A comparison without the claims that the negative controls of its metric put in doubt."""
    apart = {(c.benchmark, c.candidate.label): c for c in controls.comparisons}
    heads = {
        id(c): apart.get((c.benchmark, c.candidate.label)) or controls.hold(c)[0] for c in result.headlines
    }
    return replace(
        result,
        comparisons=tuple(heads.get(id(c), c) for c in result.comparisons),
        caveats=controls.added_to(result.caveats, result.candidate),
        controls=tuple(c.benchmark for c in controls.comparisons if c.candidate.label == result.candidate),
    )
