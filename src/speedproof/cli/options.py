"""What options that several commands share come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from speedproof.api.given import rules_of as rules_given
from speedproof.cli.asked import CommandOptions
from speedproof.errors import UsageError
from speedproof.options import Judging

if TYPE_CHECKING:
    from speedproof.api.suites import Rules

FAILING = {
    "slower": frozenset({"slower"}),
    "undecided": frozenset({"undecided"}),
    "not-faster": frozenset({"slower", "equivalent", "undecided"}),
}
"""The verdicts that each condition of ``--fail-on`` names."""


_RULES_OF = {
    "always_welch": ("mean", "the protocol of the mean: --protocol mean"),
    "ks_rule": ("median", "the protocol of the median: --protocol median, or --details"),
    "bootstrap": ("touati2009", "the protocol of 2009: --protocol touati2009"),
}


def rules_of(asked: CommandOptions, judging: Judging, protocols: Sequence[str]) -> Rules:
    """The rules that are asked for; one of a protocol that is not asked is refused."""
    for name, (protocol, whose) in _RULES_OF.items():
        if protocol not in protocols and name in asked.given:
            raise UsageError(
                f"{asked.given[name]} is a rule of a protocol that is not asked for: ask for {whose}"
            )
    return rules_given(judging)
