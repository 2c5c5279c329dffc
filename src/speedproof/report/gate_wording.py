"""What a gate and its benchmarks are told in: every report of it uses the same sentences, names and order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from speedproof.protocols.assumptions import UNDERMINING
from speedproof.protocols.gate import GateResult, GateRow
from speedproof.protocols.gate_claims import Claim, Outcome
from speedproof.report.blocks import Style
from speedproof.report.conclusions import SHORT, WHERE, needs
from speedproof.report.wording import bounds, percent, plural, pvalue

__all__ = [
    "GATE_STYLES",
    "MOST_LISTED",
    "MOST_NAMED",
    "ORDER",
    "absences",
    "also_proven",
    "asked",
    "counted",
    "few_of",
    "gate_conclusion",
    "gate_doubts",
    "gate_remarks",
    "gate_risks",
    "in_order",
    "marked_outcome",
    "named",
    "row_conclusion",
    "runs",
]

GATE_STYLES: dict[Outcome, Style] = {Outcome.PASS: "good", Outcome.FAIL: "bad", Outcome.UNDECIDED: "doubt"}
ORDER = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.PASS)
"""What stops a pipeline comes first."""
MOST_NAMED = 8
MOST_LISTED = 40
_MARKS = {Outcome.PASS: "+", Outcome.FAIL: "-", Outcome.UNDECIDED: "?"}
_ASKED = {
    "not worse": "not worse by more than the margin",
    "improvement": "better",
    "equivalence": "equivalent within the margin",
}
_OPPOSITES = {
    "regression": "a regression beyond the margin",
    "slowdown": "a slowdown",
    "difference": "a difference beyond the margin",
}
_RANKS_ONLY = (
    "the samples differ by more than a shift: the ranks decide which version tends to be slower, the threshold "
    "allowed for; nothing is certified of the ratio of medians"
)
_CORRECTIONS = {"holm": "Holm's correction", "bh": "Benjamini and Hochberg's correction", "none": ""}


def gate_conclusion(result: GateResult) -> str:
    """The gate's answer in plain sentences.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Returns
    -------
    str
        Outcome, counts and the names of the benchmarks that matter.
    """
    total = len(result.rows)
    parts = []
    if result.absent:
        names = list(dict.fromkeys(absent.benchmark for absent in result.absent))
        lacked = plural(len(names), "benchmark")
        parts.append(
            f"{lacked} of {result.reference} cannot be compared in {result.candidate}: {few_of(names)}"
        )
    failing = [row for row in result.rows if row.outcome is Outcome.FAIL]
    for name in dict.fromkeys(row.contradicted.name for row in failing):
        for doubtful in (False, True):
            rows = [
                row
                for row in failing
                if row.contradicted.name == name and bool(row.comparison.doubts) == doubtful
            ]
            if rows:
                where = f"{len(rows)} of {counted(result, total)}"
                parts.append(
                    f"{_OPPOSITES[name]} is {_shown(rows)} on {where}{_condition(rows)}: {few_of(named(rows))}"
                )
    if result.outcome is Outcome.PASS:
        parts.append(_passed(result))
    undecided = [row for row in result.rows if row.outcome is Outcome.UNDECIDED]
    if undecided:
        if result.outcome is Outcome.UNDECIDED:
            passing = [row for row in result.rows if row.outcome is Outcome.PASS]
            where = f"{len(passing)} of {counted(result, total)}"
            parts.append(f"what is asked is {_shown(passing)} on {where}{_condition(passing)}")
        parts.append(f"undecided on {len(undecided)} of {total}: {few_of(named(undecided))}")
    return f"{result.outcome.value.upper()}: {'; '.join(parts)}."


def _passed(result: GateResult) -> str:
    groups = Counter(row.required.name for row in result.rows)
    total = len(result.rows)
    if len(groups) == 1:
        where = f"all {counted(result, total)}" if total > 1 else named(result.rows)[0]
        what = f"{_ASKED[result.rows[0].required.name]} on {where}"
    else:
        what = " and ".join(f"{_ASKED[name]} on {counted(result, n)}" for name, n in groups.items())
    return (
        f"{result.candidate} is {_shown(result.rows)} {what}, {WHERE[result.rules.protocol]}"
        f"{_condition(result.rows)}"
    )


def _shown(rows: Sequence[GateRow]) -> str:
    """What rows prove is proven only where the runs are what the tests assume."""
    return "shown" if any(row.comparison.doubts for row in rows) else "proven"


def _condition(rows: Sequence[GateRow]) -> str:
    """The condition under which rows show what they show; empty where it is met."""
    doubtful = sum(bool(row.comparison.doubts) for row in rows)
    if not doubtful:
        return ""
    where = "" if doubtful == len(rows) else f" on {doubtful} of them"
    return f", if the runs are what the tests assume, which they are not{where} (marked !)"


def row_conclusion(result: GateResult, row: GateRow) -> str:
    """One benchmark at the gate in plain sentences.

    Parameters
    ----------
    result : GateResult
        Of one gate.
    row : GateRow
        One of its rows.

    Returns
    -------
    str
        What is proven, with hypotheses and p-values, the speedup, and what would decide an undecided one. Where
        the true risk is unknown nothing is called proven.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.suite import Record, Suite
    >>> from speedproof.protocols.gate import gate
    >>> from speedproof.protocols.gate_claims import Demand
    >>> old, new = 10 + np.arange(12) / 100, 12 + np.arange(10) / 100
    >>> suite = Suite.from_records([("old", Record("sort", old)), ("new", Record("sort", new))])
    >>> result = gate(suite, ("old", "new"), lambda name: Demand())
    >>> row_conclusion(result, result.rows[0]).partition("; ")[0]
    'A regression beyond the margin is proven: speedup < 0.9804, p = 1.55e-06'
    """
    required, contradicted = row.required, row.contradicted
    speedup = f"speedup of {result.rules.protocol} {bounds(row.comparison.certified)}"
    if row.outcome is Outcome.UNDECIDED:
        why = f"{row.remark[:1].upper()}{row.remark[1:]}." if row.remark else needs(row.comparison)
        if math.isnan(contradicted.pvalue):
            text = f"Undecided, because nothing was tested: {required.hypothesis} is asked; {speedup}."
        else:
            text = (
                f"Undecided: neither {required.hypothesis} ({_p(required)}) nor its opposite, "
                f"{contradicted.hypothesis} ({_p(contradicted)}{_corrected(result)}), is proven; {speedup}."
            )
        return f"{text} {why}".rstrip()
    if row.outcome is Outcome.PASS:
        shown = _shown([row]).capitalize()
        text = f"{shown} {_ASKED[required.name]}: {required.hypothesis}, {_p(required)}"
    else:
        opposite = _OPPOSITES[contradicted.name]
        text = (
            f"{opposite[0].upper()}{opposite[1:]} is {_shown([row])}: {contradicted.hypothesis}, "
            f"{_p(contradicted)}{_corrected(result)}"
        )
    doubt = ""
    if row.comparison.doubts:
        kinds = dict.fromkeys(SHORT.get(check.kind, check.kind.title) for check in row.comparison.doubts)
        doubt = (
            f" This holds if the runs are what the tests assume, which they are not ({', '.join(kinds)}): the "
            "true risk is unknown."
        )
    ranks = "" if _bounded(row) else f" {_RANKS_ONLY[0].upper()}{_RANKS_ONLY[1:]}."
    return f"{text}; {speedup}.{ranks}{doubt}"


def _bounded(row: GateRow) -> bool:
    """Whether the test that decided bounds the ratio that the row names."""
    return math.isnan(row.comparison.speedup.low) or not math.isnan(row.comparison.certified.low)


def _p(claim: Claim) -> str:
    return "not tested" if math.isnan(claim.adjusted) else f"p = {pvalue(claim.adjusted)}"


def _corrected(result: GateResult) -> str:
    how, total = _CORRECTIONS[result.rules.multiplicity], len(result.rows)
    return f" after {how} over {total}" if how and total > 1 else ""


def counted(result: GateResult, count: int) -> str:
    """A number of rows: of benchmarks, or of their metrics where there are several."""
    several = len({row.comparison.metric for row in result.rows}) > 1
    return plural(count, "benchmark metric" if several else "benchmark")


def named(rows: Sequence[GateRow]) -> list[str]:
    """Benchmarks of rows; the metric is named where the rows are not all of one."""
    several = len({row.comparison.metric for row in rows}) > 1
    return [
        f"{row.comparison.benchmark} ({row.comparison.metric})" if several else row.comparison.benchmark
        for row in rows
    ]


def few_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> few_of(["sort", "sum"]), few_of(list("abcdefghij"))
    ('sort, sum', 'a, b, c, d, e, f, g, h and 2 more')
    """
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def gate_risks(result: GateResult) -> str:
    """What the gate's answers risk, in plain sentences.

    Parameters
    ----------
    result : GateResult
        Of one gate.

    Returns
    -------
    str
        For a false pass and for a false fail.
    """
    alpha, total = result.rules.alpha, len(result.rows)
    one = f"A false pass has a risk of at most {percent(alpha)}, however many benchmarks there are"
    if total < 2:
        return f"{one}; so has a false fail."
    if result.rules.multiplicity == "holm":
        return f"{one}; a false fail one of {percent(alpha)} over all {total} together (Holm's correction)."
    if result.rules.multiplicity == "bh":
        return (
            f"{one}; of the benchmarks that fail an expected share of {percent(alpha)} at most does so falsely "
            "(Benjamini and Hochberg's correction, for benchmarks that are independent or go together)."
        )
    return (
        f"{one}; a false fail one of {percent(alpha)} for each benchmark, up to "
        f"{percent(min(1.0, alpha * total))} over all {total} (no correction)."
    )


