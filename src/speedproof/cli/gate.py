"""``speedproof gate``: may the candidate replace the baseline? An answer for a pipeline, as an exit code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import speedproof as sp
from speedproof.api.given import version_given
from speedproof.api.shares import proportion
from speedproof.cli.command import Args, Argument, Command, Option
from speedproof.cli.console import Console
from speedproof.cli.inputs import load, report_leftovers, report_no_floor, select
from speedproof.cli.options import choosing, pages, reading, store_option
from speedproof.cli.outputs import check_outputs, outputs_wanted, write_answer, write_whole
from speedproof.cli.settings import FILE, GateSettings, Undecided, demand_of, read_settings
from speedproof.errors import SpeedproofError, UsageError
from speedproof.options import Location, Multiplicity, Policy

if TYPE_CHECKING:
    from speedproof.api.gates import Demand

_STATE = ".look"
_UNDECIDED_CODES: dict[Undecided, int] = {"report": 3, "fail": 1, "pass": 0}


def _margin(text: str) -> float:
    """Parse a margin; a policy asks for what is meant by none."""
    try:
        return proportion(text)
    except ValueError as error:
        if text.strip().rstrip("%").strip(" 0.") or "0" not in text:
            raise
        raise ValueError(f"{error}; to ask that it is faster, give --policy proven-improvement") from None


COMMAND = Command(
    "Hold a candidate to a policy: pass when what the policy asks is proven on every benchmark of "
    "the baseline, fail when its opposite is proven on one, or when one is missing; else undecided.",
    "  speedproof gate main.json branch.json             the baseline first\n"
    "  speedproof gate old/ new/ --margin 5% --confidence 0.99\n"
    "  speedproof gate runs.jsonl:main runs.jsonl:branch\n"
    "  speedproof gate a.json b.json --policy equivalence\n"
    "  speedproof gate a.json b.json --undecided pass\n"
    "  speedproof gate a.json b.json --html gate.html\n"
    "  speedproof gate --suite bench.toml                measures, as run --gate\n"
    "  speedproof gate --driver go --revisions main HEAD -- go test -bench=. ./sort\n"
    "\n"
    "exit codes: 0 pass, 1 fail, 2 error, 3 undecided (see --undecided)",
    [
        Argument(
            "files",
            "[FILE...]",
            "results of the baseline, then of the candidate: files or folders, FILE:VERSION for one of a file's "
            "versions; one file that holds just two versions is enough",
            many=True,
            required=False,
        ),
        Option("--baseline FILE", "the first of them by its name", needs="candidate"),
        Option("--candidate FILE", "the second of them", needs="baseline"),
        *choosing(),
        "deciding",
        Option(
            "--policy",
            "what every benchmark must prove: no-regression (default), that it is not slower by more than "
            "the margin; proven-improvement, that it is faster; equivalence, that it is neither by more "
            "than the margin",
            choices=[policy.value for policy in Policy],
        ),
        Option(
            "--margin SHARE", "speedups down to 1/(1+SHARE) are no regression (default: 2%)", parse=_margin
        ),
        Option(
            "--look K/N",
            "this is the K-th of N looks while measuring goes on: each has an N-th of the risk, and what "
            "passed at an earlier one need not be measured again",
        ),
        Option(
            "--open FILE",
            "where a look lists what is undecided, a name a line; what the next look must know is in "
            "FILE.look",
        ),
        Option("--confidence LEVEL", "1 - the risk of a false pass, and of a false fail (default: 0.95)"),
        Option(
            f"--protocol [{'|'.join(get_args(Location))}]",
            "whose test decides: of the typical run (default), of means, medians or slowest runs",
        ),
        Option(
            "--multiplicity",
            "correction over the benchmarks of what fails the gate: holm (default), bh (Benjamini and "
            "Hochberg) or none",
            choices=list(get_args(Multiplicity)),
        ),
        store_option(),
        Option(
            "--undecided",
            "exit code of an undecided gate: report it as 3 (default), fail with 1, or pass with 0",
            choices=list(get_args(Undecided)),
        ),
        Option(
            "--config FILE",
            "settings, with thresholds by pattern (default: speedproof.toml in the working directory, if "
            "there is one)",
        ),
        "output",
        Option("--all", "every benchmark, also those that passed"),
        Option("--json", "write everything as JSON"),
        *pages(
            "a page with the answer, a chart of all benchmarks against the margin and a panel for each",
            "a summary in Markdown: what did not pass, the rest folded",
        ),
        Option(
            "--junit FILE",
            "write JUnit XML: one case a benchmark, undecided is skipped, or a failure with --undecided "
            "fail; - is standard output",
        ),
        *reading(),
    ],
)


def run(args: Args, console: Console) -> int:
    """Carry the command out; the exit code is the gate's answer."""
    if args.config is None and Path(FILE).is_file():
        args.config = FILE
    check_outputs(args)
    settings = GateSettings() if args.config is None else read_settings(args.config)
    count, before = _looks(args.look, args.open)
    if before is not None and before.outcome != "undecided":
        rules = before.decision.rules
        console.remark(
            f"look {rules.look} of {rules.looks} decided; to ask anew, begin with --look 1/{count}"
        )
        result = before
    else:
        result = _asked(args, settings, count, before, console)
    if args.look:
        _leave(args.open, result)
    undecided = args.undecided or settings.undecided or "report"
    if result.decision.rules.look < count:
        undecided = "report"
    reports = result.reports(everything=args.all, undecided_fails=undecided == "fail")
    results = result.written().results if outputs_wanted(args) else ()
    write_answer(args, console, lambda **_: reports, result.to_json, suite=result.suite, results=results)
    if result.open and args.look:
        console.remark(f"{args.open}: the benchmarks that are open, {len(result.open)}")
    return _code(result, undecided, console)


