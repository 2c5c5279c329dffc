"""Whether a candidate may replace a reference: the answer of ``speedproof gate`` as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from speedproof.api.given import (
    alpha_of,
    floor_of,
    no_step,
    of_metric,
    quantile_measured,
    question_given,
    sharing,
    something_common,
    two_versions,
)
from speedproof.conclude.claims import Demand as Demand
from speedproof.conclude.claims import Outcome as Outcome
from speedproof.conclude.gate import GateDecision as GateDecision
from speedproof.conclude.gate import GateRow as GateRow
from speedproof.conclude.gate import GateRules, next_of, together
from speedproof.conclude.gate import gate as decide
from speedproof.data.checked import checked
from speedproof.data.names import plural
from speedproof.data.names import wanted as wanted
from speedproof.data.record import why_left_out
from speedproof.data.session_file import control_name
from speedproof.data.suite import Suite
from speedproof.declaring import proportion_given
from speedproof.errors import Parameter, UsageError
from speedproof.options import Location, Multiplicity, Policy, PolicyName
from speedproof.reporting.gate import report
from speedproof.reporting.model import Report, Reported, comparisons_to_json
from speedproof.reporting.shown import Shown
from speedproof.values import rest, tolerance


class GateResult(Shown, Struct, frozen=True):
    """The gate's answer. ``print`` shows what ``speedproof gate`` shows.

    Attributes
    ----------
    decision : GateDecision
        Everything that was computed: its ``results`` are comparisons as those of :func:`speedproof.compare_suite`,
        its ``rows`` what the policy says of each.
    suite : Suite
        The samples, for reports that draw them.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> g = sp.gate(suite, margin="50%")
    >>> g
    <GateResult: pass, 6 benchmarks>
    >>> g.open, g.exit_code
    ((), 0)
    """

    decision: GateDecision
    suite: Suite

    @property
    def outcome(self) -> Outcome:
        """Pass, fail or undecided."""
        return self.decision.outcome

    @property
    def open(self) -> tuple[str, ...]:
        """The benchmarks that are undecided: what a later look measures."""
        return self.decision.open

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 undecided, as the command's."""
        return self.outcome.exit_code()

    def to_json(self, command: str = "gate", **more: Any) -> str:
        """What ``speedproof gate --json`` writes, with more to tell in the envelope."""
        return comparisons_to_json(command, self.decision.results, gate=self.decision, **more)

    def reports(self, *, everything: bool = False, undecided_fails: bool = False) -> Iterable[Report]:
        """The result in words, for every format."""
        return [report(self.decision, everything=everything, undecided_fails=undecided_fails)]

    def written(self) -> Reported:
        """With the samples that a page draws."""
        return Reported(tuple(self.reports()), self.suite, results=self.decision.results)

    def __repr__(self) -> str:
        decided, absent = len(self.decision.rows), len(self.decision.absent)
        lacking = f", {absent} of them missing" if absent else ""
        return f"<GateResult: {self.outcome.value}, {plural(decided + absent, 'benchmark')}{lacking}>"


