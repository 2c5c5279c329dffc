"""The heading of a session with several findings: how many candidates, or benchmarks, got each verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speedproof.protocols.results import Verdict
from speedproof.protocols.sequential import Finding
from speedproof.report.blocks import Text

__all__ = ["counted"]


def counted(findings: Sequence[Finding]) -> Iterator[Text]:
    """One sentence that counts the verdicts of a session.

    Parameters
    ----------
    findings : sequence of Finding
        Of a whole session, of one metric.

    Yields
    ------
    Text
        Nothing for a single finding, whose own sentence says it all. What is marked ``!`` is not called proven.

    Examples
    --------
    >>> from speedproof.protocols.sequential import SequentialComparison, StopRules
    >>> race = SequentialComparison("b", ["old", "new", "same"], StopRules())
    >>> for i in range(20):
    ...     race.add({"old": 2.0 + i / 100, "new": 1.0 + i / 200, "same": 2.0 + (i * 7 % 20) / 100})
    >>> [text.text for text in counted(race.findings())]
    ['1 of 2 candidates is proven faster than old; 1 undecided']
    """
    if len(findings) < 2:
        return
    counts = {verdict: sum(f.verdict is verdict for f in findings) for verdict in Verdict}
    gain, loss = ("faster", "slower") if findings[0].metric == "time" else ("better", "worse")
    doubted = any(f.warnings for f in findings if f.verdict is not Verdict.UNDECIDED)
    shown = "shown" if doubted else "proven"
    gains, losses = counts[Verdict.FASTER], counts[Verdict.SLOWER]
    references = {f.reference for f in findings}
    than = f" than {findings[0].reference}" if len(references) == 1 else ""
    where = "" if findings[0].metric == "time" else f" in {findings[0].metric}"
    candidates = {f.candidate for f in findings}
    others = {loss: losses, "equivalent": counts[Verdict.EQUIVALENT], "undecided": counts[Verdict.UNDECIDED]}
    if len({f.benchmark for f in findings}) == 1:
        are = "are" if gains > 1 else "is"
        text = f"{gains or 'None'} of {len(findings)} candidates {are} {shown} {gain}{than}{where}"
        rest = [f"{count} {word}" for word, count in others.items() if count]
    else:
        who, what = (
            (candidates.pop(), "benchmarks") if len(candidates) == 1 else ("A candidate", "comparisons")
        )
        text = f"{who} is {shown} {gain}{than}{where} in {gains or 'none'} of {len(findings)} {what}"
        rest = [f"{word} in {count}" for word, count in others.items() if count]
    text = "; ".join([text, ", ".join(rest)]) if rest else text
    yield Text(f"{text} (! see below)" if doubted else text, "strong")
