"""Two versions on one metric: the sheet that a person reads in ten lines.

The answer comes first, then what the data cannot know, then the times with what is proven; more on request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from speedproof.conclude.suite import SuiteComparison
from speedproof.data.units import scale_of
from speedproof.protocols.results import Comparison, SuiteRanking, Verdict
from speedproof.protocols.units import several
from speedproof.reporting import words
from speedproof.reporting.model import (
    MANY,
    Cell,
    Column,
    Report,
    Row,
    Table,
    Text,
    folded,
    hint_of_all,
    right,
)
from speedproof.reporting.names import benchmark_column, enumerate_names, spoken
from speedproof.reporting.notes import caveats, doubts, held_against, two_speeds
from speedproof.reporting.numbers import plural, values
from speedproof.reporting.rows import (
    OUTCOMES,
    Voice,
    contradicted,
    interval_cell,
    opposite,
    records,
    times,
    version_columns,
)

_NAMED, _ROOM = 3, 40


def report(
    result: SuiteComparison, *, everything: bool = False, details: bool = False, explain: bool = False
) -> Report:
    """A comparison of two versions on one metric."""
    heads, versions = result.headlines, (result.reference, result.candidate)
    old, new = spoken(versions)
    about = Report(f"{new} against {old}: {result.metric}", ())
    if not heads:
        nothing = Text("No benchmark was measured with both versions.", "bad")
        return replace(about, headline=(nothing,), notes=tuple(_leftovers(result)))
    about = replace(about, records=partial(records, result), about=result.metric)
    if single_runs(result):
        return _single_runs(result, about, everything=everything)
    one, voice = len(heads) == 1, Voice.of(result)
    made = _one(result, heads[0], voice) if one else _several(result, voice, everything)
    machine = two_speeds(result.machine, old, new)
    return replace(
        about,
        headline=(*made.headline, *caveats(result.caveats), *held_against(heads), *machine),
        tables=made.tables,
        notes=(*made.notes, *_leftovers(result)),
        hints=made.hints,
        sections=sections(result, details=details, explain=explain),
        good=all(c.proven_verdict is not Verdict.SLOWER for c in heads),
    )


def reports(
    results: Sequence[SuiteComparison],
    rankings: Mapping[str, SuiteRanking] | None = None,
    *,
    short: bool = True,
    **asked: bool,
) -> list[Report]:
    """One report a metric: a sheet for two versions, a ranking and a matrix for more.

    Where nothing more is asked of several metrics of two versions, ``short`` is one report with a row a metric.
    """
    by_metric: dict[str, list[SuiteComparison]] = {}
    for result in results:
        by_metric.setdefault(result.metric, []).append(result)
    if short and len(by_metric) > 1 and len(by_metric) == len(results) and not any(asked.values()):
        return [of_metrics(results)]
    ranked = rankings or {}
    if len(by_metric) < len(results):
        from speedproof.reporting.versions import report as of_versions

    made = {
        metric: of_versions(of, ranked.get(metric), **asked) if len(of) > 1 else report(of[0], **asked)
        for metric, of in by_metric.items()
    }
    return named(made) if len(made) > 1 else [*made.values()]


def sections(result: SuiteComparison, *, details: bool, explain: bool) -> tuple[Report, ...]:
    """The sections requested beyond the sheet."""
    if not (details or explain):
        return ()
    from speedproof.reporting import details as beyond

    return tuple(beyond.sections(result, details=details, explain=explain))


def _one(result: SuiteComparison, head: Comparison, voice: Voice) -> Report:
    """One benchmark: a sentence, both sides in numbers, the chance of a faster run."""
    called = words.named(head, *spoken([result.reference, result.candidate]))
    answer = f"{words.metric_first(result.metric)}{words.verdict(called, result.margin)}"
    style = words.style(head)
    return Report(
        "",
        (Text(answer, style if style in ("good", "bad") else "strong", words.proof(called)),),
        (_sides(called, voice, result.comparisons),),
        tuple(_beside(result, called)),
        ("Why: --explain", "Page: --html report.html"),
    )


def _beside(result: SuiteComparison, head: Comparison) -> Iterator[Text]:
    """The chance of a faster run, what contradicts the verdict, and whether the checks hold."""
    if head.chance and not math.isnan(head.chance.value):
        often = words.how_often(head.chance, head.verdict, head.ties)
        yield Text(f"A {head.repeated} of {head.candidate.label} wins {often}.")
    for where, other in opposite(result.comparisons, head):
        yield Text(
            f"But {contradicted(where, other, head.candidate.label, head.reference.label)}.", "warning"
        )
    if head.verdict is not Verdict.EQUIVALENT and (ratio := words.by_medians(head)):
        pair = f"a typical pair of {several(head.repeated)}"
        yield Text(f"The change is of {pair}; of the medians alone it is {ratio}.", "dim")
    yield from doubts([head])
    if head.checks and not head.failed_checks:
        # Those of other protocols may fail where this one's hold.
        whose = " of the typical run" if any(o.failed_checks for o in result.comparisons) else ""
        yield Text(f"All checks{whose} hold.", "dim")


def _sides(head: Comparison, voice: Voice, answers: Sequence[Comparison]) -> Table:
    """Both versions: median, mean with its spread, ends, runs."""
    sides, unit = (head.reference, head.candidate), head.reference.unit
    scale = scale_of(max((abs(s.median) for s in sides if math.isfinite(s.median)), default=1.0), unit)
    medians = values([s.median for s in sides], unit, scale=scale)
    quantiles = values(head.quantiles or (), unit, scale=scale)
    columns = (
        Column(head.benchmark, names=True),
        *right(*([head.protocol.upper()] if quantiles else []), "median", "mean"),
        *right("min", drop=1),
        *right("max", drop=2),
        *right(several(head.repeated)),
    )
    # Of values in processes the mean protocol takes the means, others the medians.
    of_means = next((c for c in answers if c.protocol == "mean"), head)
    rows = []
    for i, (side, median) in enumerate(zip(sides, medians, strict=True)):
        averaged = (of_means.reference, of_means.candidate)[i]
        mean, *ends = (values([v], unit, scale=scale)[0] for v in (averaged.mean, side.minimum, side.maximum))
        spread = Cell(f"{mean}{words.spread(averaged)}", shorter=(mean,))
        bare = (end.removesuffix(scale[1]).rstrip() for end in ends)
        label = Cell(side.label, "strong")
        rows.append(Row.of(label, *quantiles[i : i + 1], median, spread, *bare, str(side.n)))
    # The second row is the one that is judged.
    said = voice.sentence(head, answers)
    judged = {"name": head.benchmark, "outcome": OUTCOMES[head.proven_verdict], "message": said}
    return Table.of(columns, (rows[0], replace(rows[1], **judged)))


def _several(result: SuiteComparison, voice: Voice, everything: bool) -> Report:
    """A suite: counts, the numbers of the whole, the clearest benchmarks."""
    heads = result.headlines
    old, new = spoken([result.reference, result.candidate])
    many = len(heads) > MANY
    asked = voice.asked(heads[0].protocol, result.alpha)
    answer = voice.answer(result.metric, f"{new} against {old}", words.counts_of(heads), asked)
    whole = tuple(_whole(result, voice))
    changed = any(c.verdict in words.CHANGED and c.quantity == "speedup" for c in heads)
    table = _benchmarks(result, heads, voice, many=many, everything=everything)
    return Report(
        "",
        (answer, *(whole if many else ())),
        (*((voice.bands(voice.banded(heads)),) if many and changed else ()), table),
        (*(() if many else whole), *doubts(heads)),
        (*hint_of_all("benchmark", table), "--details: other protocols, HPT", "--explain: checks"),
    )


def _whole(result: SuiteComparison, voice: Voice) -> Iterator[Text]:
    """The geometric mean, and how many verdicts hold together."""
    means = result.geometric_means
    if means is not None:
        yield voice.geometric_mean(means.these, means.benchmarks, means.benchmarks + len(means.left_out))
    yield from _jointly(result, voice)


def _jointly(result: SuiteComparison, voice: Voice) -> Iterator[Text]:
    heads = result.headlines
    for family in () if voice.shaken else result.controlled:
        if (family.method, family.protocol) == ("holm", heads[0].protocol):
            yield voice.jointly(family, heads)


def _benchmarks(
    result: SuiteComparison, heads: Sequence[Comparison], voice: Voice, *, many: bool, everything: bool
) -> Table:
    """A row a benchmark, by what is proven of it; of many the losses first, whether some are hidden or not."""
    column, named = benchmark_column([c.benchmark for c in heads])
    answers, kinds, called = result.by_benchmark, voice.kinds, spoken([result.reference, result.candidate])
    clear = words.CHANGED[:: -1 if many else 1]
    order = [*clear, Verdict.EQUIVALENT, Verdict.UNDECIDED]

    ordered = sorted(heads, key=lambda c: (order.index(c.verdict), _clearness(c)))
    rows = [voice.row(words.named(c, *called), (named(c.benchmark),), answers[c.benchmark]) for c in ordered]
    columns = (column, *version_columns(result.reference, result.candidate), *voice.columns)
    table = Table.of(columns, rows)
    return folded(table, *(kinds[v] for v in clear), everything=everything or not many)


def _clearness(c: Comparison) -> float:
    """Losses and gains each with the clearest first."""
    bound = words.effect(c).bound if c.verdict in words.CHANGED else 0.0
    return -1.0 if math.isnan(bound) else -bound


def single_runs(result: SuiteComparison) -> bool:
    """Whether no benchmark was run more than once on either side."""
    return all(c.reference.observations == c.candidate.observations == 1 for c in result.headlines)


ONE_RUN = Text(
    "One run a side proves nothing: nobody knows how much runs differ. Measure more, in turns: "
    "speedproof run OLD_COMMAND NEW_COMMAND, or --resume a session",
    "warning",
)
AS_MEASURED = "as measured"
"""What the rows of single runs are counted as, and their column."""


def as_measured(c: Comparison, names: Sequence[Cell | str]) -> Row:
    """The ratio of two single runs."""
    ratio = words.natural(c)
    known = {"name": c.benchmark, "message": f"{ratio} as measured, one run a side", "kind": AS_MEASURED}
    return Row.of(*names, *times(c), ratio, outcome="undecided", **known)


def _single_runs(result: SuiteComparison, about: Report, *, everything: bool) -> Report:
    """One run a side: ratios, and how to measure more; nothing is proven."""
    column, named = benchmark_column([c.benchmark for c in result.headlines])

    def far(c: Comparison) -> float:
        return -abs(math.log(c.speedup.value)) if 0 < c.speedup.value < math.inf else 0.0

    rows = [as_measured(c, (named(c.benchmark),)) for c in sorted(result.headlines, key=far)]
    columns = (column, *version_columns(result.reference, result.candidate), Column(AS_MEASURED))
    table = folded(Table.of(columns, rows), AS_MEASURED, everything=everything)
    notes, hints = tuple(_leftovers(result)), hint_of_all("benchmark", table)
    return replace(about, headline=(ONE_RUN,), tables=(table,), notes=notes, hints=hints)


def _leftovers(result: SuiteComparison) -> Iterator[Text]:
    absent = (result.only_reference, result.only_candidate, result.unmeasured)
    labels = (*only_in(spoken([result.reference, result.candidate])), "Not measured")
    lacking = [(names, len(names)) for names in absent]
    return leftovers(labels, lacking, result.problems, len(result.problems), " in the details")


IN_SOME = ("Not in every version",)
"""What stands before the benchmarks that some of several versions lack."""


def only_in(versions: Sequence[str]) -> list[str]:
    """What stands before the benchmarks that only one version has."""
    return [f"Only in {name}" for name in versions]


def leftovers(
    labels: Sequence[str],
    lacking: Sequence[tuple[Sequence[str], int]],
    problems: Sequence[str],
    count: int,
    where: str = "",
) -> Iterator[Text]:
    """Benchmarks that were not measured of every version, and pairs that could not be compared, a line each.

    Of many there are some names, and how many there are; ``where`` says where the others are.
    """
    for label, (names, of) in zip(labels, lacking, strict=True):
        if of:
            some = enumerate_names(names, _NAMED, _ROOM, of)
            yield Text(f"{label}: {plural(of, 'benchmark')} ({some})", "warning")
    if problems:
        more = f" (and {count - 1} more{where})" if count > 1 else ""
        yield Text(f"Left out: {problems[0]}{more}", "warning")


def named(reports: Mapping[str, Report]) -> list[Report]:
    """Sheets of several metrics, each with its metric first."""
    sheets = []
    for metric, report in reports.items():
        first, *rest = report.headline
        if not first.text.startswith(f"{metric}: "):
            report = replace(report, headline=(replace(first, text=f"{metric}: {first.text}"), *rest))
        sheets.append(report)
    return sheets


def of_metrics(results: Sequence[SuiteComparison]) -> Report:
    """A row a metric: of one benchmark its values and what is proven, of several how many changed."""
    first = results[0]
    old, new = spoken([first.reference, first.candidate])
    answered = [result for result in results if result.headlines]
    one = len({c.benchmark for result in answered for c in result.headlines}) == 1
    rows = [_of_one(result) if one else _of_several(result) for result in answered]
    every = replace(first, comparisons=tuple(c for result in answered for c in result.comparisons))
    voice = replace(Voice.of(*answered), better="better", worse="worse") if answered else Voice("", "")
    if one:
        columns = (*version_columns(first.reference, first.candidate), *voice.columns)
    else:
        columns = (Column("benchmarks"), Column("geometric mean", brief="mean"))
    what = f"{new} against {old}: {plural(len(answered), 'metric')}"
    asked = words.asked(answered[0].headlines[0].protocol, first.alpha) if answered else ""
    return Report(
        what,
        (Text(what, "strong", asked),),
        (Table.of((Column("metric", names=True), *columns), rows),),
        notes=tuple(_jointly(every, voice)),
        hints=("--details: a sheet for each metric", "--metric NAME: one of them"),
        records=partial(records, *results),
        good=all(c.proven_verdict is not Verdict.SLOWER for result in answered for c in result.headlines),
    )


def _of_one(result: SuiteComparison) -> Row:
    (head,) = result.headlines
    answers = result.by_benchmark[head.benchmark]
    made = Voice.of(result).row(head, (Cell(result.metric, "strong"),), answers)
    return replace(made, name=result.metric)


def _of_several(result: SuiteComparison) -> Row:
    heads, means = result.headlines, result.geometric_means
    counts = words.counted(words.counts_of(heads), Voice.of(result).kinds)
    mean: Cell | str = ""
    if means is not None:
        mean = interval_cell(means.these, *words.gain_and_loss(heads[0]))
    return Row.of(Cell(result.metric, "strong"), counts, mean, name=result.metric)
