"""Options that several commands share."""

from __future__ import annotations

import argparse
from decimal import Decimal

from speedproof.protocols.compare import LEAST_RISK, Rules
from speedproof.protocols.results import Verdict

LARGEST_RISK = 0.5
"""From here on a lower bound would exceed the estimate."""

FAILING = {
    "slower": frozenset({Verdict.SLOWER}),
    "undecided": frozenset({Verdict.UNDECIDED}),
    "not-faster": frozenset(Verdict) - {Verdict.FASTER},
}
"""The verdicts that each condition of ``--fail-on`` names."""

__all__ = [
    "FAILING",
    "add_risk_arguments",
    "confidence",
    "open_unit_interval",
    "positive_seconds",
    "positive_share",
    "risk",
    "rules_of",
    "seconds",
    "whole",
]


def open_unit_interval(text: str) -> float:
    """Parse a number between 0 and 1, or a percentage; neither end is allowed.

    Examples
    --------
    >>> open_unit_interval("0.95"), open_unit_interval("95%"), open_unit_interval("0.7%")
    (0.95, 0.95, 0.007)
    """
    try:
        # In decimals: 0.7 / 100 of a double is not the double next to 0.007.
        value = float(Decimal(text.removesuffix("%")) / (100 if text.endswith("%") else 1))
    except (ArithmeticError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 < value < 1:
        hint = f"; do you mean {text}%?" if 1 <= value < 100 and not text.endswith("%") else ""
        raise argparse.ArgumentTypeError(f"{text!r} does not lie between 0 and 1{hint}")
    return value


def positive_share(text: str) -> float:
    """Parse a share of the whole, as a number or a percentage: ``2`` is refused where ``2%`` is meant.

    Examples
    --------
    >>> positive_share("2%"), positive_share("0.02")
    (0.02, 0.02)
    """
    return open_unit_interval(text)


def risk(text: str) -> float:
    """Parse a risk: from 1e-9 to below one half, where a lower bound still lies below the estimate.

    Examples
    --------
    >>> risk("5%")
    0.05
    """
    value = open_unit_interval(text)
    if not LEAST_RISK <= value < LARGEST_RISK:
        raise argparse.ArgumentTypeError(f"{text!r} is no risk from {LEAST_RISK:g} to below {LARGEST_RISK:g}")
    return value


def confidence(text: str) -> float:
    """Parse a confidence level, one minus a risk.

    Examples
    --------
    >>> confidence("0.95"), confidence("99%")
    (0.95, 0.99)
    """
    value = open_unit_interval(text)
    if not LEAST_RISK <= 1 - value < LARGEST_RISK:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no confidence level above {LARGEST_RISK:g} and up to 1 - {LEAST_RISK:g}"
        )
    return value


def seconds(text: str) -> float:
    """Parse a time to wait, in seconds: finite and not negative.

    Examples
    --------
    >>> seconds("2.5")
    2.5
    """
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait")
    return value


def positive_seconds(text: str) -> float:
    """Parse a time that something may take, in seconds: finite and above 0.

    Examples
    --------
    >>> positive_seconds("0.1")
    0.1
    """
    value = seconds(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} leaves no time at all; give seconds above 0")
    return value


def whole(text: str) -> int:
    """Parse a whole number that is not negative.

    Examples
    --------
    >>> whole("7")
    7
    """
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def add_risk_arguments(group: argparse._ArgumentGroup) -> None:
    """Declare the options that become :class:`speedproof.protocols.compare.Rules`."""
    either = group.add_mutually_exclusive_group()
    either.add_argument("--alpha", type=risk, metavar="RISK", help="risk of each side (default: 0.05)")
    either.add_argument("--confidence", type=confidence, metavar="LEVEL", help="1 - alpha (default: 0.95)")
    group.add_argument(
        "--margin",
        type=positive_share,
        metavar="SHARE",
        help="speedups proven to lie within 1/(1+SHARE) and 1+SHARE are equivalent, for example 2%%",
    )
    group.add_argument(
        "--nested",
        choices=["process", "pool"],
        default="process",
        help="values of one process are not independent: use one value a process (default) or pool them",
    )
    group.add_argument(
        "--rigorous", action="store_true", help="remark where 1 - alpha may not be the true level"
    )
    group.add_argument(
        "--always-welch", action="store_true", help="mean: never pool variances after an F test"
    )
    group.add_argument(
        "--ks-rule",
        choices=["legacy", "r422"],
        default="legacy",
        help="median: Kolmogorov-Smirnov p-values as in the article's R (default) or exact under ties (R >= 4.2)",
    )


def rules_of(args: argparse.Namespace) -> Rules:
    """The rules that parsed arguments ask for."""
    if args.confidence is not None:
        alpha = round(1 - args.confidence, 15)  # 1 - 0.95 is not 0.05 in binary
    else:
        alpha = 0.05 if args.alpha is None else args.alpha
    return Rules(
        alpha=alpha,
        nested=args.nested,
        always_welch=args.always_welch,
        ks_rule=args.ks_rule,
        margin=args.margin,
    )