def gate_doubts(result: GateResult) -> list[str]:
    """What these risks do not cover: an order that nobody drew, runs that are not what the tests assume.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.suite import Record, Suite
    >>> from speedproof.protocols.gate import gate
    >>> from speedproof.protocols.gate_claims import Demand
    >>> runs = 10 + np.arange(12) / 100
    >>> records = [(v, Record("sort", runs, fields=(("session", f"s-{v}"),))) for v in ("old", "new")]
    >>> told = gate_doubts(gate(Suite.from_records(records), ("old", "new"), lambda name: Demand()))
    >>> [text.partition(",")[0] for text in told]
    ['old and new were measured in different sessions', 'In 1 of 1 benchmark']
    """
    told = []
    if result.sessions_apart:
        told.append(
            f"{result.reference} and {result.candidate} were measured in different sessions, one after the other: "
            "what else changed in between counts as a change of the program. 'speedproof run' measures both in "
            "one session, in random order."
        )
    doubtful = sum(bool(row.comparison.doubts) for row in result.rows)
    if doubtful:
        told.append(
            f"In {doubtful} of {counted(result, len(result.rows))}, marked !, the runs are not what the tests "
            f"assume ({_tally(result, undermining=True)}): the true risk is unknown and may be far larger."
        )
    return told


