"""Options that several commands share, and the values that options take."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

import speedproof as sp
from speedproof.api.given import alpha_of, proportion
from speedproof.cli.command import Args, Argument, Option, ParamType, in_group
from speedproof.errors import UsageError
from speedproof.reporting.formats import FORMATS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from speedproof.api.suites import Rules

FAILING = {
    "slower": frozenset({"slower"}),
    "undecided": frozenset({"undecided"}),
    "not-faster": frozenset({"slower", "equivalent", "undecided"}),
}
"""The verdicts that each condition of ``--fail-on`` names."""

LEAST_RISK = 1e-9


def risk(text: str) -> float:
    """Parse a risk, from 1e-9 on."""
    value = proportion(text)
    if value < LEAST_RISK:
        raise ValueError(f"{text!r} is a risk below {LEAST_RISK:g}, the smallest that the tests support")
    return value


def confidence(text: str) -> float:
    """Parse a confidence level, one minus a risk."""
    value = proportion(text)
    if 1 - value < 0.999999 * LEAST_RISK:
        raise ValueError(f"{text!r} leaves a risk below {LEAST_RISK:g}, the smallest that the tests support")
    return value


def positive(text: str) -> float:
    """Parse a factor: positive and finite."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} is not a positive number")
    return value


_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}


def seconds(text: str) -> float:
    """Parse a time to wait: seconds, or with a unit as in 2m, finite and not negative."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip().removeprefix(number)
    try:
        value = float(number) * _SECONDS[unit or "s"]
    except (ValueError, KeyError):
        raise ValueError(f"{text!r} is not a time; give seconds, or a unit as in 90s, 2m or 1h") from None
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a waiting time; give seconds, 0 or more")
    return value


def positive_seconds(text: str) -> float:
    """Parse a time that something may take, in seconds: finite and above 0."""
    value = seconds(text)
    if value == 0:
        raise ValueError(f"{text!r} leaves no time; give more than 0 seconds")
    return value


def whole(text: str) -> int:
    """Parse a whole number that is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is not a whole number of at least 0")
    return int(text)


