"""``speedproof gate``: may the candidate replace the baseline? An answer for a pipeline, as an exit code."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec.structs import replace

import speedproof as sp
from speedproof.cli.command import Command
from speedproof.cli.console import Console
from speedproof.cli.files import (
    check_outputs,
    load,
    pairs_in,
    report_leftovers,
    report_no_floor,
    say_mapped,
    select,
    write_answer,
)
from speedproof.cli.run import OF_FILES, RunOptions, settings_of
from speedproof.cli.run import run as measure
from speedproof.declaring import Argument, Needs, Taken, Title
from speedproof.errors import FormatError, UsageError
from speedproof.measuring_options import DECIDES, Measuring
from speedproof.options import (
    Alpha,
    Choosing,
    CommandOptions,
    Config,
    Explained,
    Gating,
    Output,
    Reading,
    Resume,
    Store,
    benchmark_settings,
    handed,
)
from speedproof.reporting.formats import write_whole
from speedproof.values import part, rest

if TYPE_CHECKING:
    from speedproof.api.gates import GateDecision

_STATE = ".look"
# What makes a gate measure, and how it then measures.
_MEASURED = ("suite", "revisions", "driver", "resume")
_MEASURES = "with --suite, --revisions or --driver"
_MEASURING = Taken(
    leave="plan calibrate metric reference alpha confidence gate policy margin precision stop_at_proof",
    decide_by=DECIDES,
)


class GateOptions(CommandOptions, frozen=True, kw_only=True):
    """Hold a candidate to a policy: pass, fail or undecided.

    It passes when what the policy asks for is proven on every benchmark of the baseline, and fails when the
    opposite is proven on one, or when one is missing. With --suite, --revisions or --driver it measures, as
    'run --gate'.

        speedproof gate main.json branch.json             the baseline first
        speedproof gate old/ new/ --margin 5% --confidence 0.99
        speedproof gate runs.jsonl:main runs.jsonl:branch
        speedproof gate a.json b.json --policy equivalence
        speedproof gate a.json b.json --undecided pass
        speedproof gate a.json b.json --html gate.html
        speedproof gate --suite bench.toml                measures, as run --gate
        speedproof gate --driver go --revisions main HEAD -- go test -bench=. ./sort

      exit codes: 0 pass, 1 fail, 2 error, 3 undecided (see --undecided)
    """

    files: Annotated[
        tuple[str, ...],
        Argument(
            "[FILE...]",
            "results of the baseline, then of the candidate (files or folders, FILE:VERSION for one of a file's "
            "versions), or one file of two versions, or of a session; quoted commands with --revisions or "
            "--driver ('run --gate' measures commands alone)",
        ),
    ] = ()
    words: tuple[str, ...] = ()  # after --
    baseline: Annotated[str | None, "FILE", "the baseline, instead of the first FILE", Needs("candidate")] = (
        None
    )
    candidate: Annotated[
        str | None, "FILE", "the candidate, instead of the second FILE", Needs("baseline")
    ] = None
    metric: Annotated[
        tuple[str, ...],
        "NAME",
        "the metric to compare, or 'all' (default: time); where it measures, a number in the program's "
        "output: NAME[:UNIT][:DIRECTION]=REGEX",
        Title("choosing"),
    ] = ()
    choosing: Annotated[Choosing, Taken(leave="metric")]
    alpha: Annotated[Alpha, Title("deciding")] = None
    gating: Annotated[Gating, Taken("deciding", leave="benchmark")]
    look: Annotated[
        str | None,
        "K/N",
        "this is look K of N while measuring goes on: each takes 1/N of the risk, and what passed at an earlier "
        "look need not be measured again",
        part,
        Needs("open"),
    ] = None
    open: Annotated[
        str | None,
        "FILE",
        "where a look lists the undecided benchmarks, one a line; what the next look must know is in FILE.look",
        Needs("look"),
    ] = None
    store: Store = None
    config: Config = None
    why: Explained = False
    output: Annotated[
        Output,
        Taken(
            take="all json html markdown junit github_summary",
            all="every benchmark, also those that passed",
            html="a page with the answer, a chart of all benchmarks against the margin and a panel for each",
            markdown="a summary in Markdown: what did not pass, the rest folded",
            junit="JUnit XML: one case a benchmark, undecided is skipped, or a failure with --undecided fail",
        ),
    ]
    reading: Reading
    measuring: Annotated[Measuring, _MEASURING]
    resume: Resume = None


def run(asked: GateOptions, console: Console) -> int:
    """Carry the command out; the exit code is the gate's answer."""
    measured = [asked.given[name] for name in _MEASURED if name in asked.given]
    if measured:
        from speedproof.cli.main import command

        taken = {param.name for param in command("run").params}
        if of_files := [option for name, option in asked.given.items() if name not in taken]:
            raise UsageError(f"{', '.join(of_files)}: {OF_FILES}; leave out these, or {', '.join(measured)}")
        return measure(_to_measure(asked), console)
    of_measuring = {*filter(_MEASURING.takes, Measuring.__struct_fields__)} - {"margin_of", "policy_of"}
    if needless := [option for name, option in asked.given.items() if name in of_measuring]:
        instead = f" in place of {' '.join(asked.files)}" if asked.files else ""
        raise UsageError(f"{', '.join(needless)}: only where the gate measures, {_MEASURES}{instead}")
    return _of_files(asked, console)


