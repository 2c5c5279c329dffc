"""What can be asked, declared once: structs whose fields carry help, value and parser.

A command line's options and the tables of the manual are made from these (:mod:`speedproof.cli.command`), so are
the checks of ``speedproof.toml``; annotations are read as they stand, so this module does not postpone them.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from fnmatch import fnmatchcase
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, NoReturn, cast

import msgspec
from msgspec import Meta, Struct

from speedproof import values
from speedproof.declaring import FIRST, Argument, Excludes, Formats, Needs, Taken, read_toml, refuse
from speedproof.errors import UsageError

QuestionName = Literal["typical", "mean", "median", "single run", "touati2009", "p90", "p95", "p99", "p99.9"]
"""The questions of two samples, in the order in which they are shown."""
ANY_LEVEL: tuple[QuestionName, ...] = ("touati2009",)
"""Whose confidence may lie below one half, as in its text."""

QUANTILES: dict[QuestionName, float] = {"p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""The shares of the questions about the slowest runs that have a name; any other is named after its share."""


def quantile_name(q: float) -> QuestionName:
    """The question about the quantile of any share: of 0.975 ``"p97.5"``."""
    from decimal import Decimal

    return cast(QuestionName, f"p{Decimal(repr(q)).scaleb(2).normalize():f}")


def quantile_of(name: str) -> float | None:
    """The share of a question that is named after it."""
    with suppress(ValueError):  # one beyond the limits is none
        return values.quantile(f"{name[1:]}%") if re.fullmatch(r"p\d\d(\.\d+)?", name) else None
    return None


def deciding(metric: str) -> str:
    """The option ``--decide-by`` for a metric; empty for time."""
    return "" if metric == "time" else f" --decide-by {quote(metric)}"


def decider_of(decide_by: str | None) -> tuple[str, float | None]:
    """The metric that decides, and the quantile of it, if one does: ``"p90"``, ``"cpu:p90"``."""
    metric, _, name = (decide_by or "time").rpartition(":")
    q = quantile_of(name)
    return (metric or "time", q) if q is not None else (decide_by or "time", None)


def main_metric(metrics: Iterable[str], decide_by: str | None) -> str:
    """The metric that is compared unless another is asked for: that which decides, or else time, or the first."""
    there = list(metrics)
    return next((name for name in (decider_of(decide_by)[0], "time", *there) if name in there), "time")


HEADLINE: QuestionName = "typical"
"""The question whose answer is a benchmark's verdict."""

WORTH_KNOWING = 0.01
"""The default margin within which versions measured in blocks are called the same."""

ASKED: tuple[QuestionName, ...] = ("typical", "mean")
"""The default questions: the headline, and the mean, which is shown where it proves the opposite."""

DETAILS: tuple[QuestionName, ...] = ("typical", "mean", "median", "single run")
"""The questions for detailed output."""

Location = Literal["typical", "mean", "median", "p90", "p95", "p99", "p99.9"]
"""The questions that may decide a gate."""

Multiplicity = Literal["holm", "bh", "none"]
"""Corrections for multiple benchmarks in the claims that fail a gate."""

Undecided = Literal["report", "fail", "pass"]
"""The results to which an undecided gate can be mapped."""


class Policy(StrEnum):
    """What a benchmark must prove."""

    NO_REGRESSION = "no-regression"
    PROVEN_IMPROVEMENT = "proven-improvement"
    EQUIVALENCE = "equivalence"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise ValueError(f"{value!r} is none of {', '.join(cls)}")


PolicyName = Literal["no-regression", "proven-improvement", "equivalence"]
MeasuredPolicy = Literal["no-regression", "proven-improvement"]
"""The policies that can be proven while measuring."""


