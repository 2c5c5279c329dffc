"""``speedproof compare``: is the candidate faster than the reference, and by at least how much."""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Literal

from msgspec.structs import replace

import speedproof as sp
from speedproof import options
from speedproof.cli.command import Command
from speedproof.cli.console import FAILED, Console
from speedproof.cli.files import (
    check_outputs,
    context_of,
    fails,
    load_chosen,
    outputs_wanted,
    pairs_in,
    report_leftovers,
    report_no_floor,
    write_answer,
)
from speedproof.declaring import FIRST, Excludes, Needs, Taken, Title
from speedproof.reporting.model import Report


class CompareOptions(options.CommandOptions, frozen=True, kw_only=True):
    """Report for every benchmark how much faster a typical run of the candidate is, and by at least how much.

    The Speedup-Test's protocols for mean, median and the single run are in --details.

        speedproof compare old.json new.json             files of any known tool
        speedproof compare old/ new/ --only 'json_*'     folders, by pattern
        speedproof compare base=a.json jit=b.json        name the versions
        speedproof compare a.json --reference 'sort -n'  commands of one file
        speedproof compare old.txt new.txt --unit ms     one number a line
        speedproof compare old.json new.json --by lib    a parameter's values
        speedproof compare old.json new.json --fail-on slower   1 at a proven slowdown
    """

    files: options.ReferenceFirst
    choosing: options.Choosing
    protocol: Annotated[
        Literal[options.QuestionName, "both", "all"],
        "NAME",
        "whose verdict counts: that of the typical run, with the others in --details (all, the default); that of "
        "mean, median, single-run or touati2009 alone; that of the mean, with the median beside it (both); that "
        "of the slowest runs (p90, p95, p99 or p99.9)",
        Title("deciding"),
    ] = "all"
    quantile: Annotated[options.Quantiles, Excludes("protocol")] = ()
    judging: Annotated[
        options.Judging,
        Taken(
            "deciding",
            confidence="1 - alpha: how sure every bound is (default: 0.95, or the session's)",
            margin="speedups proven to lie within 1/(1+SHARE) and 1+SHARE are equivalent, for example 2% "
            "(default: none, or the session's)",
        ),
    ]
    store: options.Store = None
    fail_on: Annotated[options.FailOn, FIRST] = ()
    output: options.Output
    modes: Annotated[
        bool,
        "fit Gaussian mixtures and say whether the modes that runs fall into moved or changed their weights",
    ] = False
    why: options.Explained = False
    over: Annotated[
        str | None,
        "PARAMETER",
        "show how the speedup changes with a parameter (n of sort/n=10, /1 of sort/10, or a field), "
        "its trend, and what holds for inputs like these",
    ] = None
    power: Annotated[
        float | None,
        "SHARE",
        "say how many runs would find a speedup of this size, such as 2%, in 8 and in 9 of 10 comparisons, with "
        "these runs as a pilot",
    ] = None
    with_samples: Annotated[
        bool, "include all values in the JSON, for the charts of 'speedproof report'", Needs("json")
    ] = False
    reading: options.Reading


def run(asked: CompareOptions, console: Console) -> int:
    """Carry the command out; 1 when a ``--fail-on`` condition is met."""
    from speedproof.api.given import as_measured, quantile_measured, rules_of  # not for the help alone

    output, store = asked.output, asked.store
    check_outputs(output, *asked.files)
    # All protocols only where somebody reads what they say.
    read = output.details or output.explain or output.json or outputs_wanted(output)
    # What a metric goes with are the others.
    choosing = replace(asked.choosing, metric="all") if asked.why else asked.choosing
    whole, reference = load_chosen(asked.files, asked.reading, choosing, console)
    protocols: tuple[options.QuestionName, ...]
    if asked.quantile:
        protocols = tuple(dict.fromkeys(map(options.quantile_name, asked.quantile)))
    elif "protocol" not in asked.given and (measured := quantile_measured(whole.question)):
        protocols = (measured,)
    elif asked.protocol == "all":
        protocols = options.DETAILS if read else options.ASKED
    else:
        protocols = ("mean", "median") if asked.protocol == "both" else (asked.protocol,)
    options.refuse_rules(asked.given, protocols)
    rules = rules_of(as_measured(asked.judging, whole.question), protocols)
    suite = whole.select(metric=asked.choosing.metric) if asked.why else whole
    reference, candidates = suite.sides(reference)
    report_leftovers(suite, console)
    with console.progress("comparing", pairs_in(suite, reference)) as ticker:
        result = sp.compare_suite(
            suite,
            reference=reference,
            metric="all",
            rules=rules,
            protocols=protocols,
            store=store,
            done=ticker.advance,
        )
    counted = any(c.floor is not None for r in result.results for c in r.comparisons)
    report_no_floor(store, suite.keys, console, counted=counted)
    more: dict[str, object] = {}
    if asked.modes:
        with console.progress("fitting mixtures", pairs_in(suite, reference)) as ticker:
            modes = more["modes"] = result.modes(done=ticker.advance)
    if asked.why:
        confidence = 1 - rules.alpha
        explained = sp.why(whole, reference=reference, metric=suite.main_metric, confidence=confidence)
        more["why"] = list(explained)
    if asked.over:
        inputs = result.over(asked.over)
        more["over"] = inputs.found

    of_candidate = {of.candidate: c.protocol for of in result.results for c in of.headlines}

    @cache
    def plans() -> "dict[str, sp.PlanResult]":
        """What takes long, after the comparison is printed."""
        made = {}
        for name, protocol in of_candidate.items() if asked.power else ():
            with console.progress("planning", len(suite.pair(reference, name).pairs)) as ticker:
                made[name] = sp.plan(
                    suite,
                    effect=asked.power or 0.0,
                    reference=reference,
                    candidate=name,
                    metric="all",
                    confidence=1 - rules.alpha,
                    protocol=protocol,
                    done=ticker.advance,
                )
        return made

    def reports(*, explain: bool = False, **shown: bool) -> Iterator[Report]:
        sheets = result.reports(**shown, explain=explain)
        if asked.why:
            from speedproof.reporting import why

            sheets = why.beside(tuple(sheets), explained.by_candidate, **shown, explain=explain)
        if asked.over:
            from speedproof.reporting.why import beside_over, over_report

            over = over_report(inputs.found, inputs.problems, **shown)
            sheets = beside_over(tuple(sheets), over)
        yield from sheets
        for name, plan in plans().items():
            from speedproof.reporting import planning

            yield planning.of_power(plan.plans, plan.problems, f" of {name}" if len(candidates) > 1 else "")
        if asked.modes:
            from speedproof.reporting.mixtures import modes_report

            for name in candidates:
                yield modes_report(modes.get(name, ()), (reference, name), **shown)

    def to_json() -> str:
        if asked.power:
            more["power"] = {name: plan.plans for name, plan in plans().items()}
        if asked.with_samples:
            from speedproof.reporting.stored import store

            more.update(suite=store(suite), context=context_of(asked))
        return result.to_json(**more)

    write_answer(asked, output, console, reports, to_json, suite=suite, results=result.results)
    return FAILED if fails(asked.fail_on, result.results, console, suite.unread) else 0


COMMAND = Command(CompareOptions, run)
