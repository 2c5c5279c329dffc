"""A gate: may this candidate replace this reference? What a policy asks is proven, contradicted, or undecided.

A policy names for each benchmark what must be proven, the *requirement*, and what contradicts it. With the
threshold c = 1 / (1 + margin) and s the speedup:

====================  ===================  ============================
policy                requirement          contradiction
====================  ===================  ============================
no-regression         s > c (not worse)    s < c (regression)
proven-improvement    s > 1 (improvement)  s < 1 (slowdown)
equivalence           c < s < 1 / c        s < c or s > 1 / c
====================  ===================  ============================

The gate passes when the requirement of every benchmark is proven, and fails when a contradiction is proven
anywhere. The two ask for different care:

* To pass wrongly, at least one requirement must be false, and all tests, that one's too, must reject. The
  chance is at most alpha however many benchmarks there are: an intersection-union test, which needs no
  correction (R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982).
* To fail wrongly, one false contradiction among many is enough. The contradictions of all benchmarks are one
  family, and their p-values are corrected: by Holm, so that a fail without any true contradiction has a
  probability of at most alpha, or by Benjamini and Hochberg, which holds the expected share of false ones.

What is typically fast enough may cost more on average, where a few runs are slow. So what typical runs do not
contradict the mean may: by Welch's test of the logarithm of the ratio of means, whose p-value counts three times
unless the requirement is proven of typical runs. It stays one contradiction a benchmark (``studies/gate.py`` shows
the risk of both together). What fails so for no regression fails for a stricter policy, too.

Nothing is proven where an assumption fails without which the risk is unknown: such a row is undecided.

A gate may be asked several times while measuring goes on. Each look has an equal part of the risk, so that all
together have it. What passed at one look is measured no more; a fail ends the gate; the rest is measured anew, and
asked the same again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import count, product

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from speedproof.arrays import FloatArray
from speedproof.conclude.claims import (
    LENIENT,
    MULTIPLICITIES,
    STATEMENTS,
    Claim,
    Demand,
    Outcome,
    claim,
    evidence_of_mean,
    judge,
    overall,
)
from speedproof.conclude.controls import Controls
from speedproof.conclude.looks import WORSE_ON_AVERAGE, mean_of_blocks
from speedproof.conclude.suite import SuiteComparison, all_caveats
from speedproof.data.names import enumerate_names
from speedproof.data.notes import Assumption, Note
from speedproof.data.suite import Key, Pair, Pairing, Suite
from speedproof.errors import DataError
from speedproof.options import HEADLINE, Multiplicity, quantile_of
from speedproof.protocols.aggregates import LogRatios, MeanLogRatio
from speedproof.protocols.caveats import machine_speeds
from speedproof.protocols.figures import MOST_FORECAST, NO_SPREAD, TWO_FILES, in_runs
from speedproof.protocols.in_blocks import NO_NUMBER, forecast, sequence_of
from speedproof.protocols.mean import apart
from speedproof.protocols.noise_floor import IN_TURNS, NoiseFloor, between_sessions, hides
from speedproof.protocols.pair import PreparedPairs, Rules, Sides
from speedproof.protocols.questions import QUESTIONS, answers
from speedproof.protocols.results import SEQUENTIAL, Comparison, Needed, Verdict
from speedproof.protocols.typical import DRIFT, ZEROS
from speedproof.protocols.units import blocks_of, several
from speedproof.stats.estimate import Estimate
from speedproof.stats.permutation import PROVING
from speedproof.stats.ratio import edges as edges_of


class GateRules(Struct, frozen=True):
    """How the gate decides."""

    # The risk of a false pass, and (corrected) of a false fail, in the range that
    # :class:`speedproof.protocols.pair.Rules` allows; of one look, where there are several
    alpha: float = 0.05
    multiplicity: Multiplicity = "holm"  # how p-values are corrected where one claim among many is enough
    protocol: str = HEADLINE  # whose test decides
    # How many benchmarks there are, where some were decided at an earlier look and are not among those here
    family: int = 0
    # Which look this is, and how many there will be
    look: int = 1
    looks: int = 1
    # Whether all may be looked at after every block: a pass and a fail hold then however often one looks, and a
    # fail has the risk over ``family`` (Bonferroni)
    anytime: bool = False
    share: int = 1  # how many candidates share the risk

    def __post_init__(self) -> None:
        Rules(alpha=self.alpha)  # refuses a risk out of range

    @property
    def each(self) -> float:
        """The risk of one candidate."""
        return self.alpha / self.share


DEFAULT = GateRules()


class GateRow(Struct, frozen=True):
    """What a policy says of one benchmark."""

    # Which comparison is judged
    benchmark: str
    metric: str
    candidate: str
    demand: Demand  # policy and margin
    # Pass: the requirement is proven by itself. Fail: the contradiction is proven after correction
    outcome: Outcome
    # What the policy asks, and its contradiction
    required: Claim
    contradicted: Claim
    # The ratio of means at the gate's risk, where it is proven to go the other way than the typical run, or
    # withholds a pass
    average: Estimate | None = None
    mean: Comparison | None = (
        None  # by the mean, where that alone contradicts the policy: it is judged instead
    )


class Absent(Struct, frozen=True):
    """A benchmark of the reference that cannot be judged."""

    benchmark: str
    metric: str
    reason: str
    # Fail where the candidate has no comparable measurements of it; undecided where its turn has not come
    outcome: Outcome = Outcome.FAIL
    candidate: str = ""  # where there are several


class GateDecision(Struct, frozen=True):
    """The whole gate.

    The comparisons of its ``results``, one of each candidate and metric, are at the gate's risk, uncorrected, and
    within the margin of the policy. What they need is for what the policy asks: more runs, or why more of the same
    kind would not simply decide.
    """

    results: tuple[SuiteComparison, ...]
    versions: tuple[str, ...]  # the reference, and who is judged
    rules: GateRules  # risk, correction, protocol
    outcome: Outcome  # fail when a benchmark is absent or contradicted; pass when every requirement is proven
    rows: tuple[GateRow, ...]  # in the order of the reference
    absent: tuple[Absent, ...]  # what the candidate lacks
    ignored: tuple[str, ...] = ()  # benchmarks left out by the user's wish

    @property
    def judged(self) -> list[tuple[GateRow, Comparison]]:
        """Each row with the comparison that it judges."""
        compared = (c for result in self.results for c in result.comparisons)
        of = {(c.benchmark, c.metric, c.candidate.label): c for c in compared}
        return [(row, row.mean or of[row.benchmark, row.metric, row.candidate]) for row in self.rows]

    @property
    def open(self) -> tuple[str, ...]:
        """The benchmarks that are undecided: what a later look measures."""
        return tuple(dict.fromkeys(row.benchmark for row in self.rows if row.outcome is Outcome.UNDECIDED))

    @property
    def demands(self) -> dict[str, Demand]:
        """The demand on each benchmark."""
        return {row.benchmark: row.demand for row in self.rows}


def gate(
    suite: Suite,
    versions: tuple[str, ...],
    demand_of: Callable[[str], Demand | None],
    rules: GateRules = DEFAULT,
    done: Callable[[], None] = lambda: None,
    floor: NoiseFloor | None = None,
) -> GateDecision:
    """Hold candidates to a policy, benchmark by benchmark; the reference comes first."""
    reference, *candidates = versions
    pairings, asked = {name: suite.pair(reference, name) for name in candidates}, suite.question
    keys = [key for key, version in suite.samples if version == reference]
    keys += (key for pairing in pairings.values() for key in (*pairing.only_reference, *pairing.unmeasured))
    keys = [key for key in dict.fromkeys(keys) if key.benchmark not in asked.unaffected]
    demands = {key: demand for key in keys if (demand := demand_of(key.benchmark)) is not None}
    ignored = [key for key in keys if key not in demands]
    if not demands:
        raise DataError(
            f"{reference} has no benchmark to compare {enumerate_names(candidates, 3)} with"
            + (f": all {len(ignored)} are ignored" if ignored else "")
        )
    pairs_of = {
        name: [pair for pair in pairing.pairs if pair.key in demands] for name, pairing in pairings.items()
    }
    pairs = [pair for some in pairs_of.values() for pair in some]
    metrics = dict.fromkeys([*suite.metrics, *(key.metric for key in demands)])
    machines = {
        (name, metric): machine_speeds(pairing.read_of(metric), rules.each)
        for name, pairing in pairings.items()
        for metric in metrics
    }
    cases = _cases(pairs, demands, rules, floor, done)
    absent = tuple(
        Absent(key.benchmark, key.metric, reason, outcome, name if candidates[1:] else "")
        for name, pairing in pairings.items()
        for key, (reason, outcome) in _absences(suite, pairing, (reference, name), keys).items()
        if key in demands
    )
    if rules.anytime:
        waiting = sum(one.outcome is Outcome.UNDECIDED for one in absent)
        looked = all(case.comparison.test == SEQUENTIAL for case in cases)
        rules = replace(rules, anytime=looked, family=len(cases) + waiting if looked else 0)
    # Why no risk of a verdict could be stated, so that nothing is proven; empty where it can.
    two_speeds = {of: "the machine ran at two speeds" for of, speeds in machines.items() if speeds}
    unprovable = [
        (c.checks and _faults(c)) or two_speeds.get((c.candidate.label, c.metric), "")
        for c in (case.comparison for case in cases)
    ]
    each = Rules(rules.each, floor=floor)
    others = [version for version in suite.versions if version != reference]
    controls = {m: Controls.of(suite, m, reference, others, rules.protocol, each) for m in metrics}
    judged = [_held(*one, controls[one[0].metric]) for one in _rows(cases, rules, unprovable)]
    rows = tuple(row for row, _ in judged)
    places: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(rows):
        places.setdefault((row.candidate, row.metric), []).append(i)
    margins = {demand.margin for demand in demands.values()}
    margin = margins.pop() if len(margins) == 1 else None

    def result_of(name: str, metric: str) -> SuiteComparison:
        at, of = places.get((name, metric), []), controls[metric]
        heads, here = [judged[i][1] for i in at], {rows[i].benchmark for i in at}
        others = [c for c in of.comparisons if c.candidate.label == name and c.benchmark not in here]
        caveats = all_caveats([pairs[i] for i in at], heads, (reference, name), each)
        return SuiteComparison(
            *(reference, name, metric, rules.each, margin, each.nested),
            (*heads, *others),
            controls=tuple(c.benchmark for c in others),
            caveats=of.added_to(caveats, name),
            machine=machines.get((name, metric)),
            **(pairings.get(name) or suite.pair(reference, name)).lacking(metric),
        )

    apart = [c.candidate.label for of in controls.values() for c in of.comparisons]
    return GateDecision(
        tuple(result_of(*of) for of in product(dict.fromkeys([*candidates, *apart]), metrics)),
        versions,
        rules,
        overall([*(row.outcome for row in rows), *(one.outcome for one in absent)]),
        rows,
        absent,
        tuple(dict.fromkeys(key.benchmark for key in ignored)),
    )


def _absences(
    suite: Suite, pairing: Pairing, versions: tuple[str, str], keys: Sequence[Key]
) -> dict[Key, tuple[str, Outcome]]:
    """Each key without a pair to compare, with the reason and the policy's outcome for it."""
    paired = {pair.key for pair in pairing.pairs}
    if not (lost := [key for key in keys if key not in paired]):
        return {}
    problems = dict(pairing.incomparable)
    measured: dict[str, list[str]] = {}
    for key, version in (*suite.samples, *suite.not_chosen):
        if version == versions[1]:
            measured.setdefault(key.benchmark, []).append(key.metric)

    def lacking(key: Key) -> str:
        if (key, versions[0]) not in suite.samples:
            return "only the reference has it"
        if others := measured.get(key.benchmark):
            return f"{versions[1]} has {', '.join(others)} of it, not {key.metric}"
        return f"{versions[0]} has measurements of it, {versions[1]} has none"

    reasons = {key: problems.get(key) or lacking(key) for key in lost}
    for key in pairing.only_reference:
        for skipped in suite.skipped:
            if skipped.benchmark == key.benchmark and not skipped.expected and skipped.version is None:
                reasons[key] += f"; left out was {skipped}"
    absent = {key: (reason, Outcome.FAIL) for key, reason in reasons.items()}
    return absent | dict.fromkeys(pairing.unmeasured, ("not measured", Outcome.UNDECIDED))


