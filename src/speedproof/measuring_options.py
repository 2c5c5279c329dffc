"""What can be asked of a measurement, declared as in :mod:`speedproof.options`; few commands measure."""

import os
from typing import Annotated, Literal

from msgspec import Meta, Struct

from speedproof import values
from speedproof.declaring import FIRST, Excludes, Needs, Taken, Title
from speedproof.options import Output, Undecided

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, lt=1)]
UndecidedMeasured = Annotated[
    Undecided | None,
    "with --gate, exit code of an undecided one: report it as 3 (default), fail with 1, or pass with 0",
    Needs("gate"),
]
MeasuredOutput = Annotated[
    Output,
    Taken(
        "results",
        take="json html markdown junit github_summary",
        json="write the findings as JSON",
        html="a page with what is proven, charts and checks",
        markdown="Markdown",
        junit="JUnit XML: a slowdown, or a fail with --gate, is a failure",
    ),
]


DRIVERS = Literal["criterion", "go", "google-benchmark", "hyperfine", "jmh", "pyperf", "pytest-benchmark"]


UNNAMED = "command"
"""What a benchmark of commands is called that nobody named."""


class Measuring(Struct, frozen=True, kw_only=True):
    """What is measured, how, and until when."""

    name: Annotated[
        tuple[str, ...],
        "--name, -n NAME",
        "name of the next version; may be repeated",
        Title("what is measured"),
        FIRST,
    ] = ()
    benchmark: Annotated[str, "NAME", "what the commands have in common"] = UNNAMED
    parameter_list: Annotated[
        tuple[tuple[str, str], ...],
        "-L, --parameter-list NAME VALUES",
        "comma-separated values for {NAME} in the commands: a benchmark each; with a single command the first "
        "list makes the versions",
        FIRST,
    ] = ()
    parameter_scan: Annotated[
        tuple[tuple[str, str, str], ...],
        "--parameter-scan, -P NAME FROM TO",
        "the numbers from FROM to TO as values for {NAME}",
    ] = ()
    parameter_step_size: Annotated[
        str | None,
        "--parameter-step-size, -D STEP",
        "of --parameter-scan (default: 1)",
        Needs("parameter_scan"),
    ] = None
    suite: Annotated[str | None, "FILE", "TOML file of benchmarks x versions", FIRST] = None
    revisions: Annotated[
        tuple[str, ...],
        "REVISION...",
        "git revisions of the repository here, the reference first; A..B for all between, WORKTREE for the "
        "files as they are",
        FIRST,
    ] = ()
    build: Annotated[str, "CMD", "builds a revision, in a tree of its own", FIRST] = ""
    build_env: Annotated[tuple[str, ...], "NAME", "a variable that builds depend on, as CFLAGS"] = ()
    builds: Annotated[
        Positive | None,
        "K",
        "build each revision K times, {seed} in --build being another number every time, and give every block "
        "builds of its own: what is proven is then of the code; --runs are those of one build (default: 5)",
    ] = None
    plan: Annotated[
        bool,
        "measure a pilot only (3 builds of each, 5 runs a build), and say how many builds and runs a proof "
        "needs, and what they cost",
    ] = False
    control: Annotated[
        bool,
        "build the reference once more and measure that, too: verdicts no larger than what two builds of one "
        "source differ by are withheld",
    ] = False
    driver: Annotated[
        DRIVERS | None,
        "each command is this tool's: its benchmarks are compared one by one, from short invocations in "
        "random order, and those that are decided are measured no longer",
    ] = None
    unaffected: Annotated[
        tuple[str, ...],
        "NAME",
        "a benchmark that the change cannot touch: when it differs, verdicts no larger are withheld",
    ] = ()
    reference: Annotated[str | None, "NAME", "the version to compare against (default: the first)"] = None
    calibrate: Annotated[bool, "measure one command against itself"] = False
    seed: Annotated[int | None, "N", "seed of the random order (default: a fresh one)"] = None
    warmup: Annotated[
        int | Literal["auto"],
        "--warmup, -w N",
        "runs of each version that do not count, before those that do (default: 1), or 'auto'",
        values.runs_or_auto,
        Title("around the runs"),
        FIRST,
    ] = 1
    setup: Annotated[str, "CMD", "once for each version before its runs"] = ""
    prepare: Annotated[str, "CMD", "before each run, not measured", FIRST] = ""
    conclude: Annotated[str, "CMD", "after each run, not measured"] = ""
    cleanup: Annotated[str, "CMD", "once for each version after its runs"] = ""
    input: Annotated[str, "FILE", "standard input of each run"] = os.devnull
    output: Annotated[
        Literal["null", "capture"], "discard standard output (default), or keep it for error messages"
    ] = "null"
    shell: Annotated[
        str,
        "[=SHELL]",
        "run the commands in a shell: --shell for sh, --shell=bash for another; its start-up is measured, too",
    ] = ""
    env: Annotated[
        tuple[str, ...], "[VERSION:]KEY=VALUE", "add to the environment of every version or of one"
    ] = ()
    cwd: Annotated[str, "DIR", "working directory of the commands"] = ""
    timeout: Annotated[
        Seconds | None, "S", "end a run, or a command around it, after this", values.positive_seconds
    ] = None
    no_shell: Annotated[bool, "--no-shell, -N", "start the commands directly (the default)"] = False
    ignore_failure: Annotated[
        bool,
        "--ignore-failure, -i",
        "leave runs out that fail or lack the deciding metric instead of stopping",
    ] = False
    cpu: Annotated[str | None, "LIST", "pin to these CPUs, for example 2 or 2,3"] = None
    metric: Annotated[
        tuple[str, ...],
        "NAME[:UNIT][:DIRECTION]=REGEX",
        "a number in the program's output; DIRECTION is 'lower' or 'higher'",
        Title("metrics"),
    ] = ()
    decide_by: Annotated[
        str | None,
        "METRIC",
        "the metric that decides (default: time), such as cpu: user and system time, of children, too; or where "
        "the slowest runs begin: p90, cpu:p99",
        FIRST,
    ] = None
    perf: Annotated[str | None, "EVENTS", "counters of 'perf stat', for example instructions"] = None
    energy: Annotated[bool, "energy of the processor packages (RAPL)"] = False
    alpha: Annotated[
        Annotated[float, Meta(ge=1e-9, lt=0.5)] | None,
        "RISK",
        "risk of a wrong verdict, in each direction (default: 0.05)",
        Title("stopping"),
        Excludes("confidence"),
    ] = None
    confidence: Annotated[
        Annotated[float, Meta(gt=0.5, le=1 - 1e-9)] | None,
        "LEVEL",
        "1 - alpha: how sure every bound is (default: 0.95)",
    ] = None
    gate: Annotated[
        bool,
        "hold every benchmark to --margin (default: 2%): stop when it is proven lost or kept; exit with 0 "
        "(pass), 1 (fail) or 3 (undecided)",
    ] = False
    policy: Annotated[
        Literal["no-regression", "proven-improvement"] | None,
        "with --gate, what every benchmark must prove: no-regression (default) or proven-improvement",
        Needs("gate"),
    ] = None
    margin: Annotated[
        Share | None, "SHARE", "stop also when proven equal within this (default: 1%)", FIRST
    ] = None
    margin_of: Annotated[
        tuple[str, ...],
        "NAME=SHARE",
        "with --gate, another margin for a benchmark, or for those of a pattern; may be repeated, the last counts",
        Needs("gate"),
    ] = ()
    policy_of: Annotated[
        tuple[str, ...], "NAME=POLICY", "with --gate, another policy, in the same way", Needs("gate")
    ] = ()
    precision: Annotated[Share | None, "SHARE", "stop when the bounds are this close, for example 0.5%"] = (
        None
    )
    min_runs: Annotated[int | None, "N", "no fewer runs of each version (default: 10)", values.count] = None
    max_runs: Annotated[int | None, "N", "no more runs of each version", values.count] = None
    runs: Annotated[Positive | None, "--runs, -r N", "exactly N runs of each version", values.count] = None
    max_time: Annotated[
        float,
        "S",
        "seconds (or 2m, 1h) for all benchmarks together, after the builds (default: 60 each)",
        FIRST,
    ] = 60.0
    stop_at_proof: Annotated[
        bool,
        "stop at the first verdict; by default measuring goes on until the bound holds at least half of the "
        "observed difference",
    ] = False
    save: Annotated[
        str | None,
        "FILE",
        "results file to append to (default: a new one, of which the last 100 are kept in "
        "$XDG_STATE_HOME/speedproof/sessions)",
        values.place,
        Title("results"),
        FIRST,
    ] = None
    export_hyperfine: Annotated[
        str | None, "--export-hyperfine, --export-json FILE", "also write hyperfine's JSON", values.place
    ] = None

    @property
    def one_risk(self) -> bool:
        """Whether all benchmarks share a risk, as those of a gate do."""
        return self.gate


STORED = (
    "input", "output", "timeout", "metric", "perf", "energy", "ignore_failure", "calibrate", "control", "driver",
    "build", "builds", "runs", "unaffected", "plan", "gate", "policy", "margin_of", "policy_of",
    "decide_by", "alpha", "confidence", "margin", "precision",
)  # fmt: skip
"""The options that a session stores: how it measured, and in the last line what it asked."""
