"""What one look of a gate leaves to the next, in files: what is open, and all that was found."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

import speedproof as sp
from speedproof.api.gates import GateDecision, Outcome
from speedproof.cli.outputs import write_whole
from speedproof.errors import UsageError

_STATE = ".look"


def looks(text: str | None, path: str | None) -> tuple[int, sp.GateResult | None]:
    """From ``2/3``: how many looks there are, and what those before this one found."""
    if text is None:
        if path is not None:
            raise UsageError(
                "--open carries what one look leaves to the next; say which look this is: --look 1/3"
            )
        return 1, None
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(f"--look {text}: write the number of this look and the total, for example 2/3")
    number, count = int(match[1]), int(match[2])
    if path is None:
        raise UsageError(f"--look {text} needs --open FILE, where a look leaves what is open to the next")
    return count, None if number == 1 else _before(f"--look {text}", Path(path + _STATE), number - 1, count)


def _before(option: str, path: Path, number: int, count: int) -> sp.GateResult:
    try:
        decision = msgspec.msgpack.decode(path.read_bytes(), type=GateDecision)
    except (OSError, msgspec.DecodeError):
        raise UsageError(
            f"{option}: {path} does not hold what look {number} found; keep it beside the --open file"
        ) from None
    rules = decision.rules
    # A look that decided is the last, whichever number it has.
    known = rules.look == number or (rules.look < number and decision.outcome is not Outcome.UNDECIDED)
    if rules.looks != count or not known:
        raise UsageError(
            f"{option}: {path} holds look {rules.look} of {rules.looks}, not look {number} of {count}"
        )
    return sp.GateResult(decision, sp.Suite((), {}))


def leave(path: str, result: sp.GateResult) -> None:
    """Write what a look leaves: the open benchmarks, a name a line and nothing else, and beside that the rest."""
    if broken := [name for name in result.open if len(name.splitlines()) > 1]:
        raise UsageError(f"{broken[0]!r}: a name of several lines cannot stand in --open {path}")
    state = Path(path + _STATE)
    try:
        state.write_bytes(msgspec.msgpack.encode(result.decision))
    except OSError as error:
        raise UsageError(f"cannot write {state}: {error.strerror}") from None
    write_whole(Path(path), "".join(f"{name}\n" for name in result.open))