def _held(row: GateRow, c: Comparison, controls: Controls) -> tuple[GateRow, Comparison]:
    """A row and its comparison without what is no farther from its limit than what cannot differ moved."""
    decided = row.outcome is not Outcome.UNDECIDED
    judged, lost = controls.hold(row.mean or c, row.demand.edges if decided else ())
    if row.mean is None:
        c = judged
    else:
        row, c = replace(row, mean=judged), controls.hold(c)[0]
    if not lost:
        return row, c
    required, contradicted = (replace(claim, proven=False) for claim in (row.required, row.contradicted))
    return replace(row, outcome=Outcome.UNDECIDED, required=required, contradicted=contradicted), c


class _Case(Struct, eq=False):
    """A pair with its demand, before multiplicity is corrected for."""

    demand: Demand
    comparison: Comparison
    sides: Sides
    average: MeanLogRatio | None  # the ratio of means; None where it shows nothing
    blocks: tuple[FloatArray, FloatArray] | None  # of either version, where it was looked at after each
    by_mean: float = 1.0
    other_way: Estimate | None = None
    in_mean: Comparison | None = None  # where one of the two before says something

    def p(self, claim: str) -> float:
        """The p-value for a claim."""
        return STATEMENTS[claim].evidence(self.comparison)

    @property
    def within(self) -> bool:
        """Whether the observed speedup meets the demand."""
        speedup, (low, *high) = self.comparison.speedup.value, self.demand.edges
        return low < speedup and all(speedup < edge for edge in high)

    @property
    def withholds(self) -> bool:
        """Whether the mean proves no fail, as it does not allow for looks, or its own assumptions fail."""
        return self.blocks is not None or bool(self.in_mean and self.in_mean.undermining)

    def against(self, alpha: float, *, proven: bool = False) -> float:
        """The p-value of the mean against the demand, where typical runs do not contradict it; else 1.

        Three times that of its test where they do not meet it either: policy, or no regression. The logarithm of a
        ratio of means takes one far run for proof. That withholds a pass; a fail needs one of the ratio, too.
        """
        average = self.average
        if average is None or not average.error or self.p(self.demand.terms.denies) <= alpha:
            return 1.0

        pvalue = average.pvalue_of_means if proven else average.pvalue

        def of_mean(denies: str) -> float:
            return evidence_of_mean(pvalue, denies, self.demand.margin, alpha)

        met = {terms.denies for terms in (self.demand.terms, LENIENT) if self.p(terms.asks) <= alpha}
        pvalues = map(of_mean, met)
        least = min(3.0 * of_mean(self.demand.terms.denies), *pvalues, 1.0)
        return least if least <= alpha else 1.0

    def opposite(self, alpha: float) -> Estimate | None:
        """The ratio of means, where it is proven to go the other way than the typical run."""
        average, typical = self.average, self.comparison.speedup.value
        if average is None or self.blocks is not None or not average.apart(alpha):
            return None
        if (average.centre < 0.0) is (typical < 1.0):
            return None  # as most: without the interval, which takes long
        mean = average.estimate_of_means(alpha)
        return mean if mean.high < 1.0 < typical or typical < 1.0 < mean.low else None