def _asked(
    args: Args, settings: GateSettings, count: int, before: sp.GateResult | None, console: Console
) -> sp.GateResult:
    """The gate's answer."""
    from speedproof.api.gates import Demand, refuse_unusable

    suite, versions = _load(args)
    refuse_unusable(suite, versions[0], args.only, args.skip)
    suite = select(suite, args, console)
    report_leftovers(suite, console)
    held = before.decision.demands if before is not None else {}

    def demand(name: str) -> Demand | None:
        """What was asked at the look before, unless it is said anew."""
        kept = held.get(name, Demand())
        policy = Policy(args.policy or settings.policy or kept.policy)
        base = Demand(policy, args.margin or settings.margin or kept.margin)
        return demand_of(name, base, settings.benchmark)

    chosen: dict[str, Any] = {
        name: value
        for name in ("confidence", "multiplicity", "protocol")
        if (value := getattr(args, name) or getattr(settings, name)) is not None
    }
    with console.progress("testing", len(suite.of(versions[0]))) as ticker:
        result = sp.gate(
            suite,
            reference=versions[0],
            candidate=versions[1],
            metric="all",
            demand_of=demand,
            looks=count,
            after=before,
            store=args.store,
            done=ticker.advance,
            **chosen,
        )
    counted = any(row.comparison.floor is not None for row in result.decision.rows)
    report_no_floor(args.store, suite.keys, console, counted=counted)
    for entry in settings.benchmark:
        if not any(entry.matches(key.benchmark) for key in suite.keys):
            console.remark(f"note: the pattern {entry.pattern!r} of the settings matches no benchmark")
    return result


def _looks(text: str | None, path: str | None) -> tuple[int, sp.GateResult | None]:
    """From ``2/3``: how many looks there are, and what those before this one found."""
    if text is None:
        if path is not None:
            raise UsageError(
                "--open carries what one look leaves to the next; say which look this is: --look 1/3"
            )
        return 1, None
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(f"--look {text}: write the number of this look and the total, for example 2/3")
    number, count = int(match[1]), int(match[2])
    if path is None:
        raise UsageError(f"--look {text} needs --open FILE, where a look leaves what is open to the next")
    return count, None if number == 1 else _before(f"--look {text}", Path(path + _STATE), number - 1, count)


def _before(option: str, path: Path, number: int, count: int) -> sp.GateResult:
    import msgspec

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
        raise UsageError(
            f"{option}: {path} holds look {rules.look} of {rules.looks}, not look {number} of {count}"
        )
    return sp.GateResult(decision, sp.Suite((), {}))


def _leave(path: str, result: sp.GateResult) -> None:
    """Write what a look leaves: the open benchmarks, a name a line and nothing else, and beside that the rest."""
    if broken := [name for name in result.open if len(name.splitlines()) > 1]:
        raise UsageError(f"{broken[0]!r}: a name of several lines cannot stand in --open {path}")
    import msgspec

    state = Path(path + _STATE)
    try:
        state.write_bytes(msgspec.msgpack.encode(result.decision))
    except OSError as error:
        raise UsageError(f"cannot write {state}: {error.strerror}") from None
    write_whole(Path(path), "".join(f"{name}\n" for name in result.open))


def _load(args: Args) -> tuple[sp.Suite, tuple[str, str]]:
    """The suite of the files, and the two versions to hold together."""
    named = [args.baseline, args.candidate] if args.baseline else []
    files = args.files or named
    if not files or (args.files and named):
        raise UsageError(
            "give the results of the baseline and of the candidate: speedproof gate main.json branch.json"
        )
    (baseline, old), *others = [_file_and_version(file) for file in files]
    if not old and not any(version for _, version in others):
        suite = load(files, args)
        if len(suite.versions) == 2:
            return suite, (suite.versions[0], suite.versions[1])
        raise UsageError(
            f"a gate compares one version with one other, but these files hold {', '.join(suite.versions)}; "
            "write each to a file of its own, or name two of one file: speedproof gate FILE:OLD FILE:NEW"
        )
    if len(others) != 1 or others[0][0] != baseline or not old or not others[0][1]:
        raise UsageError(
            f"{' and '.join(files)}: FILE:VERSION is for two versions of the same file; "
            "name the file and a version on both sides"
        )
    suite = load([baseline], args)
    return suite, (version_given(old, suite.versions), version_given(others[0][1], suite.versions))


def _file_and_version(argument: str) -> tuple[str, str]:
    """FILE:VERSION taken apart, where no file has the whole of it as its name."""
    start = argument.find("://") + 1
    ends = [at for at in range(start + 1, len(argument)) if argument[at] == ":"]
    for at in (len(argument), *(ends[::-1] if start else ends)):
        if _is_there(argument[:at]):
            return argument[:at], argument[at + 1 :]
    return argument, ""


def _is_there(path: str) -> bool:
    """Whether a path is a file or a folder, or a URL a corpus."""
    if "://" not in path:
        return Path(path).exists()
    try:
        sp.Corpus(path)
    except (OSError, SpeedproofError):
        return False
    return True


def _code(result: sp.GateResult, undecided: Undecided, console: Console) -> int:
    if result.outcome != "undecided":
        return result.exit_code
    if undecided != "report":
        console.remark(f"the gate is undecided; --undecided {undecided} lets that {undecided}")
    return _UNDECIDED_CODES[undecided]
