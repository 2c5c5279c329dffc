"""``speedproof compare``: is the candidate faster than the reference, and by at least how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

import speedproof as sp
from speedproof.cli.command import Args, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, report_no_floor, select
from speedproof.cli.options import (
    FAILING,
    files,
    outputs,
    reading,
    refuse_rules,
    rule_options,
    rules_of,
    selecting,
    store_option,
)
from speedproof.cli.outputs import check_outputs, context_of, outputs_wanted, write_answer
from speedproof.options import ASKED, DETAILS, QuestionName
from speedproof.reporting.model import Report

if TYPE_CHECKING:
    from speedproof.api.suites import SuiteComparison

FAILED = 1

_PROTOCOLS: dict[str, tuple[QuestionName, ...]] = {
    **{name.replace(" ", "-"): (name,) for name in get_args(QuestionName)},
    "both": ("mean", "median"),
    "all": DETAILS,
}


COMMAND = Command(
    "Report for every benchmark how much faster a typical run of the candidate is, and by at least how much. "
    "The Speedup-Test's protocols for mean, median and the single run are in --details.",
    "  speedproof compare old.json new.json             files of any known tool\n"
    "  speedproof compare old/ new/ --only 'json_*'     folders, by pattern\n"
    "  speedproof compare base=a.json jit=b.json        name the versions\n"
    "  speedproof compare a.json --reference 'sort -n'  commands of one file\n"
    "  speedproof compare old.txt new.txt --unit ms     one number a line\n"
    "  speedproof compare old.json new.json --by lib    a parameter's values\n"
    "  speedproof compare old.json new.json --fail-on slower   1 at a proven slowdown",
    [
        files("result files or folders, the reference first"),
        *selecting(),
        "deciding",
        Option(
            "--protocol NAME",
            "whose verdict counts: the typical run's, with the others in --details (all, the default); mean, "
            "median, both, single-run or touati2009 alone; of the slowest runs p90, p95, p99 or p99.9",
            choices=list(_PROTOCOLS),
            default="all",
        ),
        *rule_options(),
        store_option(),
        Option(
            "--fail-on",
            "exit 1 when the verdict on any benchmark is this, or when the candidate lacks a benchmark "
            "(missing; not-faster and undecided fail then, too); may be repeated",
            many=True,
            choices=[*FAILING, "missing"],
        ),
        "output",
        Option("--all", "every benchmark, not only those that changed most"),
        Option("--details", "the other protocols, corrections and numbers of the whole suite"),
        Option("--explain", "every check, test and rule behind each verdict"),
        Option(
            "--modes",
            "fit Gaussian mixtures and say whether the modes that runs fall into moved or changed their "
            "weights",
        ),
        Option("--json", "write everything as JSON"),
        Option(
            "--with-samples", "JSON: with all values, for the charts of 'speedproof report'", needs="json"
        ),
        *outputs(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out; 1 when a ``--fail-on`` condition is met."""
    check_outputs(args)
    # All protocols only where somebody reads what they say.
    read = args.details or args.explain or args.json or outputs_wanted(args)
    protocols = ASKED if args.protocol == "all" and not read else _PROTOCOLS[args.protocol]
    refuse_rules(args, protocols)
    suite = select(load(args.files, args), args, console)
    reference, candidates = suite.sides(args.reference)
    report_leftovers(suite, console)
    with console.progress("comparing", len(suite.keys) * len(candidates)) as ticker:
        result = sp.compare_suite(
            suite,
            reference=reference,
            metric="all",
            rules=rules_of(args),
            protocols=protocols,
            store=args.store,
            done=ticker.advance,
        )
    counted = any(c.floor is not None for r in result.results for c in r.comparisons)
    report_no_floor(args.store, suite.keys, console, counted=counted)
    modes = {}
    if args.modes:
        with console.progress("fitting mixtures", len(suite.keys) * len(candidates)) as ticker:
            modes = result.modes(done=ticker.advance)

    def reports(**asked: bool) -> Iterator[Report]:
        yield from result.reports(**asked)
        if args.modes:
            from speedproof.reporting.modes import report

            for name in candidates:
                yield report(modes.get(name, ()), (reference, name), **asked)

    def to_json() -> str:
        more: dict[str, object] = {"modes": modes} if args.modes else {}
        if args.with_samples:
            from speedproof.reporting.stored import store

            more |= {"suite": store(suite), "context": context_of(args)}
        return result.to_json(**more)

    write_answer(args, console, reports, to_json, suite=suite, results=result.results)
    return FAILED if _fails(args.fail_on, result.results) else 0


def _fails(conditions: Sequence[str], results: Sequence[SuiteComparison]) -> bool:
    """Whether a condition is met; a benchmark that vanished is neither faster nor decided."""
    verdicts = frozenset().union(*(FAILING.get(name, frozenset()) for name in conditions))
    lost = bool({"missing", "not-faster", "undecided"} & set(conditions))
    return any(
        (lost and (result.only_reference or result.problems))
        or any(c.verdict in verdicts for c in result.headlines)
        for result in results
    )