@checked()
def gate(
    suite: Suite,
    *,
    reference: str | None = None,
    candidate: str | None = None,
    metric: str | None = None,
    policy: Policy | PolicyName | None = None,
    margin: float | str | None = None,
    confidence: float | str | None = None,
    multiplicity: Multiplicity | None = None,
    protocol: Location | str | None = None,
    quantile: float | str | None = None,
    demand_of: Callable[[str], Demand | None] | None = None,
    looks: int | None = None,
    after: GateResult | None = None,
    store: str | Path | None = None,
    done: Callable[[], None] = no_step,
) -> GateResult:
    """Hold a candidate to a policy, benchmark by benchmark.

    What is left out is as the look before had it, where there is one (``after``).

    Parameters
    ----------
    suite : Suite
        With the versions.
    reference, candidate : str, optional
        The versions; by default the first, and the other one; of a session of ``run`` all others.
    metric : str, optional
        Its name, or ``"all"``; by default the main one, as on the command line.
    policy : {"no-regression", "proven-improvement", "equivalence"}
        What every benchmark must prove; no regression by default.
    margin : float or str
        What a benchmark may lose, ``0.02`` (as by default) or ``"2%"``: speedups down to 1 / (1 + margin) are no
        regression.
    confidence : float or str
        0.95 by default: 1 - the risk of a false pass and, corrected, of a false fail.
    multiplicity : {"holm", "bh", "none"}
        Correction over the benchmarks of what fails the gate, Holm's by default.
    protocol : {"typical", "mean", "median"} or str
        Whose test decides, or of a quantile, ``"p97.5"``; the first by default.
    quantile : float or str, optional
        From 0.5 to 0.9999: the test of this quantile decides.
    demand_of : callable, optional
        From a benchmark's name to what it must prove (None leaves it out), in place of ``policy`` and
        ``margin``: a ``Demand(policy, margin)``, ``from speedproof.api.gates import Demand``.
    looks : int, optional
        How often the gate will be asked, at most, while measuring goes on: each look has an equal part of the
        risk. By default once, or what the look before was told.
    after : GateResult, optional
        The look before, which was undecided: ``suite`` holds new runs of what it left open (``after.open``), of
        which the same is asked. The result is that of all looks together.
    store : str or path, optional
        A :class:`History`'s: how much its sessions of one commit differ is counted in.
    done : callable
        Called after each benchmark.

    Returns
    -------
    GateResult
        ``outcome`` and ``exit_code``.

    Raises
    ------
    SpeedproofError
        One version only, or no benchmark to hold it to; an earlier look that has decided, was the last, or left
        open what is not here.

    Examples
    --------
    >>> import speedproof as sp
    >>> suite = sp.read("O2=examples/gcc/O2.json", "O3=examples/gcc/O3.json")
    >>> g = sp.gate(suite, margin=0.5)
    >>> g.outcome.value, g.exit_code
    ('pass', 0)
    """
    if after is not None:
        before = zip((reference, candidate), after.decision.versions, strict=False)
        reference, candidate = (v if name is None and v in suite.versions else name for name, v in before)
        metrics = {row.metric for row in after.decision.rows}
        metric = metric or (metrics.pop() if len(metrics) == 1 else "all")
    suite = of_metric(suite, metric)
    versions: tuple[str, ...] = ()
    candidates = 1  # that share the risk
    count = looks or 1
    if candidate is None and count == 1 and after is None:
        versions, candidates = of_session(suite, reference)
    versions = versions or two_versions(suite, reference, candidate, "a gate")
    _refuse_unusable(suite, versions[0])
    if quantile is not None and protocol is not None:
        raise UsageError(f"quantile={quantile!r} is a protocol of its own: leave protocol={protocol!r} out")
    deciding = None
    if protocol is not None or quantile is not None:
        deciding = question_given(protocol, get_args(Location), quantile)
    share = None if margin is None else proportion_given("margin", margin, kind=tolerance)
    alpha = None if confidence is None else alpha_of(confidence)
    floor, asked = floor_of(store), demand_of or demanding(suite, after, policy, share)

    def given(name: str) -> Demand | None:
        demand = asked(name)
        if demand is not None and not isinstance(demand, Demand):
            raise UsageError(
                f"demand_of({name!r}) gave {demand!r}: expected a speedproof.api.gates.Demand or None"
            )
        return demand

    if after is None:
        usual = multiplicity or "holm", deciding or quantile_measured(suite.question) or "typical"
        if alpha is None:
            alpha = alpha_of(suite.question.confidence or 0.95)
        anytime = suite.question.policy is not None and multiplicity is None and count == 1
        rules = GateRules(alpha / count, *usual, looks=count, anytime=anytime, share=candidates)
        decision = decide(suite, versions, given, rules, done, floor)
        return GateResult(_of_something(suite, decision), suite)
    again = set(_asked_again(after, suite, versions[0]))
    chosen = after.decision.rules.looks
    if looks is not None and looks != chosen:
        raise UsageError(f"looks={looks}: how many looks there are is chosen once, for all: {chosen}")
    rules = next_of(after.decision, alpha, multiplicity, deciding)
    now = decide(suite, versions, lambda name: given(name) if name in again else None, rules, done, floor)
    _refuse_the_same(after.decision, now)
    return GateResult(together(after.decision, _of_something(suite, now)), suite)


