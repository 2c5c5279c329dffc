"""Units in the names of what was measured: ``time_ms``, ``latency (us)``, ``ops_per_sec``."""

from __future__ import annotations

import re

from speedproof.data.units import parse_unit

# Words that name what was measured.
QUANTITIES = frozenset(
    ("time", "times", "timing", "timings", "value", "values", "runtime", "runtimes", "elapsed", "duration",
     "durations", "latency", "sample", "samples", "run", "runs", "execution", "wall", "wallclock", "clock",
     "user", "real", "cpu", "sys", "system", "memory", "energy", "throughput", "measurement", "measurements",
     "observation", "observations", "cycles", "bytes")
)  # fmt: skip
IN_BRACKETS = r"(?P<name>[^(\[]*)[(\[](?P<unit>[^)\]]+)[)\]]"
_AT_THE_END = r"(?P<name>.*[_ ])?(?P<unit>[^_ ]+)"
_PER = r"(.*[_ ])?(?P<of>[A-Za-z]+)[_ ]per[_ ](?P<each>s|sec|second|min|minute)"
_RATE = r"[A-Za-z1]+/(s|sec|second|min|minute|op|ops|iter|iteration|call|run)"
# These are units in capitals too; "MB" and "mB", "MIN" and "min" are not the same.
_ANY_CASE = ("ns", "us", "ms", "sec")
# Lowercase, as names are written, they stand for these.
_IN_SMALL = {unit.lower(): unit for unit in ("kB", "MB", "GB", "KiB", "MiB", "GiB")}


def known_unit(word: str) -> str | None:
    """The unit that a word is, spelled as :func:`~speedproof.data.units.parse_unit` knows it; else None."""
    any_case = word.lower() in _ANY_CASE or (len(word) > 3 and "/" not in word)
    for spelled in (word, word.lower()) if any_case else (_IN_SMALL.get(word, word),):
        if parse_unit(spelled).base in ("s", "B", "J", "cycles") or re.fullmatch(_RATE, spelled):
            return spelled
    return None


def split_unit(name: str) -> tuple[str, str | None]:
    """Part a column's name from the unit that it ends with."""
    if match := re.fullmatch(IN_BRACKETS, name):
        rest, word = match["name"].strip("_ "), match["unit"].strip()
        # "time (wall)" says which time, not in which unit.
        return rest, known_unit(word) or (None if word.lower() in QUANTITIES else word)
    if match := re.fullmatch(_PER, name):  # a rate, of whatever its name says
        return name, f"{known_unit(match['of']) or 1}/{match['each']}"
    if match := re.fullmatch(_AT_THE_END, name):
        rest, word = (match["name"] or "").strip("_ "), match["unit"]
        # A single letter names many things; at the end of a name, and as "s" only, it is a unit. And "min" is
        # a minimum.
        told = word != "min" if len(word) > 1 else word == "s" and rest
        if told and (unit := known_unit(word)):
            return rest, unit
    return name, None
