"""The Speedup-Test of a configuration of the original tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from speedproof.api.given import alpha_of
from speedproof.data.checked import checked
from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Record, Suite
from speedproof.declaring import proportion_given
from speedproof.errors import Parameter, UsageError
from speedproof.formats import ReadOptions
from speedproof.formats import read as read_records
from speedproof.formats.suites import all_there, names_given, turned
from speedproof.protocols.pair import KSRule, Rules
from speedproof.protocols.speedup_test import Entry, report_suite
from speedproof.reporting.speedup_test import SpeedupTestResult
from speedproof.values import any_level


@checked()
def speedup_test(
    config: str | Path,
    *,
    confidence: float | str | None = None,
    weighting: Literal["custom", "equal", "fraction"] = "custom",
    precision: float | str = 0.05,
    original: bool = False,
    always_welch: bool = False,
    ks_rule: KSRule = "legacy",
    unit: str | None = None,
    higher_is_better: str | Sequence[str] = (),
) -> SpeedupTestResult:
    """Run the Speedup-Test on a configuration of the original tool.

    Parameters
    ----------
    config : str or Path
        A CSV file with the columns Name, Sample1, Sample2, ConfLevel, Coef.
    confidence : float or str, optional
        Of every benchmark; by default each row's ConfLevel, else the highest level that is significant.
    weighting : {"custom", "equal", "fraction"}
        Weights in the overall gain: the Coef column, all equal, or the reference's times.
    precision : float or str
        Half width for the number of benchmarks needed.
    original : bool
        Follow the tool of 2010 instead of the article.
    always_welch : bool
        Mean: never pool variances after an F test.
    ks_rule : {"legacy", "r422"}
        Median: Kolmogorov-Smirnov p-values as in the article's R or exact under ties.
    unit, higher_is_better
        As :func:`speedproof.read` takes them. Where more is better the speedup is candidate over reference.

    Returns
    -------
    SpeedupTestResult
        ``write(prefix)`` writes the original's four files.

    Raises
    ------
    SpeedproofError
        A configuration or a file that cannot be read, a ConfLevel that is none.

    Examples
    --------
    >>> import speedproof as sp
    >>> found = sp.speedup_test("tests/data/speedup_test_tool/plain.csv")
    >>> len(found.report.rows)
    16
    """
    if original and (always_welch or ks_rule != "legacy"):
        because = Parameter("original", True), " has its own rules; leave "
        raise UsageError(*because, Parameter("always_welch"), " and ", Parameter("ks_rule"), " out")
    config = str(config)
    alpha = None if confidence is None else alpha_of(confidence, any_level)
    precision = proportion_given("precision", precision, '0.05 or "5%"', any_level)
    more = names_given(higher_is_better)
    read = list(read_records(config, format="speedup-test", options=ReadOptions(unit=unit)))
    all_there(more, (record.metric for record in read if isinstance(record, Record)))
    records = [turned(item, more) if isinstance(item, Record) else item for item in read]
    suite = Suite.from_records((r.version or "" if isinstance(r, Record) else "", r) for r in records)
    fields = {r.benchmark: dict(r.fields) for r in records if isinstance(r, Record)}
    pairing = suite.pair("Sample1", "Sample2")
    entries = [_entry(p.key, p.reference, p.candidate, fields[p.key.benchmark]) for p in pairing.pairs]
    problems = (*(str(s) for s in suite.skipped if not s.expected), *pairing.problems)
    if not entries:
        detail = "".join(f"\n  {problem}" for problem in problems)
        raise UsageError(f"{config}: no benchmark of this configuration can be read{detail}")
    report = report_suite(
        entries,
        Rules(always_welch=always_welch, ks_rule=ks_rule),
        alpha=alpha,
        weighting=weighting,
        precision=precision,
        original=original,
    )
    notes = tuple(dict.fromkeys(note for sample in suite.samples.values() for note in sample.notes))
    there = {pair.key.benchmark for pair in pairing.pairs}
    lost = [s.benchmark or s.where for s in suite.skipped if not s.expected and s.benchmark not in there]
    lost += [key.benchmark for key, _ in pairing.incomparable]
    return SpeedupTestResult(report, config, problems, notes, tuple(dict.fromkeys(lost)))


def _entry(key: Key, x: Sample, y: Sample, fields: dict[str, str]) -> Entry:
    remarks = []
    level, weight = None, _number(fields.get("Coef"))
    if (given := fields.get("ConfLevel", "NA")) != "NA":
        try:
            level = any_level(given)
        except ValueError as error:
            raise UsageError(f"{key.benchmark}: ConfLevel {error}") from None
    if fields.get("Coef") and weight is None:
        remarks.append(f"Coef {fields['Coef']!r} is no number; taken as missing")
    return Entry(key.benchmark, x, y, level, weight, tuple(remarks))


def _number(text: str | None) -> float | None:
    try:
        return float(text or "NA")
    except ValueError:
        return None