def _refuse_unusable(suite: Suite, reference: str) -> None:
    """Refuse files that cannot be read and benchmarks of the reference that cannot be used.

    A gate must not pass without looking at them.
    """
    usable = {key.benchmark for key, version in (*suite.samples, *suite.not_chosen) if version == reference}
    lost = [one for one in suite.skipped if one.benchmark and one.benchmark not in usable]
    if files := suite.unread:
        raise UsageError("\n  ".join(["some files cannot be read; correct or remove them:", *files]))
    if lines := why_left_out(lost):
        raise UsageError(
            "some measurements cannot be used; correct them, or leave their benchmarks out (",
            Parameter("skip"),
            "):",
            *(f"\n  {line}" for line in lines),
        )


def of_policies(suite: Suite, demand_of: Callable[[str], Demand | None], alpha: float) -> GateResult:
    """What the policies of a session say of its file."""
    return gate(suite, metric="all", demand_of=demand_of, confidence=rest(alpha))


def of_session(suite: Suite, reference: str | None = None) -> tuple[tuple[str, ...], int]:
    """The reference and the candidates of a session, which are judged together, and how many share the risk.

    None of other files, nor where there is one candidate that lacks nothing.
    """
    alone = reference in (None, *suite.versions[:1]) and suite.versions
    first = suite.versions[0] if alone else suite.sides(reference)[0]
    measured = [name for name in suite.versions if name != first]
    share = sharing(suite, measured)
    if share == 1 and not suite.lacking:
        return (), 1
    again = suite.question.control and control_name(first)
    candidates = dict.fromkeys(name for name in (*measured, *suite.lacking) if name not in (first, again))
    return (first, *candidates), share


def _of_something(suite: Suite, decision: GateDecision) -> GateDecision:
    """Refuse files with nothing in common, which are the wrong ones."""
    if not decision.rows and not any(skipped.version for skipped in suite.skipped):
        reference, *names = decision.versions
        something_common(suite, reference, {name: suite.pair(reference, name) for name in names})
    return decision


def _refuse_the_same(before: GateDecision, now: GateDecision) -> None:
    """Refuse a look at the runs of the look before, which would be spent on what is known."""
    known, given = ({(c.reference, c.candidate) for _, c in look.judged} for look in (before, now))
    if given and given <= known:
        raise UsageError(
            f"look {now.rules.look} of {now.rules.looks} was given the runs of look {before.rules.look}: "
            "measure what is open anew"
        )


def demanding(
    suite: Suite, before: GateResult | None, policy: str | None, margin: float | None
) -> Callable[[str], Demand]:
    """What a benchmark must prove: what is asked, else what the look before, else what sessions were asked.

    What a session said of some benchmarks comes before what is said of all.
    """
    earlier, asked, usual = before.decision.demands if before else {}, suite.question, Demand()
    base = Demand(Policy(policy or asked.policy or usual.policy), margin or asked.margin or usual.margin)

    def demand(name: str) -> Demand:
        if kept := earlier.get(name):
            return Demand(Policy(policy or kept.policy), margin or kept.margin)
        return base.of(name, asked.benchmark) or base

    return demand


def _asked_again(after: GateResult, suite: Suite, reference: str) -> tuple[str, ...]:
    """What the look before left open, all of which must be here: a gate must not pass by forgetting it."""
    rules = after.decision.rules
    if after.outcome is not Outcome.UNDECIDED:
        raise UsageError(
            f"look {rules.look} of {rules.looks} decided: {after.outcome}; there is nothing to ask"
        )
    if rules.look == rules.looks:
        raise UsageError(f"look {rules.look} of {rules.looks} was the last")
    here = {key.benchmark for key in suite.of(reference)}
    if gone := [name for name in after.open if name not in here]:
        raise UsageError(
            f"{', '.join(gone)}: left open by the look before, but not measured again for {reference}"
        )
    return after.open