_VERSION = " (FILE:VERSION for one of a file's versions)"
_LAST = "; @last is the latest session of 'run' without --save"
ResultFiles = Annotated[tuple[str, ...], Argument("FILE...", f"result files or folders{_VERSION}{_LAST}")]
ReferenceFirst = Annotated[
    tuple[str, ...], Argument("FILE...", f"result files or folders, the reference first{_VERSION}{_LAST}")
]
FailOn = Annotated[
    tuple[Literal["slower", "undecided", "not-faster", "missing"], ...],
    "exit with code 1 if this is the verdict on any benchmark, or if the candidate lacks a benchmark or a result "
    "file cannot be read (missing; not-faster and undecided fail then, too); what is shown but not proven counts "
    "as undecided; may be repeated",
]
Config = Annotated[
    str | None,
    "FILE",
    "settings of the gate, with thresholds by pattern (default: speedproof.toml in the working directory, if "
    "there is one)",
    Needs("gate"),
]
Resume = Annotated[
    str | None,
    "[FILE]",
    "go on with the last session of this file (default: @last, the latest); of its limits only --runs is kept: "
    "give --max-time, --max-runs anew",
]
Store = Annotated[
    str | None,
    "PLACE",
    "claim no difference that sessions of one commit show as well, according to this store of 'speedproof "
    "history'",
]
Explained = Annotated[
    bool,
    "say what the time goes with, and how much of the difference: other metrics of the same runs (page "
    "faults, counters), or two speeds of the machine",
]
Alpha = Annotated[
    Annotated[float, Meta(ge=1e-9, lt=0.5)] | None,
    "RISK",
    "risk of a wrong verdict, in each direction (default: 0.05)",
    Excludes("confidence"),
]
Confidence = Annotated[
    Annotated[float, Meta(gt=0.5, le=1 - 1e-9)] | None,
    "LEVEL",
    "1 - alpha: how sure every bound is (default: 0.95)",
]
Quantiles = Annotated[
    tuple[float, ...],
    "Q",
    "compare this quantile instead, where the slowest runs begin: 0.975, from 0.5 to 0.9999; may be repeated, "
    "the first is shown",
]
Reference = Annotated[str | None, "VERSION", "the version to compare against (default: the first)"]
UndecidedIs = Annotated[
    Undecided | None,
    "exit code of an undecided gate: 3 (report, the default), 1 (fail) or 0 (pass)",
    Needs("gate review resume"),
]
Fast = Annotated[
    bool,
    "choose mixtures of more than 3,000 values (otherwise 10,000) by groups of neighbours; end the "
    "bootstrap's fits early, so that p may shift a little",
]
Json = Annotated[bool, "write JSON"]


