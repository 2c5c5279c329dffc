"""What the options of ``speedproof run`` ask for: plan, rules, warm-up, metrics, CPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from speedproof.api.given import alpha_of
from speedproof.api.run_start import (
    Gate,
    PlannedBenchmark,
    SessionLine,
    SessionOptions,
    SessionQuestion,
    StopRules,
    StoredSession,
    check_decider,
    recorded_in,
)
from speedproof.cli.command import Args
from speedproof.cli.options import confidence_of
from speedproof.cli.run_plan import PLANNED
from speedproof.errors import UsageError

# What a resumed session takes over from the last: these change what is measured ...
_MEASURED = (
    "input", "output", "timeout", "metric", "perf", "energy", "ignore_failure", "calibrate", "control",
    "driver", "build", "builds", "runs", "unaffected", "plan", "gate",
)  # fmt: skip
# ... and these what is asked; a new answer to one of them may be wanted, but not to how long to measure.
_ASKED = ("decide_by", "alpha", "confidence", "margin", "precision")
_BUILT = ("revisions", "build_env")
# What means something when nothing is measured.
_LOOKED_AT = (
    "review", *_ASKED, "fail_on", "export_hyperfine", "json", "html", "markdown", "github_summary", "junit",
)  # fmt: skip
_LEAST_RUNS = 10
_GATE_MARGIN = 0.02


def kept(args: Args) -> SessionOptions:
    """The options that a session stores."""
    values = {name: getattr(args, name) for name in (*_MEASURED, *_ASKED)}
    return SessionOptions(**values, directory=str(Path.cwd()))


def inherit(args: Args, stored: StoredSession) -> None:
    """Take options over from a stored session, except for the questions that are asked anew.

    Others are refused: they would change nothing, or make blocks that cannot be compared with the stored ones.
    """
    if args.review is not None:
        if needless := [option for name, option in args.given.items() if name not in _LOOKED_AT]:
            raise UsageError(f"--review measures nothing; leave out {', '.join(needless)}")
    elif taken := [args.given[name] for name in (*PLANNED, *_BUILT, *_MEASURED) if name in args.given]:
        raise UsageError(
            f"--resume goes on with what the session measured, and how; leave out {', '.join(taken)}, or measure "
            "anew without --resume"
        )
    names = list(_MEASURED)
    if args.decide_by is None:
        names.append("decide_by")
    if args.alpha is None and args.confidence is None:
        names += ["alpha", "confidence"]
    if args.margin is None and args.precision is None:
        names += ["margin", "precision"]
    for name in names:
        setattr(args, name, getattr(stored.options, name))
    args.decide_by = args.decide_by or "time"
    check_decider(args.decide_by, recorded_in(stored))


_VERDICTS = ("fail_on", "gate", "margin", "precision", "stop_at_proof")


def refuse_verdicts(args: Args) -> None:
    """What asks for a verdict, or when to stop for it, means nothing where there is none, or another rule."""
    if args.calibrate:
        args.refuse(*_VERDICTS, "min_runs", because="--calibrate has no verdict, and does not stop for one")
    elif args.plan:
        args.refuse(*_VERDICTS, because="--plan has no verdict: its runs are a pilot")
    if args.gate:
        args.refuse("fail_on", "stop_at_proof", because="--gate has its own end and its own exit codes")
    if args.precision is not None:
        args.refuse("stop_at_proof", because="--precision goes on until the bounds are close")
    if args.runs is not None:
        args.refuse("stop_at_proof", because=f"--runs {args.runs} stops at no other number")
    if args.builds is not None:
        args.refuse("min_runs", "max_runs", because=f"--builds {args.builds} is the number of blocks")
    elif args.runs is not None:
        args.refuse("min_runs", "max_runs", because=f"--runs {args.runs} is both the least and the most")


def rules_of(args: Args, plan: Sequence[PlannedBenchmark]) -> StopRules:
    """When each benchmark ends, and at which risk."""
    comparisons = sum(len(benchmark.versions) - 1 for benchmark in plan)
    if not comparisons and not args.driver:
        args.refuse(*_VERDICTS, because="a single version has no verdict")
    alpha = alpha_of(confidence_of(args))
    least, most, longest = args.min_runs, args.max_runs, args.max_time
    if args.builds is not None:
        # Every block has a build of its own, so there are as many; --runs are those of one build.
        least = most = args.builds
        longest = longest if "max_time" in args.given else None
    elif args.runs is not None:
        least = most = args.runs
        longest = longest if "max_time" in args.given else None
    if least is None:
        least = _LEAST_RUNS if most is None else min(_LEAST_RUNS, most)
    if args.calibrate:
        # The question is how large the noise is, not whether A differs from A.
        least = 10**9 if most is None else most
    gate = budget = None
    if args.gate:
        if args.precision is not None or args.calibrate:
            raise UsageError("--gate asks whether a margin is lost; leave out --precision and --calibrate")
        gate = Gate(args.margin or _GATE_MARGIN, max(_judged(args, plan), 1))
        # The suite is what is judged: what one benchmark leaves of its time, the others may use.
        if longest is not None:
            budget = longest if "max_time" in args.given else longest * len(plan)
    margin = None if gate else args.margin
    fixed = args.builds is not None
    return StopRules(
        alpha, margin, args.precision, least, most, longest, args.stop_at_proof, gate, fixed, budget
    )


def _judged(args: Args, plan: Sequence[PlannedBenchmark]) -> int:
    """How many comparisons a gate judges: not those of what cannot differ."""
    of_each = 2 if args.control else 1
    touched = [b for b in plan if not any(fnmatchcase(b.name, pattern) for pattern in args.unaffected)]
    return sum(len(benchmark.versions) - of_each for benchmark in touched)


def unaffected_of(args: Args, plan: Sequence[PlannedBenchmark]) -> tuple[str, ...]:
    """The benchmarks that the change cannot touch; each pattern must mean some, and not all."""
    names = [benchmark.name for benchmark in plan]
    for pattern in args.unaffected:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"--unaffected {pattern}: no such benchmark; available: {', '.join(names)}")
    found = tuple(name for name in names if any(fnmatchcase(name, p) for p in args.unaffected))
    if found and len(found) == len(names):
        raise UsageError("--unaffected leaves no benchmark that the change can touch")
    return found


def question_of(args: Args, head: SessionLine, rules: StopRules) -> SessionQuestion:
    """What is asked of the runs."""
    return SessionQuestion(
        rules,
        args.decide_by,
        head.units.get(args.decide_by, ("", ""))[1] == "higher",
        args.control,
        unaffected_of(args, head.benchmarks),
        args.runs if args.builds and args.runs else 1,
    )


def warmup_of(text: str) -> int | None:
    """The runs before those that count: a number, or ``auto``."""
    if text == "auto":
        return None
    if not text.isdecimal():
        raise UsageError(f"--warmup {text!r} is neither a number nor 'auto'")
    return int(text)


def pin(cpus: str | None) -> None:
    """Keep this process, and with it everything that it starts, on some CPUs."""
    if cpus is None:
        return
    try:
        os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})
    except (ValueError, OSError):
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        raise UsageError(f"--cpu {cpus}: give CPUs of {allowed}, separated by commas") from None