def _cases(
    pairs: Sequence[Pair],
    demands: Mapping[Key, Demand],
    rules: GateRules,
    floor: NoiseFloor | None,
    done: Callable[[], None],
) -> list[_Case]:
    """The comparisons that ``compare`` makes, each with the margin of its benchmark."""
    alpha = rules.each
    cases: dict[int, _Case] = {}
    for margin in dict.fromkeys(demands[pair.key].margin for pair in pairs):
        alike = [pair for pair in pairs if demands[pair.key].margin == margin]
        asked = Rules(alpha, margin=margin, floor=floor, forecast=False)
        prepared = PreparedPairs(alike, asked)
        answered = answers(rules.protocol, prepared), QUESTIONS[rules.protocol].sides(prepared)
        ratios = apart(prepared) if rules.protocol == HEADLINE else [None] * len(alike)
        some = []
        for pair, comparison, side, ratio in zip(alike, *answered, ratios, strict=True):
            average = None
            blocks = blocks_of(pair) if comparison.test == SEQUENTIAL else None
            if blocks is not None:
                x, y = reversed(blocks) if pair.reference.higher_is_better else blocks
                average = mean_of_blocks(np.log(x) - np.log(y))
            elif ratio is not None:
                log = replace(ratio[1], sessions=between_sessions(pair, floor))
                average = LogRatios.of(ratio[0], log).mean(like_these=False)
            some.append(case := _Case(demands[pair.key], comparison, side, average, blocks))
            if average is not None:
                case.by_mean, case.other_way = case.against(alpha), case.opposite(alpha)
            done()
        of_mean = [i for i, case in enumerate(some) if case.by_mean <= alpha or case.other_way]
        in_mean = answers("mean", PreparedPairs([alike[i] for i in of_mean], prepared.rules))
        for i, comparison in zip(of_mean, in_mean, strict=True):
            some[i].in_mean = comparison
        cases.update(zip(map(id, alike), some, strict=True))
    return [cases[id(pair)] for pair in pairs]


