"""What can be asked of a measurement, declared as in :mod:`speedproof.options`; few commands measure."""

import os
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from speedproof import values
from speedproof.declaring import FIRST, Excludes, Needs, Taken, Title
from speedproof.errors import UsageError
from speedproof.options import (
    Alpha,
    BenchmarkSettings,
    Confidence,
    MeasuredPolicy,
    Output,
    Reference,
    benchmark_settings,
)

Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(gt=0, lt=1)]
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


DECIDES = (
    "the metric that decides (default: time), such as cpu (user and system time, of child processes, too)"
)
OF_VERDICTS = ("fail_on", "gate", "margin", "precision", "stop_at_proof")
"""The options that ask for a verdict, or when to stop for one."""
NO_POLICY = "this session asked no policy; to hold its runs to one: speedproof gate"
"""What is said, before the file, of a session that is to be held to a policy and was measured without."""
UNNAMED = "command"
"""The default name of a benchmark of commands."""


class Measuring(Struct, frozen=True, kw_only=True):
    """What is measured, how, and until when."""

    name: Annotated[
        tuple[str, ...],
        "--name, -n NAME",
        "name of the next version; may be repeated",
        Title("what is measured"),
        FIRST,
    ] = ()
    benchmark: Annotated[str, "NAME", "name of the benchmark that the commands run"] = UNNAMED
    parameter_list: Annotated[
        tuple[tuple[str, str], ...],
        "-L, --parameter-list NAME VALUES",
        "comma-separated values for {NAME} in the commands: one benchmark each; of a single command, the values "
        "of the first list are the versions",
        FIRST,
    ] = ()
    parameter_scan: Annotated[
        tuple[tuple[str, str, str], ...],
        "--parameter-scan, -P NAME FROM TO",
        "the numbers from FROM to TO, one by one, as values for {NAME}",
    ] = ()
    suite: Annotated[str | None, "FILE", "TOML file of benchmarks x versions", FIRST] = None
    revisions: Annotated[
        tuple[str, ...],
        "REVISION...",
        "git revisions of the repository here, the reference first; A..B for all between, WORKTREE for the "
        "files as they are",
        FIRST,
    ] = ()
    build: Annotated[str, "CMD", "command that builds a revision, in a working tree of its own", FIRST] = ""
    build_env: Annotated[
        tuple[str, ...], "NAME", "an environment variable that builds depend on, such as CFLAGS"
    ] = ()
    builds: Annotated[
        Positive | None,
        "K",
        "build each revision K times, with another number for {seed} in --build each time, and use fresh builds "
        "in every block: what is proven then holds for the code, not for one build of it; --runs is how often "
        "each build runs (default: 5)",
        Excludes("min_runs max_runs precision stop_at_proof"),
    ] = None
    plan: Annotated[
        bool,
        "measure only a pilot (3 builds of each revision, 5 runs of each build), and say how many builds and "
        "runs a proof needs, and how long they take",
        Excludes(" ".join(OF_VERDICTS)),
    ] = False
    control: Annotated[
        bool,
        "build the reference a second time and measure that, too: no difference is claimed that is no larger "
        "than between two builds of the same source",
    ] = False
    driver: Annotated[
        DRIVERS | None,
        "the commands start this tool: its benchmarks are compared one by one, in short invocations in random "
        "order, and those that are decided are no longer measured",
    ] = None
    unaffected: Annotated[
        tuple[str, ...],
        "NAME",
        "a benchmark that the change cannot affect: if it differs, no difference is claimed that is no larger",
    ] = ()
    reference: Reference = None
    calibrate: Annotated[
        bool, "measure one command against itself", Excludes(" ".join([*OF_VERDICTS, "min_runs", "suite"]))
    ] = False
    seed: Annotated[int | None, "N", "seed of the random order (default: a fresh one)"] = None
    warmup: Annotated[
        int | Literal["auto"],
        "--warmup, -w N",
        "runs of each version before those that count (default: 1), or 'auto': until they are steady",
        values.runs_or_auto,
        Title("around the runs"),
        FIRST,
    ] = 1
    setup: Annotated[str, "CMD", "command to run once for each version, before its runs"] = ""
    prepare: Annotated[str, "CMD", "command to run before each run; it is not measured", FIRST] = ""
    conclude: Annotated[str, "CMD", "command to run after each run; it is not measured"] = ""
    cleanup: Annotated[str, "CMD", "command to run once for each version, after its runs"] = ""
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
        Annotated[float, Meta(gt=0)] | None, "S", "end a run, or a command around it, after S seconds"
    ] = None
    no_shell: Annotated[
        bool, "--no-shell, -N", "start the commands directly (the default)", Excludes("shell")
    ] = False
    ignore_failure: Annotated[
        bool,
        "--ignore-failure, -i",
        "leave out runs that fail or lack the deciding metric, instead of stopping",
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
        f"{DECIDES}; or a percentile, where the slowest runs begin: p90, cpu:p99",
        FIRST,
    ] = None
    perf: Annotated[str | None, "EVENTS", "counters of 'perf stat', for example instructions"] = None
    energy: Annotated[bool, "energy of the processor packages (RAPL)"] = False
    alpha: Annotated[Alpha, Title("stopping")] = None
    confidence: Confidence = None
    gate: Annotated[
        bool,
        "hold every benchmark to --margin (default: 2%): stop when it is proven to be kept or exceeded; exit "
        "with 0 (pass), 1 (fail) or 3 (undecided)",
        Excludes("fail_on precision stop_at_proof"),
    ] = False
    policy: Annotated[
        MeasuredPolicy | None,
        f"with --gate, what every benchmark must prove: {' (default) or '.join(get_args(MeasuredPolicy))}",
        Needs("gate"),
    ] = None
    margin: Annotated[
        Share | None,
        "SHARE",
        "also stop when they are proven equal within this (default: 1%)",
        values.tolerance,
        FIRST,
    ] = None
    margin_of: Annotated[
        tuple[str, ...],
        "NAME=SHARE",
        "another margin for benchmarks that match NAME; may be repeated, the last match counts",
        Needs("gate"),
    ] = ()
    policy_of: Annotated[
        tuple[str, ...], "NAME=POLICY", "another policy, in the same way", Needs("gate")
    ] = ()
    precision: Annotated[
        Share | None,
        "SHARE",
        "stop when the bounds are this close, for example 0.5%",
        Excludes("stop_at_proof"),
    ] = None
    min_runs: Annotated[int | None, "N", "fewest runs of each version (default: 10)", values.count] = None
    max_runs: Annotated[int | None, "N", "most runs of each version", values.count] = None
    runs: Annotated[
        Positive | None,
        "--runs, -r N",
        "exactly N runs of each version",
        values.count,
        Excludes("min_runs max_runs precision stop_at_proof"),
    ] = None
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
    def settings(self) -> tuple[BenchmarkSettings, ...]:
        """The gate's settings for single benchmarks; policies that need files are refused."""
        settings = benchmark_settings(self.margin_of, self.policy_of)
        if {self.policy, *(one.policy for one in settings)} - {None, *get_args(MeasuredPolicy)}:
            raise UsageError("a gate proves equivalence of files only: measure, then 'speedproof gate FILE'")
        return settings

    @property
    def held_to(self) -> MeasuredPolicy | None:
        """The policy of every benchmark, all of which share a risk; None without a gate."""
        usual: MeasuredPolicy = get_args(MeasuredPolicy)[0]
        return usual if self.gate and not self.policy else self.policy


STORED = (
    "input", "output", "timeout", "metric", "perf", "energy", "ignore_failure", "calibrate", "control", "driver",
    "build", "builds", "runs", "unaffected", "plan", "gate", "policy", "margin_of", "policy_of",
    "decide_by", "alpha", "confidence", "margin", "precision",
)  # fmt: skip
"""The options that a session stores: how it measured, and in the last line what it asked."""
