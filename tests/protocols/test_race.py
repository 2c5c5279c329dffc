"""A race of several candidates: all sets of hypotheses after every block, in plain Python."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests.protocols.asking import stop_rules

from speedproof.data.notes import Assumption
from speedproof.protocols.claims import Demand, StopRules
from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import ALL_MEASURED, PROVEN, SequentialComparison
from speedproof.stats.estimate import Estimate
from speedproof.stats.fixed_pairs import FixedPairs
from speedproof.stats.scaling import Resolution
from speedproof.stats.sequential import PairedSequence


@pytest.mark.parametrize(("level", "agreed"), [(0.05, True), (0.004, False)])
def test_skewed_blocks_are_told_alike_of_either_side(level: float, agreed: bool) -> None:
    """Exchanged sides give the same words: a gain told of one is a loss told of the other."""
    rng = np.random.default_rng(12)
    skewed = rng.exponential(0.02, 60)
    ratios = np.exp(skewed - np.median(skewed) + (level if agreed else -level))
    told = []
    for x, y in ((ratios, np.ones(60)), (np.ones(60), ratios)):
        race = SequentialComparison("sort", ("X", "Y"), stop_rules(max_blocks=60))
        for one, other in zip(x.tolist(), y.tolist(), strict=True):
            race.add({"X": one, "Y": other})
        told.append([check.message for check in race.warnings("Y") if "skewed (p" in check.message])
    assert told[0] == told[1] != []
    assert ("agree on who is faster" in told[0][0]) is agreed


class NaiveRace:
    """All hypotheses of every candidate, all sets of them, after every block."""

    def __init__(self, names: str, rules: StopRules, higher: bool) -> None:
        self.rules, self.higher, self.names, self.blocks = rules, higher, names, 0
        kind = FixedPairs if rules.fixed else PairedSequence
        self.pairs = {name: kind(alpha=rules.alpha / len(names)) for name in names}
        self.proven: dict[tuple[str, int], bool] = {}
        self.lost: dict[str, bool] = {}
        self.effects: dict[str, float] = {}
        self.reasons: dict[str, str] = {}
        self.times = Resolution()

    def add(self, block: dict[str, float]) -> None:
        rules = self.rules
        self.blocks += 1
        for value in block.values():
            self.times.add(value)
        for name in [n for n in self.names if n in block and "X" in block]:
            x, y = block["X"], block[name]
            self.pairs[name].add(y if self.higher else x, x if self.higher else y, resolution=self.times.step)
        last = rules.max_blocks is not None and self.blocks >= rules.max_blocks
        for pair in self.pairs.values():
            if last and isinstance(pair, FixedPairs):
                pair.close()
        for side in (1, -1):
            results = {n: pair.result() for n, pair in self.pairs.items()}
            logs = {
                n: r.log_evidence_faster if side == 1 else r.log_evidence_slower for n, r in results.items()
            }
            for name in self.names:
                sets = [s for k in range(len(logs)) for s in itertools.combinations(logs, k + 1) if name in s]
                least = min(sum(math.exp(logs[n]) for n in s) / len(s) for s in sets)
                if name not in self.reasons:
                    self.proven[name, side] = least >= (1 + 1e-9) / rules.alpha
        for name in self.names if rules.demand else "":
            assert rules.demand is not None
            against = self.pairs[name].log_evidence(1 / (1 + rules.demand.margin), side=-1)
            if name not in self.reasons:
                self.lost[name] = against >= math.log(rules.family / rules.alpha) + 1e-9
        if last and rules.fixed:
            for name in self.names:
                self.reasons.setdefault(name, ALL_MEASURED)
        if not last and self.blocks >= rules.min_blocks:
            for name in self.names:
                if name not in self.reasons and (why := self.why(name)):
                    self.reasons[name] = why

    def verdict(self, name: str) -> Verdict:
        result = self.pairs[name].result()
        faster, slower = (self.proven.get((name, side), False) for side in (1, -1))
        if result.contradictory or (faster and slower):
            return Verdict.UNDECIDED
        m, held = self.rules.margin, self.rules.demand or self.rules.fixed
        if m is not None and 1 / (1 + m) < result.low and result.high < 1 + m:
            return Verdict.EQUIVALENT
        if not (faster or slower):
            near = m is None and not held and result.low > 1 / 1.01 and result.high < 1.01
            return Verdict.EQUIVALENT if near else Verdict.UNDECIDED
        return Verdict.FASTER if faster else Verdict.SLOWER

    def outcome(self, name: str) -> str | None:
        if self.rules.demand is None:
            return None
        result = self.pairs[name].result()
        kept, lost = result.low > 1 / (1 + self.rules.demand.margin), self.lost.get(name, False)
        if result.contradictory or (kept and lost) or not (kept or lost):
            return "undecided"
        return "pass" if kept else "fail"

    def why(self, name: str) -> str:
        rules, pair, verdict = self.rules, self.pairs[name], self.verdict(name)
        result = pair.result()
        if rules.demand is not None:
            return {"pass": "it passes", "fail": "it fails", "undecided": ""}[str(self.outcome(name))]
        if rules.precision is not None:
            return "the precision is reached" if result.precision <= rules.precision else ""
        if verdict is Verdict.UNDECIDED:
            return ""
        if rules.stop_at_proof or verdict is Verdict.EQUIVALENT:
            return PROVEN
        side = 1 if verdict is Verdict.FASTER else -1
        bound = side * math.log(result.low if side == 1 else result.high)
        effects = [side * math.log(v) for v in (pair.middle(), pair.centre())]
        before, self.effects[name] = self.effects.get(name, 0.0), effects[0]
        if effects[0] < max(before, 0.0):
            return ""
        wanted = 0.5 * (max(effects) if bound >= 0.5 * effects[0] else effects[0])
        if bound >= wanted or (pair.stepped and side * math.log(pair.attainable(side)) <= wanted):
            return PROVEN
        return ""

    def to_go(self, name: str) -> float:
        rules, pair, verdict = self.rules, self.pairs[name], self.verdict(name)
        result = pair.result()
        if name in self.reasons and (not rules.fixed or verdict is not Verdict.UNDECIDED):
            return 0.0
        if rules.precision is not None:
            if result.precision <= rules.precision:
                return 0.0
            early = result.blocks < 10 or math.isinf(result.precision)
            return math.nan if early else result.blocks * ((result.precision / rules.precision) ** 2 - 1)
        if rules.demand is not None:
            edge = 1 / (1 + rules.demand.margin)
            ways = [pair.blocks_to_go(gamma=edge, side=side) for side in (1, -1)]
        elif verdict in (Verdict.FASTER, Verdict.SLOWER) and not rules.stop_at_proof:
            side = 1 if verdict is Verdict.FASTER else -1
            ways = [pair.blocks_to_go(gamma=math.sqrt(pair.middle()), side=side)]
        else:
            ways = [pair.blocks_to_go(gamma=1.0, side=side) for side in (1, -1)]
            if rules.margin is not None or not rules.fixed:
                margin = rules.margin or 0.01
                both = [
                    pair.blocks_to_go(gamma=1 / (1 + margin), side=1),
                    pair.blocks_to_go(gamma=1 + margin, side=-1),
                ]
                ways.append(math.nan if any(map(math.isnan, both)) else max(both))
        return min((way for way in ways if not math.isnan(way)), default=math.nan)


RACES: list[tuple[StopRules, str, float, int | None]] = [
    (stop_rules(alpha=0.1), "ABC", 0.03, None),
    (stop_rules(alpha=0.1, stop_at_proof=True, margin=0.04), "AB", 0.02, None),
    (stop_rules(alpha=0.3, margin=0.2, min_blocks=3), "AB", 0.05, 1),
    (stop_rules(alpha=0.2, min_blocks=1), "AB", 0.1, 1),
    (stop_rules(alpha=0.1, precision=0.05), "AB", 0.03, None),
    (stop_rules(alpha=0.2, demand=Demand(margin=0.03), family=5), "ABC", 0.02, None),
    (stop_rules(alpha=0.2, max_blocks=14, margin=0.05), "AB", 0.04, None),
    (stop_rules(alpha=0.1, min_blocks=14, max_blocks=14, fixed=True), "AB", 0.04, None),
    (
        stop_rules(alpha=0.1, min_blocks=14, max_blocks=14, fixed=True, demand=Demand(margin=0.02), family=2),
        "AB",
        0.02,
        2,
    ),
]


@pytest.mark.parametrize("higher", [False, True])
@pytest.mark.parametrize("case", range(len(RACES)))
def test_a_race_in_loops(case: int, higher: bool) -> None:
    """What is found after every block, of a faster, a slower and an equal candidate; some values are lost."""
    rules, names, noise, digits = RACES[case]
    rng = np.random.default_rng([case, higher])
    level = dict(zip(names, (1.09, 0.9, 1.0), strict=False)) | {"X": 1.0}
    race = SequentialComparison("sort", ["X", *names], rules, metric="rate", higher_is_better=higher)
    naive = NaiveRace(names, rules, higher)
    for _ in range(rules.max_blocks or 26):
        open_ = tuple(n for n in names if n not in naive.reasons)
        assert (race.open(), race.runners, race.blocks) == (open_, ("X", *open_), naive.blocks)
        times = {
            n: 1 / level[n] * math.exp(noise * rng.normal()) for n in race.runners if rng.random() > 0.06
        }
        block = {n: t if digits is None else round(t, digits) for n, t in times.items()}
        race.add(block)
        naive.add(block)
        for found in race.findings():
            name = found.candidate
            pair = naive.pairs[name]
            assert (found.benchmark, found.reference, found.metric) == ("sort", "X", "rate")
            assert found.result == pair.result()
            assert (found.verdict, found.outcome) == (naive.verdict(name), naive.outcome(name))
            assert found.reason == naive.reasons.get(name, "")
            assert found.estimate == pytest.approx(pair.estimate(), nan_ok=True)
            assert found.blocks_to_go == pytest.approx(naive.to_go(name), nan_ok=True)
            ends = Estimate(
                found.estimate, pair.result().low, pair.result().high, 1 - rules.alpha / len(names)
            )
            assert repr(found.certified) == repr(ends)
        left = tuple(n for n in naive.reasons if naive.pairs[n].blocks)
        assert race.stopped() == (() if rules.fixed or rules.precision is not None else left)
    race.drop(names[0], "it failed")
    assert names[0] not in race.open()
    with pytest.raises(Exception, match=f"sort, {names[1]} against X, rate: .*decide by a metric"):
        race.add({"X": 1.0, names[1]: 0.0})


@pytest.mark.parametrize(("step", "changed"), [(0.0, False), (0.01, True), (-0.01, True)])
def test_a_speedup_that_drifts(step: float, changed: bool) -> None:
    """By SciPy's rank correlation of ratios and order, at 1 %; of no blocks nothing is said."""
    race = SequentialComparison("b", ["X", "Y"], stop_rules())
    assert race.warnings("Y") == ()
    noise = 0.02 * np.random.default_rng(5).standard_normal(12)
    differences = step * np.arange(12) + noise
    for d in differences.tolist():
        race.add({"X": math.exp(d), "Y": 1.0})
    expected = stats.spearmanr(np.arange(12), differences).pvalue
    assert bool(expected <= 0.01) is changed
    told = [check for check in race.warnings("Y") if check.kind is Assumption.STEADY_SPEEDUP]
    assert [check.pvalue for check in told] == pytest.approx([expected] * changed)