def _faults(comparison: Comparison) -> str:
    """The failed assumptions without which the risk is unknown, with remedies."""
    kinds = dict.fromkeys(note.kind for note in comparison.undermining)
    return ", ".join(f"{kind.violated} ({kind.remedy})" for kind in kinds)


def _rows(
    cases: list[_Case], rules: GateRules, unprovable: Sequence[str]
) -> list[tuple[GateRow, Comparison]]:
    """Correct over the benchmarks, then decide each of them; with the comparison by the gate's protocol."""
    alpha = rules.each
    proven = [case.against(alpha, proven=True) if case.by_mean <= alpha else 1.0 for case in cases]
    against = [case.p(case.demand.terms.denies) for case in cases]
    fails_by_mean = [
        p < of_typical and not case.withholds
        for case, p, of_typical in zip(cases, proven, against, strict=True)
    ]
    against = [
        p if by_mean else of_typical
        for p, by_mean, of_typical in zip(proven, fails_by_mean, against, strict=True)
    ]
    # Those that were decided at an earlier look stay in the family, as if nothing spoke against them.
    decided = [1.0] * (rules.family - len(cases))
    if rules.anytime:
        corrected = [rules.family * p / rules.share for p in against]
    else:
        corrected = MULTIPLICITIES[rules.multiplicity](against + decided).tolist()
    family = sum(not math.isnan(p) for p in against) + len(decided)
    judged, open_ = [], []
    for i, (case, why) in enumerate(zip(cases, unprovable, strict=True)):
        demand, nothing = case.demand, bool(why) or case.comparison.by_few_runs
        p = case.p(asks := demand.terms.asks)
        withheld = case.by_mean <= alpha and p <= alpha and (case.withholds or proven[i] > alpha)
        required, contradicted = (
            claim(key, demand.margin, p, min(rules.share * adjusted, 1.0), rules.alpha, withheld=void)
            for key, p, adjusted, void in (
                (asks, p, p, nothing or withheld), (demand.terms.denies, against[i], corrected[i], nothing)
            )
        )  # fmt: skip
        outcome, needed = judge(required, contradicted), None
        if outcome is Outcome.UNDECIDED:
            once = case.comparison.needed == TWO_FILES
            why = why if once else _too_few(case, contradicted, family, rules) or why
            if withheld and not why:
                faults = "" if case.in_mean is None or case.blocks is not None else _faults(case.in_mean)
                why = WORSE_ON_AVERAGE + f", at a risk that is unknown: {faults}" * bool(faults)
                why += ", which is not proven" * (case.blocks is None and not faults)
            why = why or _why(case, required, contradicted, family, rules)
            needed = Needed(None, None, why) if why else None
            open_ += [] if why else [i]
        judged.append((nothing, withheld, required, contradicted, outcome, needed))
    runs, rows = dict(zip(open_, _needed([cases[i] for i in open_], family, rules), strict=True)), []
    for i, (nothing, withheld, required, contradicted, outcome, needed) in enumerate(judged):
        case, average = cases[i], cases[i].other_way
        comparison, more, mean = case.comparison, runs.get(i, needed), None
        changes: dict[str, object] = {} if more is comparison.needed else {"needed": more}
        if case.in_mean is not None and case.average is not None:
            if contradicted.proven and fails_by_mean[i]:
                mean = replace(case.in_mean, speedup=case.average.estimate_of_means(alpha))
                changes, average = {}, None
            elif withheld:
                average = case.in_mean.speedup
            if average is not None:
                changes["slow_runs"] = case.in_mean.slow_runs
        if nothing:
            changes["verdict"] = Verdict.UNDECIDED
        if changes:
            comparison = replace(comparison, **changes)
        which = comparison.benchmark, comparison.metric, comparison.candidate.label
        row = GateRow(*which, case.demand, outcome, required, contradicted, average, mean)
        rows.append((row, comparison))
    return rows


