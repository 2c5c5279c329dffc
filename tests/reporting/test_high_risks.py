"""Risks above one half, which the papers use, too: what is shown is in order and does not move with the risk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import speedproof as sp
from speedproof.api.given import alpha_of
from speedproof.cli.main import main
from speedproof.protocols.pair import Rules

EXAMPLES = Path(__file__).parents[2] / "examples" / "gcc"
INTERVAL = re.compile(r"\[([\d.]+)(?:x| %)?[,;] ([\d.]+)(?:x| %)?\]")


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What a command prints of the examples."""
    assert main([*argv, str(EXAMPLES / "O2.json"), str(EXAMPLES / "O3.json")]) in (0, 1)
    return capsys.readouterr().out


@pytest.mark.parametrize("confidence", ["0.01", "0.2", "0.4"])
@pytest.mark.parametrize("more", [(), ("--protocol", "single-run"), ("--explain",)])
def test_intervals_are_in_order(
    capsys: pytest.CaptureFixture[str], confidence: str, more: tuple[str, ...]
) -> None:
    """The lower end stands first."""
    told = shown(capsys, "compare", "--details", "--confidence", confidence, *more)
    found = INTERVAL.findall(told)
    assert found
    assert all(float(low) <= float(high) for low, high in found), told


def test_the_observed_ratio_does_not_depend_on_the_risk(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is proven of it: the ratio of a typical run is that of the data."""
    ratios = {
        confidence: re.findall(r"^(matmul|sorting|collatz) .* ms  ([\d.]+x) faster", told, re.MULTILINE)
        for confidence in ("0.01", "0.2", "0.95")
        if (told := shown(capsys, "compare", "--confidence", confidence))
    }
    assert len(ratios["0.95"]) == 3
    assert ratios["0.01"] == ratios["0.2"] == ratios["0.95"]


def test_a_higher_risk_proves_more() -> None:
    """The bound that is proven grows with its risk, in every benchmark and every protocol."""
    suite = sp.read(f"O2={EXAMPLES / 'O2.json'}", f"O3={EXAMPLES / 'O3.json'}")
    levels = (0.99, 0.95, 0.6, 0.4, 0.2, 0.01)
    found = [sp.compare_suite(suite, rules=Rules(alpha=alpha_of(level))) for level in levels]
    for one in zip(*found, strict=True):
        lows = [float(row.lower) for row in one]
        highs = [float(row.upper) for row in one]
        assert lows == sorted(lows)
        assert highs == sorted(highs, reverse=True)