def _tally(result: GateResult, *, undermining: bool) -> str:
    """Kinds of checks that did not hold, each with the number of its benchmarks."""
    found = {
        (SHORT.get(check.kind, check.kind.title), i)
        for i, row in enumerate(result.rows)
        for check in row.comparison.failed_checks
        if (check.kind in UNDERMINING) == undermining
    }
    counts = Counter(word for word, _ in sorted(found) if word)
    return ", ".join(f"{word} on {count}" for word, count in counts.items())


def absences(result: GateResult) -> list[str]:
    """What the candidate lacks, each with the reason; the metric is named where there are several."""
    several = len({absent.metric for absent in result.absent}) > 1
    return [
        f"{absent.benchmark}{f' ({absent.metric})' if several else ''}: {absent.reason}"
        for absent in result.absent
    ]


def gate_remarks(result: GateResult) -> list[str]:
    """What to mind: what would decide, told once for all of which the same is to be said, and failed checks."""
    by_text: dict[str, list[str]] = {}
    rows = in_order(result)
    for name, row in zip(named(rows), rows, strict=True):
        parts = [row.remark] if row.remark else []
        if row.outcome is not Outcome.UNDECIDED and not _bounded(row):
            parts.append(_RANKS_ONLY)
        needed = row.comparison.needed
        if needed is not None:
            sides = ((needed.reference, result.reference), (needed.candidate, result.candidate))
            counts = [f"{plural(count, 'run')} of {side}" for count, side in sides if count is not None]
            wanted = f"about {' and '.join(counts)} would be needed: " if counts else ""
            parts.append(f"{wanted}{needed.reason}")
        if parts:
            by_text.setdefault("; ".join(parts), []).append(name)
    told = [f"{few_of(names)}: {text}" for text, names in by_text.items()]
    failed = _tally(result, undermining=False)
    return [*told, f"did not hold: {failed}; 'speedproof compare' says what to do"] if failed else told


def in_order(result: GateResult) -> list[GateRow]:
    """Failing benchmarks first, then undecided ones; the reference's order within each."""
    return sorted(result.rows, key=lambda row: ORDER.index(row.outcome))


def marked_outcome(row: GateRow) -> str:
    """The outcome with its mark, and ``!`` where the true risk is unknown."""
    return f"{_MARKS[row.outcome]}{'!' if row.comparison.doubts else ' '}{row.outcome.value}"


def asked(row: GateRow) -> str:
    """The hypothesis without its subject, which is the column before."""
    return row.required.hypothesis.replace(" < speedup < ", " to ").removeprefix("speedup ")


def also_proven(row: GateRow) -> str:
    """Proven claims beyond what the policy asked; an improvement says that it is not worse.

    They carry the mark ``!`` of their row.
    """
    told = {row.required.name, row.contradicted.name, "not worse"}
    names = ", ".join(name for name in row.claims_proven() if name not in told)
    return f"! {names}" if names and row.comparison.doubts else names


def runs(row: GateRow) -> str:
    """How many runs of each side, once where they are as many.

    Examples
    --------
    >>> import numpy as np
    >>> from speedproof.data.suite import Record, Suite
    >>> from speedproof.protocols.gate import gate
    >>> from speedproof.protocols.gate_claims import Demand
    >>> sizes = {"old": 12, "new": 10}
    >>> records = [(v, Record("sort", 10 + np.arange(n) / 100)) for v, n in sizes.items()]
    >>> (row,) = gate(Suite.from_records(records), ("old", "new"), lambda name: Demand()).rows
    >>> runs(row), asked(row), marked_outcome(row), also_proven(row), named([row])
    ('12, 10', '> 0.9804', '+ pass', 'equivalence', ['sort'])
    """
    n, m = row.comparison.reference.n, row.comparison.candidate.n
    return str(n) if n == m else f"{n}, {m}"