def _too_few(case: _Case, contradicted: Claim, family: int, rules: GateRules) -> str:
    """The reason if the runs are too few to prove anything, with the number that may do; else empty."""
    c = case.comparison
    either_way = (1 + (contradicted.name == "difference")) * (family if rules.multiplicity == "holm" else 1)
    tests = 1 if case.within else either_way
    least = QUESTIONS[rules.protocol].least_pvalue
    few = c.by_few_runs or any(note.kind is Assumption.SEVERAL_RUNS for note in c.undermining)
    if not few and tests * least(case.sides.slow.size, case.sides.fast.size) <= rules.each:
        return ""
    enough = next(n for n in count(PROVING) if tests * least(n, n) <= rules.each)
    sizes = f"{c.reference.n} and {c.candidate.n} {several(c.repeated)}"
    return f"{sizes} are too few for a proof: measure at least {enough} of each"


def _why(case: _Case, required: Claim, contradicted: Claim, family: int, rules: GateRules) -> str:
    """The reason why more runs alone would not decide; empty if they would."""
    c = case.comparison
    if math.isnan(contradicted.pvalue):
        if c.test:
            return "a ratio to a negative value means nothing"
        return "" if c.needed else c.state.value
    if c.floor is not None and all(hides(c.floor, c.speedup.value, edge) for edge in case.demand.edges):
        return IN_TURNS
    if contradicted.pvalue <= rules.each:
        after = f"after the correction over {family} benchmarks"
        return f"the {contradicted.name} is significant by itself, but not {after}"
    if math.isnan(required.pvalue):
        return "the samples differ by more than a shift, so their ranks prove no equivalence of medians"
    return ""