def _to_measure(asked: GateOptions) -> RunOptions:
    """What ``run --gate`` is asked for."""
    asks = {name: getattr(asked.gating, name) for name in ("policy", "margin", "confidence")}
    asks |= {"metric": asked.metric, "reference": asked.choosing.reference, "alpha": asked.alpha}
    given = {**asked.given, **({} if asked.resume else {"gate": "--gate"})}
    known = handed(RunOptions, asked, asked.gating) | {"given": given}
    return RunOptions(
        **known | {"commands": asked.files, "measuring": replace(asked.measuring, gate=True, **asks)}
    )


def _of_files(asked: GateOptions, console: Console) -> int:
    risk = asked.gating.confidence if asked.alpha is None else rest(asked.alpha)
    config, settings = settings_of(asked.config, replace(asked.gating, confidence=risk), console)
    of_some = benchmark_settings(asked.measuring.margin_of, asked.measuring.policy_of)
    settings = replace(settings, benchmark=(*settings.benchmark, *of_some))
    check_outputs(asked.output, *asked.files, config, asked.baseline, asked.candidate)
    count, before = _looks(asked.look, asked.open)
    if before is not None and before.outcome != "undecided":
        decided = before.decision
        reference, candidate = decided.versions
        console.remark(
            f"look {decided.rules.look} of {count} decided: this is its answer about {candidate} "
            f"against {reference}, and the files given now were not read; to ask anew, begin with "
            f"--look 1/{count}"
        )
        result = before
    else:
        result = _decided(asked, settings, count, before, console)
    if asked.look and asked.open:
        _leave(asked.open, result)
    undecided = None if result.decision.rules.look < count else settings.undecided
    reports = result.reports(everything=asked.output.all, undecided_fails=undecided == "fail")
    more: dict[str, Any] = {}
    if asked.why and result is not before:
        from speedproof.reporting.why import beside

        explained = _explained(asked, result.decision)
        more = {"why": list(explained)}
        reports = list(beside(tuple(reports), explained.by_candidate))
    known: dict[str, Any] = {"suite": result.suite, "results": result.decision.results}
    write_answer(asked, asked.output, console, lambda **_: reports, lambda: result.to_json(**more), **known)
    if result.open and asked.look:
        console.remark(f"open benchmarks in {asked.open}: {len(result.open)}")
    say_mapped(result.outcome, undecided, console)
    return result.outcome.exit_code(undecided)


def _explained(asked: GateOptions, decision: "GateDecision") -> "sp.WhyResult":
    """What the differences go with among the other metrics of the files."""
    whole = _load(asked).select(asked.choosing.only, asked.choosing.skip, "all")
    metric = whole.select(metric=asked.metric[-1] if asked.metric else None).main_metric
    confidence = 1.0 - decision.rules.alpha
    return sp.why(whole, reference=decision.versions[0], metric=metric, confidence=confidence)


