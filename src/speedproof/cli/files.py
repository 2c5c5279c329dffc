"""The files that a command reads and writes: their options, and reports that appear whole or not at all."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

import speedproof as sp
from speedproof.cli.console import Console
from speedproof.declaring import check_place
from speedproof.errors import UsageError
from speedproof.options import Choosing, CommandOptions, Output, Reading, Undecided, handed
from speedproof.reporting.model import ENDINGS, FORMATS, Report, Reported
from speedproof.reporting.names import enumerate_names

if TYPE_CHECKING:  # and where they are used: not for the help alone
    from speedproof.api.suites import SuiteComparison
    from speedproof.reporting.stored import Context


_ANYTHING = Choosing()
_LEFT_OUT = 10  # as many are named


def load(paths: Sequence[str], reading: Reading, choosing: Choosing = _ANYTHING) -> sp.Suite:
    """Read all files of a command into one suite."""
    return sp.read(*paths, **handed(sp.read, reading, replace(choosing, only=(), skip=(), metric="all")))


def load_chosen(
    paths: Sequence[str], reading: Reading, choosing: Choosing, console: Console
) -> tuple[sp.Suite, str | None]:
    """The benchmarks and the metric that are asked for, and the reference by its name in the suite."""
    suite = load(paths, reading, choosing)
    return select(suite, choosing, console), suite.versions[0] if choosing.reference else None


def pairs_in(suite: sp.Suite, reference: str) -> int:
    """How many samples there are to hold against one of the reference."""
    return sum(v != reference and (key, reference) in suite.samples for key, v in suite.samples)


def joint_of(
    names: str, paths: Sequence[str], reading: Reading, choosing: Choosing, console: Console
) -> sp.JointResult:
    """The states of runs by the metrics that ``--joint`` names, with commas between them."""
    suite, _ = load_chosen(paths, reading, replace(choosing, metric="all"), console)
    return sp.joint(suite, [name.strip() for name in names.split(",")])


def select(suite: sp.Suite, choosing: Choosing, console: Console) -> sp.Suite:
    """Keep the benchmarks and the metric asked for; say what matches nothing, and what other metrics there are."""
    chosen = suite.select(choosing.only, choosing.skip, "all")
    what, named = ("command", suite.versions) if suite.commands else ("benchmark", suite.benchmarks)
    names = {*named, *(left_out.benchmark for left_out in suite.skipped)}
    for pattern in (*choosing.only, *choosing.skip):
        if pattern not in names and not fnmatch.filter(names, pattern):
            console.remark(f"note: the pattern {pattern!r} matches no {what}")
    if choosing.metric is None and (others := [m for m in chosen.metrics if m != chosen.main_metric]):
        console.remark(
            f"{chosen.main_metric} is compared; others with --metric: {enumerate_names(others, 2)}, or all"
        )
    return chosen.select(metric=choosing.metric)


def report_leftovers(suite: sp.Suite, console: Console) -> None:
    """Write the remarks on a suite."""
    remark_folded(sp.remarks(suite), console)


def remark_folded(lines: Sequence[str], console: Console) -> None:
    """Write remarks; of many omissions, which come first, the first ones and the number of the others."""
    left_out = sum(line.startswith("left out: ") for line in lines)
    shown = left_out if left_out <= _LEFT_OUT + 1 else _LEFT_OUT
    console.remark(*lines[:shown], *lines[left_out:])
    if more := left_out - shown:
        console.remark(f"left out: {more} more; speedproof show --all names them")


def report_no_floor(store: str | None, keys: Iterable[Any], console: Console, *, counted: bool) -> None:
    """Report that the store has no sessions of these benchmarks, unless a floor was applied."""
    floor = None if store is None or counted else sp.History(store).floor()
    if floor is not None and all(floor.of(key) is None for key in keys):
        console.remark(
            f"note: {store} has no commit with two sessions of these benchmarks: sessions are not counted in"
        )


_FAILING = {
    "slower": {"slower"},
    "undecided": {"undecided"},
    "not-faster": {"slower", "equivalent", "undecided"},
}


def say_mapped(outcome: str, undecided: Undecided | None, console: Console) -> None:
    """Say why the exit code of an undecided answer is another."""
    if outcome == "undecided" and undecided in ("fail", "pass"):
        console.remark(f"undecided, which is to {undecided}")


def fails(
    conditions: Sequence[str],
    results: Iterable[SuiteComparison],
    console: Console,
    unread: Sequence[str] = (),
) -> bool:
    """Whether a condition of ``--fail-on`` is met, and by what; what vanished is neither faster nor decided.

    What is shown, not proven counts as undecided.
    """
    failing = set[str]().union(*(_FAILING.get(name, ()) for name in conditions))
    lost = bool({"missing", "not-faster", "undecided"} & {*conditions})
    met = [*unread] if lost else []
    for result in results:
        rows = [
            c for c in result.headlines if c.proven_verdict in failing and c.benchmark not in result.controls
        ]
        several = len(result.headlines) > 1
        met += [f"{c.benchmark if several else result.candidate} is {c.proven_verdict}" for c in rows]
        gone = (*result.only_reference, *result.unmeasured)
        met += [*(f"{name} is missing" for name in gone), *result.problems] if lost else []
    if met:
        asked = f"(--fail-on {' '.join(conditions)})"
        console.remark(f"exit code 1: {enumerate_names(dict.fromkeys(met), 3)} {asked}")
    return bool(met)


STDOUT = "-"


def check_outputs(output: Output, *read: str | None, **saved: str | None) -> None:
    """Find out before the work whether its results can be written, and over no file that is read.

    ``saved`` are other options that name a file to write.
    """
    from pathlib import Path

    targets = {name: target for name, target in output.reports.items() if target != STDOUT}
    targets |= {name.replace("_", "-"): target for name, target in saved.items() if target is not None}
    _check_distinct(targets, read)
    to_stdout = [f"--{name}" for name in output.reports if name not in targets]
    if output.json:
        to_stdout.append("--json")
    if len(to_stdout) > 1:
        raise UsageError(f"{' and '.join(to_stdout)} cannot both write to standard output; give one a file")
    for name, target in targets.items():
        if target != STDOUT:
            check_place(target, f"--{name} ")
        endings, ending = FORMATS[name].endings if name in FORMATS else (), Path(target).suffix.lower()
        if endings and ending in ENDINGS.difference(endings):
            raise UsageError(
                f"--{name} {target}: {ending} is another format; name a file that ends with {endings[0]}"
            )
    if output.github_summary and not os.environ.get("GITHUB_STEP_SUMMARY"):
        raise UsageError(
            "--github-summary: $GITHUB_STEP_SUMMARY is not set, so this is no GitHub job; use --markdown FILE"
        )


def _check_distinct(targets: Mapping[str, str], read: Sequence[str | None]) -> None:
    """Refuse to write a report over the measurements that it is made from."""
    from pathlib import Path

    taken = {
        Path(part).resolve()
        for path in read
        if path not in (None, STDOUT, os.devnull)
        for part in (path, path.partition("=")[2], path.rpartition(":")[0])
        if part
    }
    for name, target in targets.items():
        path = Path(target).resolve()
        if path in taken:
            raise UsageError(f"--{name} {target}: this file is already read or written; name another one")
        taken.add(path)


def context_of(asked: CommandOptions) -> Context:
    """How the command at hand was called, and by which versions it was carried out."""
    import shlex

    from speedproof.reporting.stored import Context

    return Context.of(shlex.join(["speedproof", *asked.argv]))


def write_outputs(
    asked: CommandOptions,
    output: Output,
    reported: Callable[[], Reported],
    console: Console,
    *,
    again: bool = False,
) -> bool:
    """Write every report that was asked for, and append the Markdown to the summary of a GitHub job.

    What there is to report is made where it is wanted; what was made before (``again``) says itself how. The
    answer is whether standard output has one.
    """
    if not outputs_wanted(output):
        return False
    from pathlib import Path

    from speedproof.reporting.formats import write_whole, writing

    document = reported() if again else replace(reported(), context=context_of(asked))
    taken = False
    for name, target in output.reports.items():
        text = FORMATS[name].write(document, target)
        if target == STDOUT:
            console.out.write(text)
            taken = True
        else:
            write_whole(Path(target), text)
            console.remark(f"wrote {target}")
    if output.github_summary:
        summary = Path(os.environ["GITHUB_STEP_SUMMARY"])
        with writing(summary), summary.open("a", encoding="utf-8") as file:
            file.write(FORMATS["markdown"].write(document, ""))
    return taken


def outputs_wanted(output: Output) -> bool:
    """Whether reports beside the terminal's are to be written."""
    return bool(output.github_summary or output.reports)