def _needed(cases: Sequence[_Case], family: int, rules: GateRules) -> list[Needed | None]:
    """Runs that would prove the requirement, or its contradiction, whichever was observed."""
    needs: list[Needed | None] = []
    asked: list[tuple[Sides, float, float]] = []
    places: list[int] = []
    for case in cases:
        c, edges, speedup, needed = case.comparison, case.demand.edges, case.comparison.speedup.value, None
        if not c.test or c.needed in (DRIFT, ZEROS):
            needed = c.needed
        elif any(below <= speedup <= above for below, above in map(edges_of, edges)):
            needed = Needed(None, None, NO_NUMBER)
        elif case.blocks is None and all(of.minimum == of.maximum for of in case.sides.summaries):
            needed = NO_SPREAD
        else:
            # A contradiction has to survive the correction, at worst that of the smallest p-value.
            uncorrected = case.within or rules.multiplicity == "none"
            alpha = rules.each if uncorrected else rules.each / max(family, 1)
            if case.blocks is not None:
                sequence, *_ = sequence_of(case.sides, case.blocks, alpha, quantile_of(rules.protocol))
                more = [sequence.blocks_to_go(gamma=g, side=1 if speedup > g else -1) for g in edges]
                needed = forecast(sequence.blocks, float(np.max(more)))
            else:
                asked += [(case.sides, edge, alpha) for edge in edges]
                places += [len(needs)] * len(edges)
        needs.append(needed)
    most: dict[int, tuple[float, float]] = {}
    for at, runs in zip(places, QUESTIONS[rules.protocol].runs_needed(asked), strict=True):
        before = most.get(at, runs)
        most[at] = max(before[0], runs[0]), max(before[1], runs[1])
    for at, (slow, fast) in most.items():
        needs[at] = _as_needed(cases[at], slow, fast)
    return needs