def _decided(
    asked: GateOptions, settings: Gating, count: int, before: "sp.GateResult | None", console: Console
) -> "sp.GateResult":
    """The gate's answer."""
    from speedproof.api.gates import demanding

    choosing = replace(asked.choosing, metric=asked.metric[-1] if asked.metric else None)
    suite = _load(asked)
    reference = suite.versions[0]
    suite = select(suite, choosing, console)
    report_leftovers(suite, console)
    demand = demanding(suite, before, settings.policy, settings.margin)
    with console.progress("testing", pairs_in(suite, reference)) as ticker:
        result = sp.gate(
            suite,
            reference=reference,
            metric="all",
            demand_of=lambda name: demand(name).of(name, settings.benchmark),
            looks=count,
            after=before,
            store=asked.store,
            done=ticker.advance,
            **handed(sp.gate, settings) | ({"protocol": None} if settings.quantile else {}),
        )
    counted = any(c.floor is not None for of in result.decision.results for c in of.comparisons)
    report_no_floor(asked.store, suite.keys, console, counted=counted)
    for entry in settings.benchmark:
        if not any(entry.matches(key.benchmark) for key in suite.keys):
            console.remark(f"note: the pattern {entry.pattern!r} of the settings matches no benchmark")
    return result


def _looks(text: str | None, path: str | None) -> tuple[int, "sp.GateResult | None"]:
    """From ``2/3``: how many looks there are, and what those before this one found."""
    if text is None or path is None:
        return 1, None
    number, count = map(int, text.split("/"))
    state = Path(path + _STATE)
    if number == 1:
        return count, None
    return count, _before(f"--look {text}", state, number - 1, count)


def _before(option: str, path: Path, number: int, count: int) -> "sp.GateResult":
    from speedproof.api.gates import GateDecision

    try:
        decision = msgspec.msgpack.decode(path.read_bytes(), type=GateDecision)
    except (OSError, msgspec.DecodeError):
        raise UsageError(
            f"{option}: {path} does not hold what look {number} found; keep it beside the --open file"
        ) from None
    rules = decision.rules
    # A look that decided is the last, whichever number it has.
    known = rules.look == number or (rules.look < number and decision.outcome != "undecided")
    if rules.looks != count or not known:
        last = rules.look == rules.looks
        then = "that was the last" if last else f"--look {rules.look + 1}/{rules.looks} is the next one"
        raise UsageError(
            f"{option}: {path} holds look {rules.look} of {rules.looks}, not look {number} of {count}; {then}"
        )
    return sp.GateResult(decision, sp.Suite((), {}))


def _leave(path: str, result: "sp.GateResult") -> None:
    """Write what a look leaves: the open benchmarks, a name a line and nothing else, and beside that the rest."""
    if broken := [name for name in result.open if len(name.splitlines()) > 1]:
        raise UsageError(f"{broken[0]!r}: a name of several lines cannot stand in --open {path}")
    write_whole(Path(path + _STATE), msgspec.msgpack.encode(result.decision))
    write_whole(Path(path), "".join(f"{name}\n" for name in result.open))


def _load(asked: GateOptions) -> "sp.Suite":
    """The suite of the files, with the versions to hold together: two, or those of a session."""
    named = [asked.baseline, asked.candidate] if asked.baseline and asked.candidate else []
    files = asked.files or tuple(named)
    if not files or (asked.files and named):
        raise UsageError(
            "give the results of the baseline and of the candidate: speedproof gate main.json branch.json"
        )
    from speedproof.api.gates import of_session

    try:
        suite = load(files, asked.reading, asked.choosing)
    except FormatError as error:
        measures = f"; a gate measures {_MEASURES}" * (error.message == "no such file")
        raise FormatError(error.path, error.where, *error.parts, measures) from None
    two = len(suite.versions) == 2 and not (suite.commands and asked.choosing.reference is None)
    if two or (asked.look is None and suite.versions and of_session(suite)[0]):
        return suite
    suite.sides()  # of one version
    raise UsageError(
        f"a gate compares one version with one other, but these files hold {', '.join(suite.versions)}; "
        "write each to a file of its own, or name two of one file: speedproof gate FILE:OLD FILE:NEW"
    )


COMMAND = Command(GateOptions, run)