class _FormatName(ParamType):
    """The name of a format; the readers are imported when one is given."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return click.Choice([f.name for f in sp.formats.FORMATS]).convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return click.Choice([f.name for f in sp.formats.FORMATS]).shell_complete(ctx, param, incomplete)


def files(help: str = "result files or folders") -> Argument:
    """The files of a command."""
    return Argument("files", metavar="FILE...", many=True, help=help)


def reading() -> list[Option]:
    """How files are read."""
    return in_group(
        "reading",
        Option(
            "--format", type=_FormatName(), metavar="NAME",
            help="read every file as this format instead of detecting it (see 'speedproof formats')",
        ),
        Option("--unit", metavar="UNIT", help="unit of numbers whose file names none, for example ms"),
        Option(
            "--wide", choices=["version", "benchmark"],
            help="what the columns of a wide CSV file are (default: version, or runs where they are numbered)",
        ),
        Option(
            "--column", many=True, metavar="ROLE=NAME",
            help=
"the column of a CSV file that plays a role (benchmark, version, value, unit, process, "
"metric or run); "

            "may be repeated",
        ),
        Option(
            "--benchmark-columns", metavar="A,B",
            help="the columns of a CSV file that name a benchmark together, for example program,threads",
        ),
        Option("--version-column", metavar="NAME", help="the column of a CSV file that names the version"),
        Option("--where", metavar="SQL", help="rows of a corpus to read: \"version in ('3.12', '3.13')\""),
    )  # fmt: skip


def choosing(metric: str = "the metric to compare, or 'all' (default: time)") -> list[Option]:
    """Which benchmarks and metrics."""
    return in_group(
        "choosing",
        Option("--metric", metavar="NAME", help=metric),
        Option(
            "--only",
            many=True,
            metavar="PATTERN",
            help="only benchmarks that match, as 'json_*'; may be repeated",
        ),
        Option(
            "--skip", many=True, metavar="PATTERN", help="leave out benchmarks that match; may be repeated"
        ),
    )


def selecting() -> list[Option]:
    """Which benchmarks, metrics and reference."""
    own = in_group(
        "choosing",
        Option("--reference", metavar="VERSION", help="the version to compare against (default: the first)"),
        Option(
            "--by",
            metavar="FIELD",
            help="tell versions apart by a field of the files or of the names (lib of f:lib=ACM, format of "
            "F/format=json; several: lib,size)",
        ),
        Option(
            "--rows",
            metavar="FIELD",
            help="name benchmarks by such fields only; name is what precedes the parameters",
        ),
        Option(
            "--match",
            choices=["name", "position"],
            help="how the benchmarks of several files are matched (default: by name)",
        ),
    )
    return [*own, *choosing()]


def risk_options() -> list[Option]:
    """The risk, as either of its two names."""
    return [
        Option(
            "--alpha",
            parse=risk,
            metavar="RISK",
            excludes="confidence",
            help="risk of a wrong verdict, in each direction (default: 0.05)",
        ),
        Option(
            "--confidence",
            parse=confidence,
            metavar="LEVEL",
            help="1 - alpha: how sure every bound is (default: 0.95)",
        ),
    ]


def confidence_of(args: Args, default: float = 0.95) -> float:
    """The confidence that ``--confidence`` or ``--alpha`` asks for."""
    if args.alpha is not None:
        return float(1 - Decimal(repr(args.alpha)))
    return default if args.confidence is None else float(args.confidence)


def rule_options() -> list[Option]:
    """What becomes :class:`speedproof.protocols.pair.Rules`."""
    return [
        *risk_options(),
        Option(
            "--margin", parse=proportion, metavar="SHARE",
            help="speedups proven to lie within 1/(1+SHARE) and 1+SHARE are equivalent, for example 2%",
        ),
        Option(
            "--nested", choices=["process", "pool"], default="process",
            help="values of one process are not independent: use one value a process (default) or pool them",
        ),
        Option("--always-welch", flag=True, help="mean: never pool variances after an F test"),
        Option(
            "--ks-rule", choices=["legacy", "r422"], default="legacy",
            help=
"median: Kolmogorov-Smirnov p-values as in the article's R (default) or exact under ties "
"(R >= 4.2)"
,
        ),
        Option(
            "--bootstrap", flag=True,
            help="2009 protocol: go on with the bootstrap where it asks for 30 runs or the bootstrap",
        ),
    ]  # fmt: skip


_RULES_OF = {
    "always_welch": ("mean", "the protocol of the mean: --protocol mean"),
    "ks_rule": ("median", "the protocol of the median: --protocol median, or --details"),
    "bootstrap": ("touati2009", "the protocol of 2009: --protocol touati2009"),
}


def refuse_rules(args: Args, protocols: Sequence[str]) -> None:
    """Refuse a rule of a protocol that is not asked for."""
    for name, (protocol, whose) in _RULES_OF.items():
        if protocol not in protocols and name in args.given:
            raise UsageError(
                f"{args.given[name]} is a rule of a protocol that is not asked for: ask for {whose}"
            )


def store_option() -> Option:
    """``--store`` of comparisons and gates."""
    return Option(
        "--store",
        metavar="PLACE",
        help="hold verdicts against how much sessions of one commit differ, as the store of 'speedproof history' "
        "tells",
    )


def rules_of(args: Args) -> Rules:
    """The rules that parsed arguments ask for."""
    from speedproof.api.suites import Rules

    return Rules(
        alpha=alpha_of(confidence_of(args)),
        nested=args.nested,
        always_welch=args.always_welch,
        ks_rule=args.ks_rule,
        margin=args.margin,
        bootstrap=args.bootstrap,
    )


def folding(details: str, what: str = "benchmark") -> list[Option]:
    """What shows more than the sheet."""
    return [
        Option("--all", flag=True, help=f"every {what}, not only the clearest"),
        Option("--details", flag=True, help=details),
    ]


def pages(html: str = "one HTML page", markdown: str = "Markdown") -> list[Option]:
    """What every command has that makes a report to read; ``-`` is standard output."""
    return in_group(
        "output",
        Option("--html", metavar="FILE", help=f"write {html}; - is standard output"),
        Option("--markdown", metavar="FILE", help=f"write {markdown}; - is standard output"),
        Option("--github-summary", flag=True, help="append the Markdown to $GITHUB_STEP_SUMMARY"),
    )


def outputs() -> list[Option]:
    """What writes comparisons to a file, one option a format; ``-`` is standard output, in place of the sheet."""
    of_pages = {name: FORMATS[name].help for name in ("html", "markdown")}
    more = [
        Option(f"--{name}", metavar="FILE", help=f"write {found.help}; - is standard output")
        for name, found in FORMATS.items()
        if name not in of_pages
    ]
    return [*pages(**of_pages), *in_group("output", *more)]


def max_components() -> Option:
    """What chooses the size of mixtures."""
    return Option(
        "--max-components",
        parse=whole,
        default=9,
        metavar="K",
        help="largest number of components (default: 9)",
    )


def mixture() -> list[Option]:
    """What commands have that fit mixtures."""
    return in_group(
        "modelling",
        max_components(),
        Option(
            "--seed", parse=whole, default=0, metavar="SEED", help="seed of all random numbers (default: 0)"
        ),
        Option(
            "--jobs",
            parse=whole,
            default=1,
            metavar="THREADS",
            help="threads that share the work (default: 1)",
        ),
    )