class Reading(Struct, frozen=True, kw_only=True):
    """How files are read."""

    format: Annotated[
        str | None,
        "NAME",
        "read every file as this format instead of detecting it (see 'speedproof formats')",
    ] = None
    unit: Annotated[str | None, "UNIT", "unit of numbers whose file names none, for example ms"] = None
    higher_is_better: Annotated[
        tuple[str, ...],
        "METRIC",
        "a metric of which more is better, where neither its unit nor its name says so; may be repeated",
    ] = ()
    wide: Annotated[
        Literal["version", "benchmark"] | None,
        "what the columns of a wide CSV file are (default: version, or runs where they are numbered)",
    ] = None
    column: Annotated[
        tuple[tuple[str, str], ...],
        "ROLE=NAME",
        "the column of a CSV file that plays a role (benchmark, version, value, unit, process, metric "
        "or run); may be repeated",
        values.pair,
    ] = ()
    benchmark_columns: Annotated[
        str | None,
        "A,B",
        "the columns of a CSV file that name a benchmark together, for example program,threads",
    ] = None
    version_column: Annotated[str | None, "NAME", "the column of a CSV file that names the version"] = None
    first: Annotated[
        int | None,
        "M",
        "take the first M runs of each sample; where values are nested in processes, the first M processes",
        values.count,
    ] = None
    where: Annotated[str | None, "SQL", "rows of a corpus to read: \"version in ('3.12', '3.13')\""] = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns of CSV files by role."""
        chosen = {"benchmark": self.benchmark_columns, "version": self.version_column}
        return dict(self.column) | {role: name for role, name in chosen.items() if name}


class Choosing(Struct, frozen=True, kw_only=True):
    """Which versions, benchmarks and metrics."""

    reference: Annotated[Reference, FIRST] = None
    by: Annotated[
        str,
        "FIELD",
        "tell versions apart by a field of the files or of the names (lib of f:lib=ACM, format of "
        "F/format=json; several: lib,size)",
    ] = ""
    rows: Annotated[
        str, "FIELD", "name benchmarks by these fields only; 'name' is what precedes the parameters"
    ] = ""
    match: Annotated[
        Literal["name", "position"], "how the benchmarks of versions are matched (default: by name)"
    ] = "name"
    metric: Annotated[
        str | None,
        "NAME",
        "the metric to compare, or 'all' (default: time, or what decided the session)",
        FIRST,
    ] = None
    only: Annotated[
        tuple[str, ...], "PATTERN", "only benchmarks that match, as 'json_*'; may be repeated", FIRST
    ] = ()
    skip: Annotated[tuple[str, ...], "PATTERN", "leave out benchmarks that match; may be repeated"] = ()


class Judging(Struct, frozen=True, kw_only=True):
    """How two versions are compared."""

    alpha: Alpha = None
    confidence: Annotated[Confidence, values.any_level] = None  # as in the papers' examples
    margin: Annotated[
        float | None,
        "SHARE",
        "speedups proven to lie within 1/(1+SHARE) and 1+SHARE are equivalent, for example 2%",
        FIRST,
    ] = None
    nested: Annotated[
        Literal["process", "pool"],
        "values of one process are not independent: use one value a process (default) or pool them",
    ] = "process"
    always_welch: Annotated[bool, "mean: never pool variances after an F test"] = False
    ks_rule: Annotated[
        Literal["legacy", "r422"],
        "median: Kolmogorov-Smirnov p-values as in the article's R (default) or exact under ties (R >= 4.2)",
    ] = "legacy"
    bootstrap: Annotated[bool, "2009 protocol: use the bootstrap where it would ask for 30 runs"] = False


_RULES = {
    "always_welch": ("mean", ""),
    "ks_rule": ("median", " (--details asks it)"),
    "bootstrap": ("touati2009", " (--protocol touati2009 asks it)"),
}


def refuse_rules(given: Mapping[str, str], protocols: Sequence[str]) -> None:
    """Refuse rules of protocols that are not asked."""
    chosen = {"protocol", "quantile"} & given.keys()
    for rule, (protocol, how) in _RULES.items():
        if protocol not in protocols:
            refuse(given, rule, because=f"the protocol {protocol} is not asked{'' if chosen else how}")


class BenchmarkSettings(Struct, frozen=True):
    """Settings for benchmarks that match a pattern; also a table ``[[gate.benchmark]]``."""

    pattern: str
    margin: Annotated[float | None, "SHARE", "what they may lose", values.tolerance] = None
    policy: Annotated[Policy | None, "what they must prove", Policy] = None
    ignore: bool | None = None

    def matches(self, name: str) -> bool:
        """Whether the settings apply to a benchmark."""
        return name == self.pattern or fnmatchcase(name, self.pattern)


class Gating(Struct, frozen=True, kw_only=True):
    """How a gate decides; also the table ``[gate]`` of ``speedproof.toml``."""

    margin: Annotated[
        float | None,
        "SHARE",
        "speedups down to 1/(1+SHARE) are no regression (default: 2%, or the session's)",
        values.tolerance,
        FIRST,
    ] = None
    confidence: Annotated[
        float | None,
        "LEVEL",
        "1 - the risk of a false pass, and of a false fail (default: 0.95, or the session's)",
    ] = None
    multiplicity: Annotated[
        Multiplicity | None,
        "correction, over all benchmarks, of what fails the gate: holm (default), bh (Benjamini and Hochberg) "
        "or none",
    ] = None
    policy: Annotated[
        Policy | None,
        "what every benchmark must prove: no-regression (default), that it is not slower by more than the "
        "margin; proven-improvement, that it is faster; equivalence, that it is neither by more than the "
        "margin",
        Policy,
        FIRST,
    ] = None
    undecided: Annotated[UndecidedIs, FIRST] = None
    protocol: Annotated[
        Location | None, "whose test decides: of the typical run (default), of means, medians or slowest runs"
    ] = None
    quantile: Annotated[
        float | None,
        "Q",
        "the test of this quantile decides: 0.975, from 0.5 to 0.9999",
        Excludes("protocol"),
    ] = None
    benchmark: tuple[BenchmarkSettings, ...] = ()  # of the file alone


def benchmark_settings(
    margin_of: Iterable[str] = (), policy_of: Iterable[str] = ()
) -> tuple[BenchmarkSettings, ...]:
    """What ``--margin-of`` and ``--policy-of`` say, as ``NAME=VALUE``."""
    settings = []
    said: dict[str, Any]
    for key, texts, parse in (("margin", margin_of, values.tolerance), ("policy", policy_of, Policy)):
        for text in texts:
            pattern, _, value = text.rpartition("=")
            try:
                if not pattern:
                    raise ValueError("it names no benchmark")
                said = {key: parse(value)}
            except ValueError as error:
                example = "'parse*=5%'" if key == "margin" else "'parse*=proven-improvement'"
                raise UsageError(
                    f"--{key}-of {text}: {error}; give NAME=VALUE, for example {example}"
                ) from None
            settings.append(BenchmarkSettings(pattern, **said))
    return tuple(settings)


SESSION_ASKS = "what the session asks"
"""The field of a session's records that holds a :class:`SessionAsked`."""