def write_answer(
    asked: CommandOptions,
    output: Output,
    console: Console,
    reports: Callable[..., Iterable[Report]],
    to_json: Callable[[], str],
    written: Callable[[], Reported] | None = None,
    **known: Any,
) -> None:
    """What was found, in every form that was asked for: files, JSON, else the answer on standard output.

    ``reports`` are called with what the sheet is to show. Files hold what is ``written``, by default these with
    all details and what is ``known`` besides, as :class:`Reported` names it.
    """
    shown = {"everything": output.all, "details": output.details}
    shown |= {"explain": True} if output.explain else {}

    def whole() -> Reported:
        return Reported(tuple(reports(**{**shown, "details": True})), **known)

    given = {f"--{name}" for name in ("all", "details", "explain") if getattr(output, name)}
    offered = {name for param in click.get_current_context().command.params for name in param.opts} - given

    def offering(report: Report) -> Report:
        """With the hints at options that the command has and that were not given, and at other commands."""
        hints = (
            h for h in report.hints if "speedproof " in h or offered.issuperset(re.findall("--[a-z]+", h))
        )
        return replace(report, hints=tuple(hints))

    taken = write_outputs(asked, output, written or whole, console, again="context" in known)
    console.answer(to_json, lambda: () if taken else map(offering, reports(**shown)), json=output.json)
