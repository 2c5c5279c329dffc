"""A gate that is asked several times while measuring goes on: the risk is split, what is open is kept."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from speedproof.api.gates import GateResult, Outcome
from speedproof.errors import UsageError

_HEAD = re.compile(r"# speedproof gate: look (\d+) of (\d+), (\d+) benchmarks: (pass|fail|undecided)")
_LOST = re.compile("# (failed|missing): ")


@dataclass(frozen=True, slots=True)
class Look:
    """One of several."""

    number: int  # which, and how many there are
    count: int
    family: int = 0  # how many benchmarks the first look had; 0 at the first
    open: tuple[str, ...] | None = None  # those that are not decided yet; None at the first look: all
    lost: tuple[str, ...] = ()  # what an earlier look failed, "failed: NAME" or "missing: NAME"
    outcome: Outcome = Outcome.UNDECIDED  # of the look before

    def confidence(self, confidence: float) -> float:
        """Of this look: each has an equal part of the risk, so that all together have it."""
        return 1 - (1 - confidence) / self.count

    def asks(self, benchmark: str) -> bool:
        """Whether a benchmark is still to be looked at."""
        return self.open is None or benchmark in self.open


def look(text: str | None, path: str | None) -> Look:
    """Read ``2/3``, and, from the second look on, what the one before left open."""
    if text is None:
        if path is not None:
            raise UsageError(
                "--open carries what one look leaves to the next; say which look this is: --look 1/3"
            )
        return Look(1, 1)
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(f"--look {text}: write the number of this look and the total, for example 2/3")
    number, count = int(match[1]), int(match[2])
    if path is None:
        raise UsageError(f"--look {text} needs --open FILE, where a look leaves what is open to the next")
    if number == 1:
        return Look(1, count)
    try:
        head, *names = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise UsageError(f"--look {text}: {path} does not hold what look {number - 1} left open") from None
    known = _HEAD.fullmatch(head)
    if known is None or (int(known[1]), int(known[2])) != (number - 1, count):
        raise UsageError(
            f"--look {text}: {path} is not what look {number - 1} of {count} left open, but {head!r}"
        )
    lost = tuple(itertools.takewhile(_LOST.match, names))
    left = tuple(names[len(lost) :])
    outcome = Outcome(known[4])
    if (outcome is Outcome.FAIL) != bool(lost) or (outcome is Outcome.UNDECIDED and not left):
        raise UsageError(f"--look {text}: {path} ends {head!r}, but does not name what that is about")
    return Look(number, count, int(known[3]), left, tuple(line[2:] for line in lost), outcome)


def leave(path: str, this: Look) -> None:
    """Write what a look left: comments say how it ended and what failed, then what is open, one name a line."""
    head = f"# speedproof gate: look {this.number} of {this.count}, {this.family} benchmarks: {this.outcome}"
    lines = [head, *(f"# {told}" for told in this.lost), *(this.open or ())]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def after(this: Look, result: GateResult) -> Look:
    """A look, once it is decided: what it leaves."""
    decision = result.decision
    lost = [f"failed: {row.comparison.benchmark}" for row in decision.rows if row.outcome is Outcome.FAIL] + [
        f"missing: {absent.benchmark}" for absent in decision.absent
    ]
    still = [row.comparison.benchmark for row in decision.rows if row.outcome is Outcome.UNDECIDED]
    return replace(
        this,
        family=this.family or len(decision.rows),
        open=tuple(dict.fromkeys(still)),
        lost=tuple(dict.fromkeys(lost)),
        outcome=decision.outcome,
    )
