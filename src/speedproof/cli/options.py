"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

import speedproof as sp
from speedproof.api.given import any_alpha
from speedproof.cli.command import Args, Argument, Option, ParamType
from speedproof.cli.values import count
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
    return Argument("files", "FILE...", help, many=True)


def reading() -> list[Option | str]:
    """How files are read."""
    return [
        "reading",
        Option(
            "--format NAME",
            "read every file as this format instead of detecting it (see 'speedproof formats')",
            parse=_FormatName(),
        ),
        Option("--unit UNIT", "unit of numbers whose file names none, for example ms"),
        Option(
            "--higher-is-better METRIC",
            "a metric of which more is better, though neither unit nor name says so; may be repeated",
            many=True,
        ),
        Option(
            "--wide [version|benchmark]",
            "what the columns of a wide CSV file are (default: version, or runs where they are numbered)",
        ),
        Option(
            "--column ROLE=NAME",
            "the column of a CSV file that plays a role (benchmark, version, value, unit, process, metric "
            "or run); may be repeated",
            many=True,
        ),
        Option(
            "--benchmark-columns A,B",
            "the columns of a CSV file that name a benchmark together, for example program,threads",
        ),
        Option("--version-column NAME", "the column of a CSV file that names the version"),
        Option(
            "--first M",
            "take the first M runs of each sample, where values are nested the first M processes",
            parse=count,
        ),
        Option("--where SQL", "rows of a corpus to read: \"version in ('3.12', '3.13')\""),
    ]


def choosing(metric: str = "the metric to compare, or 'all' (default: time)") -> list[Option | str]:
    """Which benchmarks and metrics."""
    return [
        "choosing",
        Option("--metric NAME", metric),
        Option("--only PATTERN", "only benchmarks that match, as 'json_*'; may be repeated", many=True),
        Option("--skip PATTERN", "leave out benchmarks that match; may be repeated", many=True),
    ]


def selecting() -> list[Option | str]:
    """Which benchmarks, metrics and reference."""
    return [
        "choosing",
        Option("--reference VERSION", "the version to compare against (default: the first)"),
        Option(
            "--by FIELD",
            "tell versions apart by a field of the files or of the names (lib of f:lib=ACM, format of "
            "F/format=json; several: lib,size)",
        ),
        Option("--rows FIELD", "name benchmarks by such fields only; name is what precedes the parameters"),
        Option(
            "--match [name|position]", "how the benchmarks of several files are matched (default: by name)"
        ),
        *choosing(),
    ]


def risk_options(risk: str = "RISK", level: str = "LEVEL") -> list[Option]:
    """The risk, as either of its two names."""
    return [
        Option(
            f"--alpha {risk}",
            "risk of a wrong verdict, in each direction (default: 0.05)",
            excludes="confidence",
        ),
        Option(f"--confidence {level}", "1 - alpha: how sure every bound is (default: 0.95)"),
    ]


def confidence_of(args: Args, default: float = 0.95) -> float:
    """The confidence that ``--confidence`` or ``--alpha`` asks for."""
    if args.alpha is not None:
        return float(1 - Decimal(repr(args.alpha)))
    return default if args.confidence is None else float(args.confidence)


def rule_options() -> list[Option]:
    """What becomes :class:`speedproof.protocols.pair.Rules`."""
    return [
        *risk_options("SHARE", "SHARE"),
        Option(
            "--margin SHARE",
            "speedups proven to lie within 1/(1+SHARE) and 1+SHARE are equivalent, for example 2%",
        ),
        Option(
            "--nested [process|pool]",
            "values of one process are not independent: use one value a process (default) or pool them",
            default="process",
        ),
        Option("--always-welch", "mean: never pool variances after an F test"),
        Option(
            "--ks-rule [legacy|r422]",
            "median: Kolmogorov-Smirnov p-values as in the article's R (default) or exact under ties (R >="
            " 4.2)",
            default="legacy",
        ),
        Option(
            "--bootstrap",
            "2009 protocol: go on with the bootstrap where it asks for 30 runs or the bootstrap",
        ),
    ]


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
        "--store PLACE",
        "hold verdicts against how much sessions of one commit differ, as the store of 'speedproof "
        "history' tells",
    )


def rules_of(args: Args) -> Rules:
    """The rules that parsed arguments ask for."""
    from speedproof.api.suites import Rules

    return Rules(
        alpha=any_alpha(confidence_of(args)),
        **args.take("nested", "always_welch", "ks_rule", "margin", "bootstrap"),
    )


def folding(details: str, what: str = "benchmark") -> list[Option]:
    """What shows more than the sheet."""
    return [
        Option("--all", f"every {what}, not only the clearest"),
        Option("--details", details),
    ]


def pages(html: str = "one HTML page", markdown: str = "Markdown") -> list[Option | str]:
    """What every command has that makes a report to read; ``-`` is standard output."""
    return [
        "output",
        Option("--html FILE", f"write {html}; - is standard output"),
        Option("--markdown FILE", f"write {markdown}; - is standard output"),
        Option("--github-summary", "append the Markdown to $GITHUB_STEP_SUMMARY"),
    ]


def outputs() -> list[Option | str]:
    """What writes comparisons to a file, one option a format; ``-`` is standard output, in place of the sheet."""
    of_pages = {name: FORMATS[name].help for name in ("html", "markdown")}
    more = [
        Option(f"--{name} FILE", f"write {found.help}; - is standard output")
        for name, found in FORMATS.items()
        if name not in of_pages
    ]
    return [*pages(**of_pages), *more]


def max_components() -> Option:
    """What chooses the size of mixtures."""
    return Option("--max-components K", "largest number of components (default: 9)", default=9)


def mixture() -> list[Option | str]:
    """What commands have that fit mixtures."""
    return [
        "modelling",
        max_components(),
        Option("--seed SEED", "seed of all random numbers (default: 0)", default=0),
        Option("--jobs THREADS", "threads that share the work (default: 1)", default=1),
    ]