def _as_needed(case: _Case, slow: float, fast: float) -> Needed:
    inflation = case.comparison.inflation
    slow, fast = slow * inflation, fast * inflation
    if max(slow, fast) <= MOST_FORECAST:
        return in_runs(case.sides, slow, fast, "to decide")
    return Needed(None, None, f"more than {MOST_FORECAST:,} runs would be needed")


def next_of(
    before: GateDecision, alpha: float | None, multiplicity: Multiplicity | None, protocol: str | None
) -> GateRules:
    """The rules for the next look, which must be those of the first."""
    rules = before.rules
    asked = replace(
        rules,
        alpha=rules.alpha if alpha is None else alpha / rules.looks,
        multiplicity=multiplicity or rules.multiplicity,
        protocol=protocol or rules.protocol,
    )
    if asked != rules:
        raise DataError("confidence, protocol and multiplicity are chosen once, for all looks")
    return replace(rules, look=rules.look + 1, family=len(before.rows))


def together(before: GateDecision, now: GateDecision) -> GateDecision:
    """Combine the decision of a look with those before it."""
    fresh = {_key(row): row for row in now.rows}
    for row in before.rows:
        if (again := fresh.get(_key(row))) is not None and again.demand != row.demand:
            raise DataError(
                f"{row.benchmark}: policy and margin are chosen once, for all looks: "
                f"{row.demand.policy.value}, {row.demand.margin:g}"
            )
    rows, kept = [], set[tuple[str, str]]()
    for row in before.rows:
        again = fresh.pop(_key(row), row)
        # A pass is proven, whatever more runs leave open.
        if again is row or (row.outcome, again.outcome) == (Outcome.PASS, Outcome.UNDECIDED):
            kept.add(_key(row))
        rows.append(row if _key(row) in kept else again)
    rows += fresh.values()
    earlier = {of.metric: of for of in reversed(before.results)}  # controls come last
    results = [_joined(earlier.pop(of.metric, of), of, kept) for of in now.results]
    return replace(
        now,
        results=(*results, *earlier.values()),
        outcome=overall([*(row.outcome for row in rows), *(one.outcome for one in now.absent)]),
        rows=tuple(rows),
        ignored=before.ignored,
    )


def _key(of: GateRow | Comparison) -> tuple[str, str]:
    return of.benchmark, of.metric


def _joined(before: SuiteComparison, now: SuiteComparison, kept: Set[tuple[str, str]]) -> SuiteComparison:
    """The comparisons of two looks, of what both have those that count, with the caveats of either."""
    before = replace(before, comparisons=tuple(c for c in before.comparisons if _key(c) in kept))
    comparisons = (*before.comparisons, *(c for c in now.comparisons if _key(c) not in kept))
    return replace(
        now,
        comparisons=comparisons,
        only_candidate=before.only_candidate,
        caveats=_caveats((before, now), {c.benchmark for c in comparisons}),
        machine=before.machine or now.machine,
    )


def _caveats(looks: Sequence[SuiteComparison], everything: set[str]) -> tuple[Note, ...]:
    """Each caveat with its benchmarks, at whichever look they were measured."""
    notes: dict[tuple[object, ...], tuple[Note, set[str]]] = {}
    for look in looks:
        names = everything.intersection(look.benchmarks)
        for c in look.caveats:
            notes.setdefault(c.alike, (c, set()))[1].update(names.intersection(c.benchmarks or names))
    return tuple(
        replace(note, benchmarks=() if names == everything else tuple(sorted(names)))
        for note, names in notes.values()
        if names
    )
