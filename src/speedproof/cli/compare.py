"""``speedproof compare``: is the candidate faster than the reference, and by at least how much."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from speedproof.cli.command import Args, Argument, Command, Option, in_group
from speedproof.cli.console import Console
from speedproof.cli.inputs import (
    load,
    report_leftovers,
    select,
)
from speedproof.cli.options import FAILING, outputs, reading, rule_options, rules_of, selecting
from speedproof.cli.outputs import check_outputs, context_of, write_outputs
from speedproof.errors import DataError, UsageError
from speedproof.protocols.modes import ModeComparison
from speedproof.protocols.questions import ASKED, DETAILS, QuestionName
from speedproof.protocols.ranking import SuiteRanking, rank_suite
from speedproof.protocols.suite import SuiteComparison, compare_suite
from speedproof.report.blocks import as_report
from speedproof.report.formats import FORMATS, Reported
from speedproof.report.modes import modes_blocks
from speedproof.report.versions import reports

if TYPE_CHECKING:
    from speedproof.data.suite import Pairing, Suite

__all__ = ["COMMAND", "run"]

FAILED = 1
_SHOWN = 5

_PROTOCOLS: dict[str, tuple[QuestionName, ...]] = {
    "mean": ("mean",),
    "median": ("median",),
    "both": ("mean", "median"),
    "all": DETAILS,
    "touati2009": ("touati2009",),
}


COMMAND = Command(
    (
        "Say of every benchmark how much faster a typical run of the candidate is, and by at least how much. "
        "The Speedup-Test's protocols for mean, median and the single run are in --details."
    ),
    (
        "  speedproof compare old.json new.json                      files of any known tool\n"
        "  speedproof compare old/ new/ --only 'json_*'              folders; benchmarks by pattern\n"
        "  speedproof compare base=a.json jit=b.json                 name the versions\n"
        "  speedproof compare hyperfine.json --reference 'sort -n'   commands of one file\n"
        "  speedproof compare old.txt new.txt --unit ms              one number a line\n"
        "  speedproof compare old.json new.json --fail-on slower     exit 1 when a slowdown is proven"
    ),
    [
        Argument("files", metavar="FILE...", help="result files or folders, the reference first", many=True),
        *selecting(),
        *in_group(
            "deciding",
            Option(
                "--protocol",
                choices=list(_PROTOCOLS),
                default="all",
                help="whose verdict counts: by default (all) that of the typical run, beside which --details has "
                "the others; mean, median, both, or the protocol of 2009 ask for these alone",
            ),
            *rule_options(),
            Option(
                "--fail-on",
                many=True,
                choices=[*FAILING, "missing"],
                help="exit 1 when the verdict on any benchmark is this, or when the candidate lacks a "
                "benchmark (missing; not-faster and undecided fail then, too); may be repeated",
            ),
        ),
        *in_group(
            "output",
            Option("--all", flag=True, help="every benchmark, not only those that changed most"),
            Option(
                "--details", flag=True, help="the other protocols, corrections and numbers of the whole suite"
            ),
            Option("--explain", flag=True, help="every check, test and rule behind each verdict"),
            Option(
                "--modes",
                flag=True,
                help="fit Gaussian mixtures and say whether the modes that runs fall into moved or changed "
                "their weights",
            ),
            Option("--json", flag=True, help="write everything as JSON"),
            Option(
                "--with-samples",
                flag=True,
                help="JSON: with all values, for the charts of 'speedproof report'",
            ),
        ),
        *outputs(),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out; 1 when a ``--fail-on`` condition is met."""
    check_outputs(args)
    rules = rules_of(args)
    suite = select(load(args.files, args), args, console)
    reference, candidates = suite.sides(args.reference)
    report_leftovers(suite, console)
    pairings = [(candidate, suite.pair(reference, candidate)) for candidate in candidates]
    metrics = list(dict.fromkeys(key.metric for key in suite.keys))
    results: list[SuiteComparison] = []
    with console.progress("comparing", sum(len(pairing.pairs) for _, pairing in pairings)) as ticker:
        for candidate, pairing in pairings:
            for metric in metrics:
                result = compare_suite(
                    pairing,
                    (reference, candidate),
                    metric,
                    rules,
                    _asked(args),
                    done=ticker.advance,
                )
                results.append(result)
    _at_least_one_of(results, reference)
    rankings = _rankings(suite, (reference, *candidates), metrics, rules.alpha)
    modes = _modes(pairings, metrics, rules.alpha, console) if args.modes else {}
    found = [as_report(tuple(modes_blocks(m, (reference, name)))) for name, m in modes.items()]
    asked = {"everything": args.all, "details": args.details, "explain": args.explain}
    shown = reports(results, rankings, **asked)
    whole = reports(results, rankings, **{**asked, "details": True})
    written = Reported((*whole, *found), suite, context_of(args), results)
    taken = write_outputs(args, written, console)
    if args.json:
        console.out.write(_json(args, results, rankings, suite, modes))
    elif not taken:
        console.write(*shown, *found)
    return FAILED if _fails(args.fail_on, results) else 0