def test_a_verdict_is_of_all_blocks() -> None:
    """Faster by the first 20 pairs, and 20 alike the other way: nothing is proven, and measuring goes on."""
    race = SequentialComparison("b", ["X", "Y"], stop_rules(alpha=0.1, min_blocks=30))
    for k in range(40):
        race.add({"X": (1.1 if k < 20 else 0.9) + 0.001 * (k % 5), "Y": 1.0 + 0.001 * (k % 3)})
        (found,) = race.findings()
        if k == 19:
            assert (found.verdict, found.result.alpha) == (Verdict.FASTER, 0.1)
            assert found.result.low > 1.05
    assert (found.verdict, found.reason, race.open()) == (Verdict.UNDECIDED, "", ("Y",))
    assert found.result.low < 1 < found.result.high


def test_a_candidate_that_left_keeps_its_verdict() -> None:
    """Decided beside one that was as fast then: what that one does later changes nothing for the first."""
    race = SequentialComparison("b", ["X", "A", "B"], stop_rules(stop_at_proof=True, min_blocks=8))
    for k in range(12):
        times = {"X": 2.0 + 0.01 * (k % 5), "A": 1.0, "B": 1.9 if k < 6 else 2.1}
        race.add({name: times[name] for name in race.runners})
    a, b = race.findings()
    assert (a.verdict, a.reason, a.result.blocks) == (Verdict.FASTER, PROVEN, 8)
    assert (b.verdict, b.result.blocks) == (Verdict.UNDECIDED, 12)