class SessionAsked(Struct, frozen=True, omit_defaults=True):
    """The question a session was measured for, which is the default question for its file."""

    decide_by: str
    margin: float | None = None
    confidence: float | None = None
    policy: Policy | None = None  # of a gate
    benchmark: tuple[BenchmarkSettings, ...] = ()
    control: bool = False  # whether one of its versions is the reference, built again
    unaffected: tuple[str, ...] = ()  # benchmarks that the change cannot touch
    builds: int = 0  # of each version; what is built anew for every block is tested when all are measured

    def __post_init__(self) -> None:
        if not decider_of(self.decide_by)[0] or any(
            share is not None and not 0.0 < share < 1.0 for share in (self.margin, self.confidence)
        ):
            raise ValueError("it cannot be asked")

    @property
    def withholds(self) -> bool:
        """Whether what it measured beside the candidates may withhold what is claimed of them."""
        return bool(self.control or self.unaffected or self.builds)

    @classmethod
    def of(cls, said: str) -> "SessionAsked":
        """What records say of it; the time where that is another program's field."""
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(said, type=cls)
        return cls("time")


def tested_once(stored: Mapping[str, str], runs: int) -> bool:
    """Whether a session fixed this number of runs beforehand, and no gate looked at them on the way."""
    return stored.get("runs") == str(runs) and stored.get("gate") != "true"


class Changing(Struct, frozen=True, kw_only=True):
    """Which changes from commit to commit are shown."""

    confidence: Annotated[float, "LEVEL", "that no change is shown where there is none (default: 0.95)"] = (
        0.95
    )
    fdr: Annotated[
        bool, "allow a share of the changes to be false (Benjamini and Hochberg), which finds more"
    ] = False
    all: Annotated[bool, "show every change"] = False
    json: Json = False

    @property
    def correction(self) -> Literal["bh", "holm"]:
        """The correction over all places where something may have changed."""
        return "bh" if self.fdr else "holm"


class Modelling(Struct, frozen=True, kw_only=True):
    """How mixtures are fitted."""

    max_components: Annotated[int, "K", "largest number of components (default: 9)"] = 9
    seed: Annotated[int, "SEED", "seed of all random numbers (default: 0)"] = 0
    jobs: Annotated[int, "THREADS", "threads that share the work (default: 1)"] = 1


class Output(Struct, frozen=True, kw_only=True):
    """What is shown and written."""

    all: Annotated[bool, "every benchmark, not only those that changed most", FIRST] = False
    details: Annotated[bool, "the other protocols, corrections and numbers of the whole suite", FIRST] = False
    explain: Annotated[bool, "every check, test and rule behind each verdict", FIRST] = False
    json: Annotated[bool, "write everything as JSON"] = False
    reports: Annotated[Mapping[str, str], Formats()] = {}  # by format, where it goes; - is standard output
    github_summary: Annotated[bool, "append the Markdown to $GITHUB_STEP_SUMMARY"] = False


def answer(**texts: str) -> Taken:
    """The output of a command that has one kind of answer, of many benchmarks."""
    usual = {"html": "one HTML page", "markdown": "Markdown", "all": "every benchmark, not only the clearest"}
    return Taken(take="all details json html markdown github_summary", **{**usual, **texts})


class CommandOptions(Struct, frozen=True, kw_only=True):
    """What a command is asked; its fields are declared as those above."""

    given: Mapping[str, str]  # which options were given, as written
    argv: Sequence[str]  # the whole command line


def handed(function: Callable[..., object], *parts: Struct) -> dict[str, Any]:
    """What structs say of the arguments that a function accepts, by the same names."""
    names = [p.name for p in signature(function).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    return {name: getattr(part, name) for part in parts for name in names if hasattr(part, name)}


SETTINGS = "speedproof.toml"
"""Read from the working directory when no other file is named."""


class _Settings(Struct, frozen=True):
    """The whole file."""

    gate: Gating = Gating()


def read_settings(path: str | Path) -> Gating:
    """Read the settings of the gate."""
    return read_toml(_Settings, Path(path)).gate
