"""What options that several commands share come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speedproof.api.given import any_alpha
from speedproof.cli.asked import CommandOptions
from speedproof.errors import UsageError
from speedproof.options import Judging, Measuring, Risk
from speedproof.values import rest

if TYPE_CHECKING:
    from speedproof.api.suites import Rules

FAILING = {
    "slower": frozenset({"slower"}),
    "undecided": frozenset({"undecided"}),
    "not-faster": frozenset({"slower", "equivalent", "undecided"}),
}
"""The verdicts that each condition of ``--fail-on`` names."""


def confidence_of(risk: Risk | Judging | Measuring) -> float:
    """The confidence that ``--confidence`` or ``--alpha`` asks for."""
    if risk.alpha is not None:
        return rest(risk.alpha)
    return 0.95 if risk.confidence is None else risk.confidence


_RULES_OF = {
    "always_welch": ("mean", "the protocol of the mean: --protocol mean"),
    "ks_rule": ("median", "the protocol of the median: --protocol median, or --details"),
    "bootstrap": ("touati2009", "the protocol of 2009: --protocol touati2009"),
}


def rules_of(asked: CommandOptions, judging: Judging, protocols: Sequence[str]) -> Rules:
    """The rules that are asked for; one of a protocol that is not asked is refused."""
    from speedproof.api.suites import Rules

    for name, (protocol, whose) in _RULES_OF.items():
        if protocol not in protocols and name in asked.given:
            raise UsageError(
                f"{asked.given[name]} is a rule of a protocol that is not asked for: ask for {whose}"
            )
    return Rules(
        alpha=any_alpha(confidence_of(judging)),
        nested=judging.nested,
        always_welch=judging.always_welch,
        ks_rule=judging.ks_rule,
        margin=judging.margin,
        bootstrap=judging.bootstrap,
    )