def _asked(args: Args) -> tuple[QuestionName, ...]:
    """All protocols only where somebody reads what they say."""
    read = (args.details, args.explain, args.json, args.github_summary, *(getattr(args, f) for f in FORMATS))
    return ASKED if args.protocol == "all" and not any(read) else _PROTOCOLS[args.protocol]


def _fails(conditions: Sequence[str], results: Sequence[SuiteComparison]) -> bool:
    """Whether a condition is met; a benchmark that vanished is neither faster nor decided."""
    verdicts = frozenset().union(*(FAILING.get(name, frozenset()) for name in conditions))
    lost = bool({"missing", "not-faster", "undecided"} & set(conditions))
    return any(
        (lost and (result.only_reference or result.problems))
        or any(c.verdict in verdicts for c in result.headlines)
        for result in results
    )


def _json(
    args: Args,
    results: Sequence[SuiteComparison],
    rankings: dict[str, SuiteRanking],
    suite: Suite,
    modes: dict[str, list[ModeComparison]],
) -> str:
    from speedproof.report.json import to_json

    more: dict[str, Any] = {"rankings": rankings}
    if args.modes:
        more["modes"] = modes
    if args.with_samples:
        from speedproof.report.stored import store

        more |= {"suite": store(suite), "context": context_of(args)}
    return to_json("compare", results, **more)


def _modes(
    pairings: Sequence[tuple[str, Pairing]], metrics: Sequence[str], alpha: float, console: Console
) -> dict[str, list[ModeComparison]]:
    """By candidate, what mixtures say of every benchmark that they can be fitted to."""
    from speedproof.protocols.modes import compare_modes

    found: dict[str, list[ModeComparison]] = {}
    with console.progress("fitting mixtures", sum(len(pairing.pairs) for _, pairing in pairings)) as ticker:
        for candidate, pairing in pairings:
            for pair in pairing.pairs:
                one = compare_modes(pair, alpha=alpha) if pair.key.metric in metrics else None
                if one is not None:
                    found.setdefault(candidate, []).append(one)
                ticker.advance()
    return found


def _rankings(
    suite: Suite, versions: tuple[str, ...], metrics: Sequence[str], alpha: float
) -> dict[str, SuiteRanking]:
    """One ranking a metric, when there are three versions or more with a benchmark in common."""
    found: dict[str, SuiteRanking] = {}
    for metric in metrics if len(versions) > 2 else ():
        with suppress(DataError):  # no benchmark in common: the pairwise results say which are missing
            found[metric] = rank_suite(suite, metric=metric, versions=versions, alpha=alpha)
    return found


def _at_least_one_of(results: Sequence[SuiteComparison], reference: str) -> None:
    """Refuse an outcome without a single comparison, naming what each side has."""
    if any(result.comparisons for result in results):
        return
    lines = []
    for result in results:
        lines += list(result.problems)
        for version, names in ((reference, result.only_reference), (result.candidate, result.only_candidate)):
            if names:
                shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
                lines.append(f"{version} has {shown} ({result.metric})")
    if any(len(r.only_reference) == len(r.only_candidate) > 0 for r in results):
        lines.append(
            "--match position compares them by their places, --by FIELD makes versions of a parameter"
        )
    detail = "".join(f"\n  {line}" for line in dict.fromkeys(lines))
    raise UsageError(f"no benchmark and metric that all sides have can be compared:{detail}")
